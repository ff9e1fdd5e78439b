"""Knowledge bases of experiments: built once, and again if a file changes."""

import json
import lzma
from pathlib import Path

import pytest

from experiments import kb_cache
from experiments.kb_cache import DUMP, MERGED, named_kb
from experiments.pages_recall import FILES
from sgtb.core.errors import CorpusError
from sgtb.kb import KnowledgeBase
from sgtb.wikipedia.build.build_settings import HoldOut
from sgtb.wikipedia.build.link_documents import held_out_of
from tests.cli.commands.test_train import links_dump


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three files of one page each, and a small dump."""
    for folder in ("pages", "dumps"):
        (tmp_path / folder).mkdir()
    for i, name in enumerate(FILES):
        page = {"id": f"{i}", "title": f"Town {i}", "text": f"Town {i} is a town."}
        (tmp_path / "pages" / name).write_bytes(lzma.compress(json.dumps(page).encode() + b"\n"))
    links_dump(tmp_path / DUMP)
    return tmp_path


def test_pages_and_a_dump_are_merged_once(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kb_cache, "HOLD_OUT", HoldOut(0.8))
    said: list[str] = []
    place = named_kb(MERGED, data, data / "cache", say=said.append)
    assert len(said) == 3, "pages, dump, both"
    with KnowledgeBase.open(place) as kb:
        assert kb.number("Town 2") is not None
        assert held_out_of(kb) == HoldOut(0.8)
    assert named_kb(MERGED, data, data / "cache", say=said.append) == place
    assert len(said) == 3
    (data / "pages" / FILES[0]).write_bytes(
        lzma.compress(b'{"title": "Lake", "text": "A lake."}\n')
    )
    assert named_kb(MERGED, data, data / "cache", say=said.append) != place


def test_a_folder_is_itself(tmp_path: Path) -> None:
    assert named_kb(str(tmp_path / "own"), tmp_path, tmp_path / "cache") == tmp_path / "own"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"simplewiki\.jsonl\.xz: no such file; --data"):
        named_kb(MERGED, tmp_path, tmp_path / "cache")
