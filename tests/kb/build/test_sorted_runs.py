"""Sorting with bounded memory: whatever spills to disk, all comes back in order."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.kb.build.sorted_runs import SortedRuns


@settings(deadline=None, derandomize=True)
@given(st.lists(st.binary(max_size=12), max_size=60), st.integers(0, 800))
def test_runs_on_disk_come_back_sorted(tmp_path_factory, records, memory):
    folder = tmp_path_factory.mktemp("runs")
    runs = SortedRuns(folder, "x", memory)
    for record in records:
        runs.add(record)
    assert list(runs) == sorted(records)
    assert list(runs) == sorted(records), "it can be read again"
    next(iter(runs), None)  # a reading that breaks off does no harm
    assert list(runs) == sorted(records)
    runs.close()
    assert not os.listdir(folder)


@pytest.mark.parametrize(("memory", "files"), [(0, 5), (90, 1), (10**6, 0)])
def test_memory_decides_how_many_runs_there_are(tmp_path, memory, files):
    runs = SortedRuns(tmp_path, "x", memory)
    for record in (b"e", b"b", b"", b"a" * 10, b"b"):
        runs.add(record)
    assert len(os.listdir(tmp_path)) == files
    assert list(runs) == [b"", b"a" * 10, b"b", b"b", b"e"]


def test_records_longer_than_the_memory_are_kept(tmp_path):
    records = [bytes([i % 251]) * (1000 + i) for i in range(300, 0, -1)]
    runs = SortedRuns(tmp_path, "x", 5000)
    for record in records:
        runs.add(record)
    assert list(runs) == sorted(records)


def test_two_sorts_in_one_folder_keep_apart(tmp_path):
    one, two = SortedRuns(tmp_path, "one", 0), SortedRuns(tmp_path, "two", 0)
    one.add(b"1")
    two.add(b"2")
    assert (list(one), list(two)) == ([b"1"], [b"2"])
    one.close()
    assert list(two) == [b"2"]
