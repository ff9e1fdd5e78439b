"""Damaged files and full disks: an error or a finding, never the end of the caller's process."""

import json
import os
import shutil
import signal
from random import Random

import numpy as np
import pytest

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import KnowledgeBase, update
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.list_build import build_list
from sgtb.kb.check import check
from sgtb.kb.export import export_lines
from sgtb.kb.layout import COLUMNS, FORMAT, HEADER, ROW
from tests.helpers.kb_processes import contents, fill, forked, small_disk
from tests.helpers.kb_worlds import build, random_world, write_lines
from tests.helpers.tampering import data_of, without_sums

FILES = ("names.mdb", *(f"{column}.bin" for column in COLUMNS))
PAGE = 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    records = random_world(Random(0), 40, dimensions=3).records()
    records += [
        {"kind": "word", "word": "one", "vector": [1, 0, 0]},
        {"kind": "word", "word": "two", "vector": [0, 1, 0]},
    ]
    return build(folder, records)


@pytest.fixture
def place(whole, tmp_path):
    """A knowledge base without checksums, as of earlier versions; see also test_block_sums.py."""
    shutil.copytree(whole, tmp_path / "kb")
    without_sums(tmp_path / "kb")
    return tmp_path / "kb"


def is_refused(place, message):
    """Assert that a knowledge base can be neither opened, changed nor checked."""
    for use in (KnowledgeBase.open, lambda place: update.remove(place, ["Q1"]), check):
        if use is check and "names" not in message and "link" not in message:
            continue  # it opens what is checked in a process of its own, which takes time
        with pytest.raises(KnowledgeBaseError, match=message):
            use(place)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(place, name):
    (data_of(place) / name).unlink()
    is_refused(place, rf"{name}: missing; build the knowledge base again")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_a_folder_is_refused(place, name):
    path = data_of(place) / name
    path.unlink()
    path.mkdir()
    is_refused(place, rf"{name}: cannot be (read|opened)")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("left", [0, 1, 63, 64, 0.3, 0.7, -1])
def test_a_file_that_was_cut_off_is_named(place, name, left):
    path = data_of(place) / name
    data = path.read_bytes()
    if left < 0 or isinstance(left, float):
        left = int(len(data) * left) if left > 0 else len(data) + left
    path.write_bytes(data[:left])
    is_refused(place, rf"{name}: .*(truncated|damaged|cannot be opened)")


@pytest.mark.parametrize("name", FILES)
def test_garbage_in_place_of_a_file_is_named(place, name):
    path = data_of(place) / name
    path.write_bytes(Random(1).randbytes(path.stat().st_size))
    is_refused(place, rf"{name}: (damaged|cannot be opened)")


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_knowledge_base_is_refused(place, name, tmp_path):
    records = random_world(Random(0), 40, dimensions=3).records()
    records[5]["description"] = "something else"
    records += [
        {"kind": "word", "word": "one", "vector": [1, 0, 0]},
        {"kind": "word", "word": "two", "vector": [0, 1, 0]},
    ]
    other = build(tmp_path, records, "other")
    shutil.copy(data_of(other) / name, data_of(place) / name)
    is_refused(place, "damaged, or of another knowledge base: wrong header")


@pytest.mark.parametrize("name", FILES)
def test_an_older_file_of_the_same_knowledge_base_is_noticed(place, name, tmp_path):
    older = tmp_path / name
    shutil.copy(data_of(place) / name, older)
    more = [{"id": "new", "name": "new", "links": ["Q1"], "vector": [1, 1, 1]}]
    ids = [e["id"] for e in random_world(Random(0), 40, dimensions=3).records() if "id" in e]
    more[0]["links"] = ids[:2]
    update.add(place, EntityList(write_lines(tmp_path / "more.jsonl", more)))
    update.remove(place, ids[3:6])
    without_sums(place)
    same = (data_of(place) / name).read_bytes() == older.read_bytes()
    shutil.copy(older, data_of(place) / name)
    if name == "names.mdb":
        assert check(place).ok, "what names.mdb says is valid, is"
    elif same:
        assert (name == "words.bin" or name.startswith("fuzzy_"), check(place).ok) == (True, True)
    else:
        is_refused(place, rf"{name}: .*truncated")


@pytest.mark.parametrize(
    ("pointer", "message"),
    [
        (b"", "kb.json: damaged"),
        (b"{", "kb.json: damaged"),
        (b"\xff\xfe", "kb.json: damaged"),
        (b"[" * 100_000, "kb.json: damaged"),
        (b"null", "kb.json: damaged"),
        (b"{}", "kb.json: damaged"),
        (b'{"format": "1", "data": "data-000001"}', "kb.json: damaged"),
        (b'{"format": true, "data": "data-000001"}', "kb.json: damaged"),
        (b'{"format": 0, "data": "data-000001"}', "kb.json: damaged"),
        (b'{"format": 2}', "kb.json: damaged"),
        (b'{"format": 2, "data": "../data-000001"}', "kb.json: damaged"),
        (b'{"format": 2, "data": "/etc"}', "kb.json: damaged"),
        (b'{"format": 2, "data": "data-000007"}', "data-000007/names.mdb: missing"),
        (b'{"format": 3, "data": "data-000001"}', "format 3, newer than this sgtb reads"),
        (b'{"format": 1, "data": "data-000001"}', "format 1, older than .*build the knowledge"),
        (b'{"format": 9, "folder": {}}', r"format 9, newer than .*pip install --upgrade sgtb"),
    ],
)
def test_a_pointer_that_points_to_nothing(place, pointer, message):
    (place / "kb.json").write_bytes(pointer)
    is_refused(place, message)
    assert data_of(place).is_dir(), "it may be the valid one"
    records = [{"id": "new", "name": "new"}]
    build_list(write_lines(place.parent / "new.jsonl", records), place)
    assert [path.name for path in place.glob("data-*")] == ["data-000002"]
    with KnowledgeBase.open(place) as kb:
        assert list(kb.ids()) == ["new"]


def test_a_column_of_a_newer_format_is_refused(place):
    path = data_of(place) / "links.bin"
    data = bytearray(path.read_bytes())
    data[8] = 3
    path.write_bytes(data)
    is_refused(place, "wrong header")


@pytest.mark.parametrize("byte", range(HEADER.size - 16))
def test_every_byte_of_a_header_counts(whole, place, byte):
    path = data_of(place) / "near.bin"
    data = bytearray(path.read_bytes())
    data[byte] ^= 16
    path.write_bytes(data)
    with pytest.raises(KnowledgeBaseError, match="wrong header"):
        KnowledgeBase.open(place)


def outcome(place):
    """What a check of a damaged file comes to."""
    try:
        return "ok" if check(place).ok else "findings"
    except KnowledgeBaseError as error:
        return "error" if str(place) in str(error) else f"an error that does not say where: {error}"


def test_garbage_pages_of_names_never_end_the_process(place):
    """LMDB trusts its pages. Those that hold names are missed; some are free, and are not."""
    path = data_of(place) / "names.mdb"
    data = path.read_bytes()
    random = Random(3)
    pages = len(data) // PAGE
    used = [i for i in range(pages) if "北京".encode() in data[i * PAGE : (i + 1) * PAGE]]
    for page in (0, 1, *used, *range(2, pages, 2)):
        garbage = random.choice((random.randbytes(PAGE), bytes(PAGE), b"\xff" * PAGE))
        path.write_bytes(data[: page * PAGE] + garbage + data[(page + 1) * PAGE :])
        found = outcome(place)
        assert found in (("error", "findings") if page in used else ("error", "findings", "ok"))
    path.write_bytes(data)
    assert (len(used), outcome(place)) == (1, "ok")


@pytest.mark.parametrize("seed", range(10))
def test_flipped_bits_of_names_never_end_the_process(place, seed):
    random = Random(seed)
    path = data_of(place) / "names.mdb"
    data = bytearray(path.read_bytes())
    for _ in range(random.choice((1, 10, 300))):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(data)
    assert outcome(place) in ("ok", "findings", "error")


@pytest.mark.parametrize("field", ["text_at", "id_size", "title_size"])
def test_a_row_outside_the_text_is_named_by_a_lookup(place, field):
    path = data_of(place) / "entities.bin"
    data = bytearray(path.read_bytes())
    rows = np.frombuffer(data, ROW, offset=HEADER.size)
    rows[field] = -1
    path.write_bytes(data)
    with KnowledgeBase.open(place) as kb:
        name = next(kb.names())
        with pytest.raises(KnowledgeBaseError, match="damaged: entities: -1 is outside"):
            kb.candidates(name)


# Full disks


def exported(place):
    with KnowledgeBase.open(place) as kb:
        return list(export_lines(kb))


def many(tmp_path, name, size, prefix):
    records = [{"id": f"{prefix}{i}", "name": f"{prefix} name {i}"} for i in range(size)]
    return write_lines(tmp_path / f"{name}.jsonl", records)


def test_a_full_disk_is_named_and_costs_nothing(tmp_path):
    few, more = many(tmp_path, "few", 300, "a"), many(tmp_path, "more", 9000, "b")
    with small_disk(tmp_path / "disk", 1 << 20) as disk:
        place = disk / "kb"
        with pytest.raises(KnowledgeBaseError, match=f"{place}: the disk is full"):
            build_list(more, place)
        assert os.listdir(disk) == []
        build_list(few, place)
        before = exported(place)
        ids = [f"a{i}" for i in range(300)]
        filler = fill(disk)
        for write in (
            lambda: build_list(few, place),
            lambda: update.add(place, EntityList(more)),
            lambda: update.add(place, EntityList(many(tmp_path, "one", 1, "c"))),
            lambda: update.remove(place, ids[::2]),
        ):
            with pytest.raises(KnowledgeBaseError, match=f"{place}: the disk is full"):
                write()
            assert exported(place) == before, "it can be read all the while"
        assert check(place).ok
        filler.unlink()
        with pytest.raises(KnowledgeBaseError, match=f"{place}: the disk is full"):
            update.add(place, EntityList(more))
        assert check(place).entities == 300
        assert update.remove(place, ids[::2]).entities == 150
        assert update.add(place, EntityList(many(tmp_path, "one", 1, "c"))).entities == 151
        assert check(place).ok
        build_list(few, place)
        assert check(place).entities == 300


def test_the_lock_file_of_a_copy_has_room_or_says_so(tmp_path):
    """To touch a page of a mapped file that the disk has no room for would kill the process."""
    with small_disk(tmp_path / "disk", 1 << 20) as disk:
        place = disk / "kb"
        build_list(many(tmp_path, "few", 300, "a"), place)
        (data_of(place) / "names.mdb-lock").unlink()
        filler = fill(disk)
        with pytest.raises(KnowledgeBaseError, match="No space left"):
            forked(lambda: len(KnowledgeBase.open(place)))
        filler.unlink()
        assert forked(lambda: len(KnowledgeBase.open(place))) == 300


@pytest.mark.parametrize("limit", [0, 100, 5000, 30_000, 80_000, 100_000])
def test_a_file_that_may_grow_no_more_is_a_full_disk(tmp_path, limit):
    resource = pytest.importorskip("resource")
    few, more = many(tmp_path, "few", 100, "a"), many(tmp_path, "more", 2000, "b")
    place = tmp_path / "kb"
    build_list(few, place)
    before = contents(place)

    def limited(work):
        def run():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            work()

        return run

    for write in (
        lambda: build_list(more, place),
        lambda: build_list(more, tmp_path / "other"),
        lambda: update.add(place, EntityList(more)),
    ):
        with pytest.raises(KnowledgeBaseError, match="the disk is full; nothing was changed"):
            forked(limited(write))
        assert contents(place) == before
        assert not (tmp_path / "other").exists()
    if limit < 30_000:
        with pytest.raises(KnowledgeBaseError, match="the disk is full; nothing was changed"):
            forked(limited(lambda: update.remove(place, ["a1"])))
        assert contents(place) == before
    assert check(place).ok
    assert update.add(place, EntityList(more)).entities == 2100


def test_a_disk_that_fails_is_not_called_full(tmp_path, monkeypatch):
    few = many(tmp_path, "few", 10, "a")
    build_list(few, tmp_path / "kb")
    before = contents(tmp_path / "kb")

    def fail(_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    for write in (
        lambda: build_list(few, tmp_path / "kb"),
        lambda: update.add(tmp_path / "kb", EntityList(many(tmp_path, "one", 1, "c"))),
    ):
        with pytest.raises(KnowledgeBaseError, match="cannot be written: Input/output error"):
            write()
    monkeypatch.undo()
    assert contents(tmp_path / "kb") == before


@pytest.mark.parametrize("step", ["before", "after"])
def test_a_build_stopped_at_its_last_step_leaves_what_is_valid(tmp_path, monkeypatch, step):
    """Ctrl-C just before the pointer is replaced, and just after."""
    place = build(tmp_path, [{"id": "old", "name": "x"}])
    replace = os.replace

    def stop(source, target):
        if step == "after":
            replace(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path, [{"id": "new", "name": "x"}])
    monkeypatch.undo()
    assert check(place).ok
    with KnowledgeBase.open(place) as kb:
        assert list(kb.ids()) == (["old"] if step == "before" else ["new"])
    build(tmp_path, [{"id": "third", "name": "x"}])
    assert len(list(place.glob("data-*"))) == 1
    assert json.loads((place / "kb.json").read_bytes())["format"] == FORMAT
