"""The linker of a worker: that of `Linker` for every model and knowledge base."""

import shutil

import pytest

from sgtb import build_kb
from sgtb.core.errors import KnowledgeBaseError, ModelFileError, SettingsError, SgtbError
from sgtb.jobs.job_inputs import Item
from sgtb.jobs.worker_linker import (
    cache_folder,
    complete,
    digests,
    file_digest,
    link_items,
    linker_files,
    linker_spec,
    receive,
    required_linker,
)
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import Request, Span
from sgtb.starter import KB, MODEL
from tests.helpers.job_runs import ENTITIES, TEXTS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Knowledge bases and packed linkers."""
    folder = tmp_path_factory.mktemp("linkers")
    build_kb(ENTITIES, folder / "own").close()
    with Linker.starter() as linker:
        linker.save_pretrained(folder / "packed")
        linker.save_pretrained(folder / "without", kb=False)
    return folder


PAIRS = [
    (None, None), ("starter", None), (None, "own"), ("starter", "own"), ("packed", None),
    ("packed", "own"), ("without", "own"), (MODEL, KB), (MODEL, "own"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "kb"), PAIRS)
def test_a_worker_links_as_the_linker_of_the_same_arguments(folder, model, kb):
    model = folder / model if model in ("packed", "without") else model
    kb = folder / kb if kb == "own" else kb
    with Linker(model, kb) as linker:
        expected = [one.to_dict() for one in linker.link_many(TEXTS)]
        spec = linker_spec(model, kb)
        assert spec["kb"] == linker.kb.state.fingerprint
        assert digests(linker_spec(model, linker.kb)) == digests(spec)
    assert [one.to_dict() for one in required_linker(spec).link_many(TEXTS)] == expected
    assert expected[0]["links"][0]["entity"] is not None


@pytest.mark.parametrize(("model", "kb"), [(MODEL, None), ("nothing", KB), ("without", None)])
def test_arguments_that_the_linker_refuses_are_refused_alike(folder, model, kb):
    model = folder / model if model == "without" else model
    with pytest.raises((SettingsError, ModelFileError, KnowledgeBaseError)) as expected:
        Linker(model, kb)
    with pytest.raises(type(expected.value)) as refused:
        linker_spec(model, kb)
    assert str(refused.value) == str(expected.value)


def test_a_model_in_memory_is_refused():
    with pytest.raises(SettingsError, match="a model in memory cannot be sent to workers"):
        linker_spec(LinkerModel.load(MODEL), KB)


def test_changed_files_have_other_digests(folder, tmp_path):
    before = digests(linker_spec(None, folder / "own"))
    shutil.copytree(folder / "own", tmp_path / "own")
    assert digests(linker_spec("starter", tmp_path / "own")) == before
    build_kb(ENTITIES[:2], tmp_path / "own").close()
    assert digests(linker_spec("starter", tmp_path / "own"))["kb"] != before["kb"]


def test_nothing_is_left_of_what_was_sent(tmp_path, monkeypatch):
    monkeypatch.setenv("SGTB_CACHE", str(tmp_path))
    spec = linker_spec()
    for sender in ("first", "second"):  # the second finds the linker of the first
        hashes = {}
        for name, path in linker_files(spec):
            receive(spec, sender, name, path.read_bytes(), True)
            hashes[name] = file_digest(path)
        complete(spec, sender, hashes)
    receive(spec, "third", "model.safetensors", b"x", True)
    with pytest.raises(SgtbError, match="damaged on its way"):
        complete(spec, "third", {"model.safetensors": "0"})
    assert [path.name for path in tmp_path.iterdir()] == [cache_folder(spec).name]


def test_reasons_do_not_depend_on_the_host(folder):
    linker = required_linker(linker_spec(None, folder / "own"))
    request = Request("Berlin", [Span(0, 6, candidates=("no such id",))])
    [(_, reason)] = link_items(linker, [Item("a", 1, request)])
    assert "no such id" in reason
    assert str(folder) not in reason
