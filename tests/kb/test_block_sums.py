"""Checksums of blocks: damage is found when a knowledge base is opened, before it is used."""

import os
import shutil
import signal
from random import Random

import numpy as np
import pytest

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import KnowledgeBase, block_sums, update
from sgtb.kb.block_sums import BLOCK, SAMPLES, check_sums, renewed_sums
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.kb_copy import duplicate
from sgtb.kb.layout import COLUMNS, HEADER, ROW
from tests.helpers.kb_processes import forked
from tests.helpers.kb_worlds import build, random_world, write_lines
from tests.helpers.tampering import data_of, without_sums

FILES = ("names.mdb", *(f"{column}.bin" for column in COLUMNS))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    records = random_world(Random(0), 40, dimensions=3).records()
    records += [{"kind": "word", "word": "one", "vector": [1, 0, 0]}]
    return build(tmp_path_factory.mktemp("whole"), records)


@pytest.fixture
def place(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "kb")
    return tmp_path / "kb"


def add(place, id_):
    path = write_lines(place.parent / "more.jsonl", [{"id": id_, "name": id_}])
    return update.add(place, EntityList(path))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_a_changed_byte_is_found_at_opening_and_the_file_is_named(place, name, part):
    path = data_of(place) / name
    data = bytearray(path.read_bytes())
    at = int(part * (len(data) - 1))
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(KnowledgeBaseError, match=f"{path}: damaged: its bytes from 0 on"):
        KnowledgeBase.open(place)
    with pytest.raises(KnowledgeBaseError, match=f"{path}: damaged"):
        update.remove(place, ["Q1"])


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_named(place, name):
    path = data_of(place) / name
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(KnowledgeBaseError, match=f"{path}: truncated"):
        KnowledgeBase.open(place)


@pytest.mark.parametrize(
    "data", [b"", b"{}\n00000000\n", b"x", b"[" * 10_000 + b"\n0\n", b"\xff\n1\n"]
)
def test_damaged_sums_are_named(place, data):
    (data_of(place) / "sums.json").write_bytes(data)
    with pytest.raises(KnowledgeBaseError, match=r"sums\.json: damaged; `sgtb kb check`"):
        KnowledgeBase.open(place)


def test_a_folder_without_sums_opens_and_gets_them_with_the_next_change(place):
    without_sums(place)
    KnowledgeBase.open(place).close()
    add(place, "new")
    assert (data_of(place) / "sums.json").exists()
    check_sums(data_of(place))


def test_every_change_renews_the_sums(place):
    before = (data_of(place) / "sums.json").read_bytes()
    add(place, "new")
    after = (data_of(place) / "sums.json").read_bytes()
    assert after != before
    with KnowledgeBase.open(place) as kb:
        assert kb.number("new") is not None
    update.remove(place, ["new"])
    assert (data_of(place) / "sums.json").read_bytes() != after
    KnowledgeBase.open(place).close()


def test_a_change_that_fails_keeps_the_sums(place):
    before = (data_of(place) / "sums.json").read_bytes()
    with pytest.raises(KnowledgeBaseError, match="there is no entity"):
        update.remove(place, ["nobody"])
    assert (data_of(place) / "sums.json").read_bytes() == before
    assert not list(data_of(place).glob(".*"))


def test_after_a_killed_change_there_are_none_until_the_next(place):
    def killed():
        with renewed_sums(data_of(place)):
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises((AssertionError, EOFError)):
        forked(killed)
    assert not (data_of(place) / "sums.json").exists()
    KnowledgeBase.open(place).close()
    add(place, "new")
    check_sums(data_of(place))
    assert not list(data_of(place).glob(".*"))


def test_a_copy_has_sums(place, tmp_path):
    add(place, "new")
    duplicate(place, tmp_path / "copy")
    check_sums(data_of(tmp_path / "copy"))
    assert (data_of(tmp_path / "copy") / "sums.json").exists()


def test_of_large_folders_evenly_spaced_blocks_are_compared():
    compared = list(block_sums._compared(1000 * BLOCK - 5, block_sums.WHOLE + 1))
    assert (compared[0], compared[-1], len(compared)) == (0, 999, SAMPLES)
    assert max(np.diff(compared)) <= 33
    assert list(block_sums._compared(3 * BLOCK, block_sums.WHOLE + 1)) == [0, 1, 2]
    assert len(list(block_sums._compared(100 * BLOCK, 100 * BLOCK))) == 100
    assert list(block_sums._compared(0, 0)) == []


def test_only_new_blocks_of_columns_are_read_again(tmp_path):
    path = tmp_path / "column"
    data = Random(1).randbytes(3 * BLOCK + 7)
    path.write_bytes(data)
    before = block_sums._file_sums(path)
    path.write_bytes(b"\0" + data[1:] + b"more")
    size, sums = block_sums._file_sums(path, before)
    assert (size, sums[:12]) == (3 * BLOCK + 11, before[1][:12])
    path.write_bytes(data + b"more")
    assert block_sums._file_sums(path) == (size, sums)


# Damage that no checksum shows, as in large folders: what uses it says so.


def damaged_rows(place, field, value):
    without_sums(place)
    path = data_of(place) / "entities.bin"
    data = bytearray(path.read_bytes())
    np.frombuffer(data, ROW, offset=HEADER.size)[field] = value
    path.write_bytes(data)


ALL = np.arange(40)


@pytest.mark.parametrize(
    ("field", "value", "use"),
    [
        ("text_at", -1, lambda kb: kb.id_of(0)),
        ("title_size", 2**31 - 1, lambda kb: kb.titles(ALL).strings()),
        ("title_size", -1, lambda kb: kb.title_of(3)),
        ("description_size", 2**31 - 1, lambda kb: kb.description_of(3)),
        ("spellings_size", 2**31 - 1, lambda kb: kb.spellings_of(3)),
        ("links", 2**31 - 1, lambda kb: kb.link_lists(ALL)),
        ("links", -1, lambda kb: kb.links(3)),
        ("links_at", 2**62, lambda kb: kb.link_lists(ALL)),
        ("near", 2**31 - 1, lambda kb: kb.near(3)),
        ("near_at", -9, lambda kb: kb.near(3)),
        ("vector", 2**31 - 1, lambda kb: kb.vectors(ALL)),
        ("vector", 2**31 - 1, lambda kb: kb.vector(3)),
        ("type", 255, lambda kb: kb.types_of(ALL)),
        ("own_type", 9, lambda kb: kb.type_of(3)),
    ],
)
def test_damaged_rows_are_an_error_of_the_knowledge_base(place, field, value, use):
    damaged_rows(place, field, value)
    with (
        KnowledgeBase.open(place) as kb,
        pytest.raises(KnowledgeBaseError, match=r"(entities|text)\.bin: damaged"),
    ):
        use(kb)


@pytest.mark.parametrize(
    ("name", "byte", "use"),
    [
        ("text.bin", b"\xff", lambda kb: kb.title_of(3)),
        ("text.bin", b"\xff", lambda kb: kb.spellings_of(3)),
        ("links.bin", b"\xff", lambda kb: kb.link_lists(ALL)),
        ("links.bin", b"\x7f", lambda kb: [kb.entity(id_) for id_ in kb.ids()]),
    ],
)
def test_damaged_columns_are_an_error_of_the_knowledge_base(place, name, byte, use):
    without_sums(place)
    path = data_of(place) / name
    data = path.read_bytes()
    path.write_bytes(data[: HEADER.size] + byte * (len(data) - HEADER.size))
    with (
        KnowledgeBase.open(place) as kb,
        pytest.raises(KnowledgeBaseError, match=f"{name}: damaged"),
    ):
        use(kb)
