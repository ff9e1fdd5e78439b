"""`sgtb calibrate`: a model file with new confidence."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from experiments.starter_data import read_starter
from sgtb.cli.main import app
from sgtb.formats.registry import write_documents
from sgtb.linking.linker_model import LinkerModel
from sgtb.starter import KB, MODEL


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["calibrate", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "test.jsonl"
    documents = [replace(document, split="") for document in read_starter()["test"][:50]]
    write_documents(documents, path, "jsonl")
    return path


def test_a_model_is_written_and_the_errors_are_shown(data, tmp_path):
    output = tmp_path / "mine.model"
    shown = run(data, "-o", output).stdout
    assert shown.startswith(f"{output}: calibrated on 50 documents, ")
    assert "before" in shown
    assert "after" in shown
    old, new = LinkerModel.load(MODEL), LinkerModel.load(output)
    assert new.confidence != old.confidence
    assert new.forest.forest.value.tobytes() == old.forest.forest.value.tobytes()
    result = CliRunner().invoke(app, ["link", "--model", str(output), "--kb", str(KB), "Amman"])
    assert "Amman" in result.stdout


def test_json(data, tmp_path):
    record = json.loads(run(data, "-o", tmp_path / "m", "--model", "starter", "--json").stdout)
    assert set(record) == {"model", "documents", "mentions", "before", "after", "nil"}
    assert 0 <= record["after"]["ece"] <= 100
    assert record["documents"] == 50 < record["mentions"]


def test_bad_arguments(data, tmp_path):
    assert "no folder" in run(data, "-o", tmp_path / "none" / "m", code=1).stderr
    assert "--model needs --kb" in run(data, "-o", tmp_path / "m", "--model", MODEL, code=2).stderr
    (tmp_path / "empty.jsonl").write_text('{"text": "Amman"}\n')
    complaint = run(tmp_path / "empty.jsonl", "-o", tmp_path / "m", code=1).stderr
    assert "nothing to calibrate by" in complaint
    assert not (tmp_path / "m").exists()
