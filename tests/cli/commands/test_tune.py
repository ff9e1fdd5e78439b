"""`sgtb tune`: trials within a budget, a table, the best model; started again, it goes on."""

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from experiments.starter_data import read_starter
from sgtb.cli.commands.tune import seconds_of
from sgtb.cli.main import app
from sgtb.formats.registry import write_documents
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.training import tuning
from sgtb.starter import KB


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Options of a search that is quick."""
    monkeypatch.setattr(tuning, "MOST_TREES", 3)
    monkeypatch.setitem(tuning.CHOICES, "beam", (1, 2))
    documents = [replace(d, split="") for d in read_starter()["train"][:30]]
    write_documents(documents, tmp_path / "train.jsonl", "jsonl")
    monkeypatch.setattr("sgtb.linking.training.training_data._FEW", tiny())
    return ("tune", "--kb", KB, "--train", tmp_path / "train.jsonl", "-o", tmp_path / "m")


def tiny():
    from sgtb.linking.training.training_data import _FEW

    training = replace(_FEW.training, n_trees=3, check_every=1, threads=1)
    return replace(_FEW, training=training, topic_width=8, bits=10)


def test_a_search_goes_on_where_it_was_stopped(given, tmp_path):
    first = run(*given, "--trials", 2)
    assert "trial 1: bsg, beam 4, depth 3, η 0.1: " in first.stderr
    assert "training with " in first.stderr
    assert re.search(r"warning: dev has \d+ mentions .*, too few to choose by", first.stderr)
    assert "95 % interval of the accuracy" in first.stdout
    assert re.search(r"\d+\.\d% \(\d+-\d+\)", first.stdout), "accuracy with its interval"
    lines = [line.split() for line in first.stdout.splitlines()]
    assert [line[0] for line in lines if line and line[0] in "12"] == ["1", "2"]
    assert sum("*" in line[:2] for line in lines) == 1
    assert len((tmp_path / "m.trials.jsonl").read_text().splitlines()) == 2

    told = json.loads(run(*given, "--trials", 3, "--json", "--quiet").stdout)
    assert len(told["trials"]) == 3
    assert told["state"] == str(tmp_path / "m.trials.jsonl")
    outcomes = [
        tuning.Outcome(**{**one, "trial": tuning.Trial(**one["trial"])}) for one in told["trials"]
    ]
    best = told["trials"][outcomes.index(tuning.simplest_of(outcomes))]
    assert told["plan"] == best["trial"]["plan"]
    model = LinkerModel.load(tmp_path / "m")
    assert model.forest.plan.name == best["trial"]["plan"]
    assert model.forest.trees.learning_rate == best["trial"]["eta"]
    assert model.origin["tuned"] == {"trials": 3, "seed": 0}
    once_more = json.loads(run(*given, "--trials", 3, "--json", "--quiet").stdout)
    assert once_more["trials"] == told["trials"], "nothing was left to do"


@pytest.mark.parametrize(
    ("written", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), (" 2 m ", 120)]
)
def test_times(written, seconds):
    assert seconds_of(written) == seconds


@pytest.mark.parametrize("written", ["", "10", "m", "-1m", "0s", "10 days", "1m30s"])
def test_what_is_no_time(given, written):
    assert "is not a time" in run(*given, "--budget", written, code=2).output


def test_documents_are_needed(given, tmp_path):
    result = run("tune", "--kb", KB, "-o", tmp_path / "m", code=2)
    assert "give training documents" in result.output


def test_a_damaged_state(given, tmp_path):
    (tmp_path / "s").write_text("what?\n")
    result = run(*given, "--state", tmp_path / "s", code=1)
    assert "s, line 1: not a finished trial" in result.stderr
