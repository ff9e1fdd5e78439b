"""Kernels of names in builds, against what Python computes for one name at a time."""

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.kb.build.kb_writer import NAME_TAIL, name_record, popularity_key
from sgtb.kb.build.sorted_runs import SortedRuns, run_of
from sgtb.kb.layout import MAX_KEY, MAX_SPELLING, ROW
from sgtb.kb.name_index import (
    MAX_COUNT,
    Spelling,
    by_name,
    merged,
    pack_name,
    pack_spellings,
    unpack_spellings,
)
from sgtb.native import distinct_names, pack_names, run_merger, sort_records, value_packer
from sgtb.text.normalization import _any_name, name_table, normal_name

plain = st.text(
    st.characters(max_codepoint=0x58F, exclude_categories=["Cs"])
    | st.characters(min_codepoint=0x1E00, max_codepoint=0x20CF)
    | st.sampled_from("''’’sS  .aÉß"),
    max_size=12,
)
any_text = plain | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def grouped_names(records, sources):
    """Yield each name with the counts of its entities, from sorted records."""
    size = NAME_TAIL.size
    for name, group in groupby(records, lambda record: record[: -size - 1]):
        counts = {}
        for record in group:
            number, source, count = NAME_TAIL.unpack_from(record, len(record) - size)
            counts.setdefault(number, [0] * sources)[source] += count
        yield name, counts


@settings(deadline=None, derandomize=True, max_examples=500)
@given(any_text)
def test_normal_forms(text):
    assert normal_name(text) == _any_name(text)
    assert name_table().normal(text) in (None, _any_name(text))


def test_every_character_of_the_table():
    for code in (*range(0x590), *range(0x1E00, 0x20D0)):
        for text in (f"a{chr(code)}b", f"{chr(code)}'s", f"a'{chr(code)}", f"x{chr(code)}'s y"):
            assert name_table().normal(text) in (None, _any_name(text)), ascii(text)


@pytest.mark.parametrize("text", ["", "!!!", "東京", "\ud800", "a\U0001f600"])
def test_names_that_are_for_python(text):
    assert name_table().normal(text) is None


spellings = st.lists(
    st.builds(
        Spelling, plain.filter(bool), st.integers(0, 3), st.integers(1, 5) | st.just(MAX_COUNT)
    ),
    max_size=6,
)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(spellings, st.integers(0, 2**32 - 1))
def test_spellings_and_records_of_an_entity(given_ones, number):
    distinct = merged(given_ones)
    found = pack_names(name_table(), given_ones, number)
    names = by_name(distinct)
    if found is None:
        assert any(name_table().normal(text) is None for text, *_ in given_ones)
        return
    packed, count, records = found
    assert (packed, count) == (pack_spellings(distinct), len(distinct))
    assert unpack_spellings(packed) == distinct
    expected = [name_record(name, number, source, n) for (name, source), n in names.items()]
    assert sorted(_records(records)) == sorted(expected)


@pytest.mark.parametrize(
    "spelling",
    [
        ("x" * (MAX_SPELLING + 1), 0, 1),
        ("x" * (MAX_KEY + 1), 0, 1),
        ("x", 0, 0),
        ("x", 256, 1),
        ("x", 0, MAX_COUNT + 1),
        ("\ud800", 0, 1),
        ("x", 0),
    ],
)
def test_spellings_that_are_for_python(spelling):
    assert pack_names(name_table(), [spelling], 0) is None


def test_other_arguments_are_refused():
    with pytest.raises(TypeError):
        pack_names(name_table(), [("x", "0", 1)], 0)
    with pytest.raises(ValueError, match="entity"):
        pack_names(name_table(), [], -1)
    assert pack_names(name_table(), ("x", 0, 1), 0) is None


names = st.sampled_from([b"a", b"a b", b"b", "ü".encode(), b"zz"])
counted = st.lists(
    st.tuples(names, st.integers(0, 7), st.integers(0, 2), st.integers(1, 9)), max_size=40
)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(counted, st.booleans(), st.integers(0, 2000), st.data())
def test_values_of_names(tmp_path_factory, given_ones, with_pages, memory, data):
    """Popularity is equal, or unknown, of some entities; ids of others sort against numbers."""
    unique = {(name, number, source): count for name, number, source, count in given_ones}
    ids = [b"h", b"g", b"f", b"e", b"d", b"c", b"b", b"a"]
    rows = np.zeros(len(ids), ROW)
    rows["text_at"], rows["id_size"] = np.arange(len(ids)), 1
    rows["popularity"] = data.draw(
        st.lists(st.sampled_from([1.0, 2.0, np.nan]), min_size=len(ids), max_size=len(ids))
    )
    runs = SortedRuns(tmp_path_factory.mktemp("runs"), "names", memory)
    for (name, number, source), count in unique.items():
        runs.add(name_record(name, number, source, count))
    weights = (1.0, 0.1, 1.0)
    grouped = list(grouped_names(runs, 3))
    pages = np.arange(2 * len(grouped), dtype=np.uint32).reshape(-1, 2)

    def tie(number):
        return popularity_key(float(rows["popularity"][number])), ids[number]

    expected = [
        (name, pack_name(counts, weights, tuple(map(int, pages[i])) if with_pages else (0, 0), tie))
        for i, (name, counts) in enumerate(grouped)
    ]
    packer = value_packer(
        rows.view(np.uint8), b"".join(ids), np.array(weights), 1,
        pages if with_pages else pages[:0],
    )  # fmt: skip
    items, listed, ends = [], b"", b""
    for batch in runs.batches(9):
        found, text, end = packer.pack(batch)
        items, listed, ends = items + found, listed + text, ends + end
        assert distinct_names(batch) == [name.decode() for name, _ in found]
    assert items == expected
    kept = [name for name, counts in grouped if any(r[0] or r[2] for r in counts.values())]
    assert listed == b"".join(kept)
    assert np.frombuffer(ends, np.int64).tolist() == np.cumsum([*map(len, kept)]).tolist()
    runs.close()


def test_records_of_one_name_are_not_split():
    records = sorted(name_record(b"name %d" % (i // 100), i, 0, 1) for i in range(300))
    merger = run_merger([np.frombuffer(run_of(records), np.uint8)])
    batches = [*iter(lambda: merger.next(10, 9), b"")]
    assert [distinct_names(batch) for batch in batches] == [["name 0"], ["name 1"], ["name 2"]]


@pytest.mark.parametrize("run", [b"\1", b"\5\0\0\0abc", b"\xff\xff\xff\xffa"])
def test_damaged_runs_are_refused(run):
    with pytest.raises(ValueError, match="truncated"):
        sort_records(run, np.zeros(len(run), np.uint8))
    with pytest.raises(ValueError, match="truncated"):
        run_merger([run])
    with pytest.raises(ValueError, match="truncated"):
        distinct_names(run)


def test_records_of_unknown_entities_and_sources_are_refused():
    rows = np.zeros(1, ROW)
    arguments = (rows.view(np.uint8), b"", np.ones(1), -1, np.zeros((0, 2), "u4"))
    for record in (name_record(b"a", 0, 1, 1), b"short"):
        with pytest.raises(ValueError, match="records"):
            value_packer(*arguments).pack(run_of([record]))
    both = run_of([name_record(b"a", 0, 0, 1), name_record(b"a", 1, 0, 1)])
    with pytest.raises(ValueError, match="records"):
        value_packer(*arguments).pack(both)
    with pytest.raises(ValueError, match="out"):
        sort_records(b"", np.zeros(1, np.uint8))


def _records(run):
    at = 0
    while at < len(run):
        size = int.from_bytes(run[at : at + 4], "little")
        yield run[at + 4 : at + 4 + size]
        at += 4 + size
