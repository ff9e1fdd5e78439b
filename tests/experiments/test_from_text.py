"""The experiment from plain text: built, trained and counted once, then taken from the cache."""

import json
import lzma
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from experiments import from_text
from experiments.commands import app
from experiments.from_text import SYSTEM, TextTest, as_json, joined, run_from_text, text_tests
from experiments.starter_data import read_starter
from experiments.tables import show_from_text
from sgtb.core.errors import CorpusError
from sgtb.evaluation.linkers import EvaluationSettings
from sgtb.formats.registry import write_documents
from sgtb.starter import ENTITIES

FEW = EvaluationSettings(samples=99)


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> TextTest:
    """The starter's entities as a packed list, and few of its texts."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "list.jsonl.xz").write_bytes(lzma.compress(ENTITIES.read_bytes()))
    texts = read_starter()
    for split, n in (("train", 40), ("dev", 10), ("test", 10)):
        write_documents(texts[split][:n], folder / f"{split}.jsonl", "jsonl")
    return TextTest(
        "small", folder / "list.jsonl.xz", folder / "train.jsonl", (folder / "dev.jsonl",),
        folder / "test.jsonl",
    )  # fmt: skip


def test_linkers_are_made_once(small, tmp_path, monkeypatch, capsys):
    few = replace(from_text.DEFAULTS, trees=60, folds=3)
    train = from_text._train
    monkeypatch.setattr(from_text, "_train", lambda kb, test, _: train(kb, test, few))
    said, cache = [], tmp_path / "cache"
    first = run_from_text([small], cache, FEW, say=said.append)
    assert [line.partition(":")[0] for line in said] == [
        "building a knowledge base", "training a model",
    ]  # fmt: skip
    again = run_from_text([small], cache, FEW, say=said.append)
    assert len(said) == 2
    assert as_json(again) == as_json(first)
    assert list(first) == ["small", "starter-test"]
    assert [one.name for one in joined(first).sets] == ["small", "starter-test"]
    for one in joined(first).sets:
        assert one.systems[SYSTEM].matches["weak"].entities.f1 > 0.5
    json.dumps(as_json(first), allow_nan=False)
    show_from_text(first)
    printed = capsys.readouterr().out
    assert "small: 10 documents" in printed
    assert "detected too well" in " ".join(printed.split())


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"pprforned\.tar\.xz: no such file; --data"):
        run_from_text(text_tests(tmp_path), tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_the_command_prints_json(tmp_path, monkeypatch):
    monkeypatch.setattr(from_text, "text_tests", lambda data: ())
    options = ["from-text", "--data", str(tmp_path), "--cache", str(tmp_path / "c"), "--json", "-q"]
    result = CliRunner().invoke(app, options)
    assert result.exit_code == 0, result.output
    assert set(json.loads(result.stdout)["tests"]) == {"starter-test"}
