"""Copies of knowledge bases: equal, whole, and taken while others write."""

import os
import stat
import threading
from random import Random

import pytest

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import KnowledgeBase, update
from sgtb.kb import kb_copy as module
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.list_build import build_list
from sgtb.kb.check import check
from sgtb.kb.export import export_lines
from sgtb.kb.kb_copy import duplicate
from tests.helpers.kb_worlds import build, random_world, write_lines


@pytest.fixture
def place(tmp_path):
    return build(tmp_path, random_world(Random(1), 30).records())


def lines(place):
    with KnowledgeBase.open(place) as kb:
        return list(export_lines(kb)), kb.state.fingerprint


def add(place, tmp_path, id_):
    record = {"id": id_, "name": f"Name {id_}", "aliases": ["Jordan"], "description": "x" * 2000}
    update.add(place, EntityList(write_lines(tmp_path / f"{id_}.jsonl", [record])))


def files(place):
    return {p.relative_to(place): p.read_bytes() for p in place.rglob("*") if p.is_file()}


def test_a_copy_is_equal_to_the_byte(place, tmp_path):
    add(place, tmp_path, "new")
    update.remove(place, ["new"])
    add(place, tmp_path, "newer")
    duplicate(place, tmp_path / "one")
    duplicate(place, tmp_path / "two")
    assert lines(tmp_path / "one") == lines(place)
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert check(tmp_path / "one").ok


def test_a_copy_goes_its_own_way(place, tmp_path):
    before = lines(place)
    duplicate(place, tmp_path / "copy")
    add(tmp_path / "copy", tmp_path, "new")
    assert lines(place) == before
    assert lines(tmp_path / "copy") != before
    assert check(tmp_path / "copy").ok


def test_what_a_killed_writer_left_behind_is_not_copied(place, tmp_path):
    (column,) = place.glob("data-*/text.bin")
    size = column.stat().st_size
    with open(column, "ab") as file:
        file.write(b"torn")
    duplicate(place, tmp_path / "copy")
    assert [p.stat().st_size for p in (tmp_path / "copy").glob("data-*/text.bin")] == [size]


def test_a_copy_taken_while_somebody_writes(place, tmp_path):
    stop = threading.Event()

    def write():
        for i in range(1000):
            if stop.is_set():
                return
            add(place, tmp_path, f"new{i}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for i in range(8):
            duplicate(place, tmp_path / f"copy{i}")
    finally:
        stop.set()
        writer.join()
    for i in range(8):
        assert check(tmp_path / f"copy{i}").problems == ()


def test_data_that_are_replaced_meanwhile(place, tmp_path, monkeypatch):
    """A build takes the old data away between one file and the next."""
    copy_column, done = module._copy_column, []

    def once(folder, target, column, state):
        if not done:
            done.append(column)
            build_list(write_lines(tmp_path / "n.jsonl", [{"id": "A", "name": "Amman"}]), place)
        copy_column(folder, target, column, state)

    monkeypatch.setattr(module, "_copy_column", once)
    duplicate(place, tmp_path / "copy")
    assert lines(tmp_path / "copy") == lines(place)
    assert check(tmp_path / "copy").ok


def test_a_file_that_was_cut_off(place, tmp_path):
    (column,) = place.glob("data-*/text.bin")
    os.truncate(column, column.stat().st_size - 1)
    with pytest.raises(KnowledgeBaseError, match=r"text\.bin: the file is truncated"):
        duplicate(place, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_nothing_to_copy(tmp_path):
    with pytest.raises(KnowledgeBaseError, match="no such folder"):
        duplicate(tmp_path / "nowhere", tmp_path / "copy")


def test_a_copy_of_what_may_only_be_read_may_be_written(place, tmp_path):
    for path in [*place.rglob("*"), place]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        duplicate(place, tmp_path / "copy")
    finally:
        for path in [place, *place.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert all(p.stat().st_mode & stat.S_IWUSR for p in (tmp_path / "copy").rglob("*"))
    add(tmp_path / "copy", tmp_path, "new")
