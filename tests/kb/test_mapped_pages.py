"""Pages of a knowledge base are given back, and read again as they were."""

import os
from pathlib import Path

import numpy as np
import pytest

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.list_build import build_list
from sgtb.kb.update import add

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
