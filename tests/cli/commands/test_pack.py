"""`sgtb pack`: a folder that other commands take for a model."""

import json
import re

import pytest
from typer.testing import CliRunner

from sgtb import build_kb
from sgtb.cli.main import app
from sgtb.linking.linker import Linker
from sgtb.starter import KB, MODEL
from tests.helpers.job_runs import ENTITIES

PAIR = ["--model", str(MODEL), "--kb", str(KB)]


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed") / "linker"
    result = run("pack", *PAIR, folder)
    assert result.exit_code == 0, result.output
    assert re.search(r"linker: \d\.\d MB", result.stderr)
    return folder


@pytest.mark.parametrize("command", [["link", "--json", "Amman"], ["explain", "Amman", "Amman"]])
def test_a_folder_is_a_model(packed, command):
    expected = run(*command)
    assert "Amman" in expected.stdout
    assert run(*command, "--model", packed).stdout == expected.stdout
    assert run(*command, "--model", packed, "--kb", KB).stdout == expected.stdout


def test_a_folder_that_is_no_model(tmp_path):
    result = run("link", "Amman", "--model", tmp_path)
    assert result.exit_code == 1
    assert "no linker (no config.json)" in result.stderr


def test_a_model_file_still_needs_its_knowledge_base():
    result = run("link", "Amman", "--model", MODEL)
    assert result.exit_code == 2
    assert "--model needs --kb" in result.stderr


def test_what_was_measured_goes_into_the_card(tmp_path):
    (tmp_path / "scores.json").write_text(json.dumps({"in-KB accuracy": 0.97}))
    scores = ["--evaluation", tmp_path / "scores.json"]
    result = run("pack", *PAIR, *scores, "--without-kb", tmp_path / "linker")
    assert result.exit_code == 0, result.output
    assert "| in-KB accuracy | 97.0 % |" in (tmp_path / "linker" / "README.md").read_text()
    assert not (tmp_path / "linker" / "kb").exists()


@pytest.mark.parametrize(("data", "complaint"), [("{", "not JSON"), ("[]", "not a JSON object")])
def test_measurements_that_are_none(tmp_path, data, complaint):
    (tmp_path / "scores.json").write_text(data)
    result = run("pack", *PAIR, "--evaluation", tmp_path / "scores.json", tmp_path / "linker")
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert not (tmp_path / "linker").exists()


def test_the_starter_by_name_and_with_another_knowledge_base(packed, tmp_path):
    build_kb(ENTITIES, tmp_path / "kb").close()
    own = ["--kb", tmp_path / "kb"]
    for given in (own, ["--model", "starter", *own], ["--model", packed, *own]):
        result = run("pack", *given, tmp_path / "own")
        assert result.exit_code == 0, result.output
        with Linker(tmp_path / "own") as linker:
            assert linker.link("The Bulls won.").links[0].entity == "B"
    assert run("pack", "--model", "starter", tmp_path / "linker").exit_code == 0
    for name in ("config.json", "model.safetensors"):
        assert (tmp_path / "linker" / name).read_bytes() == (packed / name).read_bytes()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [([], "give --model, --kb or both"), (["--model", MODEL], "--model needs --kb")],
)
def test_a_pair_that_is_not_stated(tmp_path, given, complaint):
    result = run("pack", *given, tmp_path / "linker")
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert not (tmp_path / "linker").exists()


def test_a_foreign_folder(tmp_path):
    (tmp_path / "x").write_text("x")
    result = run("pack", *PAIR, tmp_path)
    assert result.exit_code == 1
    assert "holds 'x'" in result.stderr
