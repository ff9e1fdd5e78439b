"""The command `python -m experiments aida`: what it prints, what it writes, and how it fails."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from experiments.aida_data import AidaData
from experiments.commands import app
from tests.helpers.experiment_builders import aida_of, make_small, with_oddities
from tests.helpers.linking_builders import small_setting

RUNNER = CliRunner()


def run(*arguments):
    return RUNNER.invoke(app, ["aida", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for data and cache; what is read from it is the small world."""
    setting = with_oddities(small_setting())
    make_small(monkeypatch, setting.words)

    def read(folder, say):
        say("reading")
        return aida_of(setting)

    monkeypatch.setattr(AidaData, "read", read)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_json_on_standard_output_and_talk_elsewhere(folder):
    result = run("--data", folder, "--plans", "bsg,local", "--seeds", 2, "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert list(record["systems"]) == ["local", "bsg"]
    for system in record["systems"].values():
        assert set(system) >= {"dev", "test", "seconds"}
        for split in ("dev", "test"):
            assert 0 <= system[split]["mean"] <= 100
            assert system[split]["std"] >= 0
    assert record["seeds"] == 2
    assert record["peak_megabytes"] > 10
    assert "sgtb: reading" in result.stderr
    assert len(list((folder / "cache" / "sgtb").iterdir())) == 2, "a file for each seed"
    again = run("--data", folder, "--plans", "bsg,local", "--seeds", 2, "--json")
    assert "seed 1: from" in again.stderr
    for plan, system in json.loads(again.stdout)["systems"].items():
        assert system | {"seconds": 0} == record["systems"][plan] | {"seconds": 0}


def test_refitted_systems_stand_beside_those_that_dev_chose(folder):
    given = ("--data", folder, "--plans", "bsg", "--json", "--quiet")
    before, after = (json.loads(run(*given, *more).stdout) for more in ((), ("--refit",)))
    (chosen,), (refitted,) = before["systems"].values(), after["systems"].values()
    assert "refitted" not in chosen
    assert 0 < refitted["refitted"]["mean"] <= 100
    for key in ("dev", "test", "trees"):
        assert refitted[key] == chosen[key], "the training without dev is the same"
    assert len(list((folder / "cache" / "sgtb").iterdir())) == 2, "features with dev are others"


def test_a_table_for_people(folder):
    result = run("--data", folder, "--plans", "local, laso", "--no-cache", "--quiet")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row for row in rows if "local" in row and "93.1" in row]
    assert [row for row in rows if "laso" in row and "–" in row]
    assert "local → laso" in result.stdout
    assert not (folder / "cache").exists()


def test_a_report_in_a_folder(folder):
    out = folder / "a" / "report"
    cache = folder / "here"
    result = run("--data", folder, "--plans", "local,bsg", "--cache", cache, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    assert sorted(file.name for file in out.iterdir()) == [
        "ablation.png", "aida.json", "aida.md", "curves.png",
    ]  # fmt: skip
    assert json.loads((out / "aida.json").read_text()) == json.loads(result.stdout)
    assert f"sgtb: written: {out}" in result.stderr
    assert len(list(cache.iterdir())) == 1


def assert_one_line(result, *words):
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("sgtb: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def test_errors_are_one_line(tmp_path):
    assert_one_line(run("--data", tmp_path), "AIDA-YAGO2-annotations.tsv", "no such file", "--data")
    assert_one_line(run("--data", tmp_path, "--plans", "bsg,greedy"), "'greedy'", "bibsg")
    assert_one_line(run("--data", tmp_path, "--plans", ","), "at least one plan")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "absent"], ["--data", "absent", "does not exist"]),
        (["--data", __file__], ["--data"]),
        (["--data", ".", "--seeds", "0"], ["--seeds"]),
        (["--data", ".", "--seeds", "many"], ["--seeds"]),
        ([], ["--data"]),
    ],
)
def test_wrong_usage_is_named_and_ends_with_2(arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr


def test_a_file_where_the_report_should_go_is_refused_before_any_work(folder):
    (folder / "report").write_text("mine")
    result = run("--data", folder, "--out", folder / "report")
    assert result.exit_code == 2
    assert "--out" in result.stderr
    assert "sgtb: reading" not in result.stderr


def test_as_a_program(tmp_path):
    command = [sys.executable, "-m", "experiments", "aida", "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("sgtb: ")
    assert done.stderr.count("\n") == 1
