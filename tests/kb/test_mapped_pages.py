"""Pages of a knowledge base are given back, and read again as they were."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.list_build import build_list
from sgtb.kb.update import add
from tests.helpers.kb_processes import forked

N = 20_000


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    lines = (
        f'{{"id": "e{i}", "name": "Name {i}", "description": "{"a long story " * 8}{i}"}}'
        for i in range(N)
    )
    (folder / "list.jsonl").write_text("\n".join(lines), "utf-8")
    build_list(folder / "list.jsonl", folder / "kb")
    return folder / "kb"


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def contents(kb: KnowledgeBase) -> list[object]:
    found = [kb.candidates(f"Name {i}") for i in range(0, N, 7)]
    return [*found, *(kb.description_of(i) for i in range(0, N, 7)), np.array(kb.rows).tobytes()]


def test_released_pages_are_read_again(place):
    with KnowledgeBase.open(place) as kb:
        before = contents(kb)
        kb.release()
        assert contents(kb) == before


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells")
def test_memory_goes_down(place):
    with KnowledgeBase.open(place) as kb:
        contents(kb)
        full = resident()
        kb.release()
        # Text and names are about six megabytes.
        assert full - resident() > 4_000_000


def test_changed_rows_stay(place, tmp_path):
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "new", "name": "New", "links": ["e3"]}', "utf-8")
    add(place, EntityList(more))
    with KnowledgeBase.open(place) as kb:
        assert kb.entity("e3").in_links == 1
        kb.release()
        assert kb.entity("e3").in_links == 1
        assert kb.candidates("New")[0].id == "new"


def test_a_closed_one_says_so(place):
    kb = KnowledgeBase.open(place)
    kb.close()
    with pytest.raises(KnowledgeBaseError, match="closed"):
        kb.release()


# Files that are changed in place while they are open


def opened_and(place, change):
    """Open a knowledge base, change its files, and use it, in a process that may die."""

    def work():
        with KnowledgeBase.open(place) as kb:
            kb.candidates("name 7")
            change()
            kb.check_files()  # as the linker does for every batch
            return [kb.description_of(number) for number in range(N)]

    return forked(work)


@pytest.mark.parametrize("name", ["names.mdb", "text.bin", "entities.bin", "fuzzy_text.bin"])
def test_a_file_truncated_while_it_is_open_is_noticed(place, tmp_path, name):
    shutil.copytree(place, tmp_path / "kb")
    path = tmp_path / "kb" / "data-000001" / name
    with pytest.raises(KnowledgeBaseError, match=f"{path}: .*truncated"):
        opened_and(tmp_path / "kb", lambda: os.truncate(path, 5000))


def test_files_overwritten_while_they_are_open_are_noticed(place, tmp_path):
    """As `cp` does with the files of another knowledge base."""
    shutil.copytree(place, tmp_path / "kb")
    lines = "".join(f'{{"id": "o{i}", "name": "Other {i}"}}\n' for i in range(3 * N))
    (tmp_path / "other.jsonl").write_text(lines)
    build_list(tmp_path / "other.jsonl", tmp_path / "other")
    path = tmp_path / "kb" / "data-000001" / "entities.bin"

    def overwrite():
        path.write_bytes((tmp_path / "other" / "data-000001" / "entities.bin").read_bytes())

    with pytest.raises(KnowledgeBaseError, match=f"{path}: damaged: it was overwritten"):
        opened_and(tmp_path / "kb", overwrite)


def test_files_that_grow_or_are_replaced_are_no_damage(place, tmp_path):
    shutil.copytree(place, tmp_path / "kb")

    def change():
        (tmp_path / "more.jsonl").write_text('{"id": "fresh", "name": "Fresh"}\n')
        add(tmp_path / "kb", EntityList(tmp_path / "more.jsonl"))
        build_list(tmp_path / "more.jsonl", tmp_path / "kb")

    assert len(opened_and(tmp_path / "kb", change)) == N
