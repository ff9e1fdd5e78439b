"""The command line: what it prints, where, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sgtb
from benchmarks.generated_corpus import CorpusShape, generate_splits
from sgtb.boosting import Problems, StructuredGradientBoosting, TrainingSettings
from sgtb.cli.commands import learner
from sgtb.cli.main import app

RUNNER = CliRunner()


def run(*arguments: object) -> Any:
    return RUNNER.invoke(app, ["learner", *map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny corpus on disk, and a model of it."""
    path = tmp_path_factory.mktemp("cli")
    splits = generate_splits(CorpusShape.tiny(), 0, dev=3, test=4)
    for name in ("train", "dev", "test"):
        getattr(splits, name).save(path / f"{name}.problems")
    model = StructuredGradientBoosting("bsg", training=TrainingSettings(n_trees=6, check_every=2))
    model.fit(splits.train, splits.dev).save(path / "bsg.model")
    return path


def assert_clean_failure(result: Any, *words: str) -> None:
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("sgtb: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def test_version_and_help() -> None:
    assert RUNNER.invoke(app, ["--version"]).stdout == f"sgtb {sgtb.__version__}\n"
    assert "learner" in RUNNER.invoke(app, ["--help"]).stdout
    for command in ("train", "predict", "info"):
        shown = run(command, "--help")
        assert shown.exit_code == 0
        assert f"sgtb learner {command}" in shown.stdout, "help shows an example"


def test_train_then_info_then_predict(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.model"
    trained = run(
        "train", folder / "train.problems", "-o", model, "--dev", folder / "dev.problems",
        "--plan", "bibsg", "--beam-width", 2, "--rounds", 1, "--trees", 4, "--check-every", 2,
        "--depth", 2, "--min-leaf", 2, "--learning-rate", 0.5, "--l2", 1,
        "--feature-share", 0.5, "--seed", 7,
    )  # fmt: skip
    assert trained.exit_code == 0
    assert "bibsg" in trained.stdout
    assert "dev accuracy" in trained.stdout
    assert "2/4 trees" in trained.stderr, "plain lines where there is no terminal"

    told = json.loads(run("info", model, "--json").stdout)
    assert told["plan"] == {"name": "bibsg", "beam_width": 2, "rounds": 1}
    assert told["trees"]["depth"] == 2
    assert told["trees"]["min_leaf"] == 2
    assert told["trees"]["learning_rate"] == 0.5
    assert told["trees"]["l2"] == 1.0
    assert told["trees"]["feature_share"] == 0.5
    assert StructuredGradientBoosting.load(model).model.training.seed == 7
    assert [check["n_trees"] for check in told["history"]] == [2, 4]
    shown = run("info", model).stdout
    assert "bibsg" in shown
    assert "dev accuracy" in shown

    documents = Problems.load(folder / "test.problems")
    predicted = json.loads(run("predict", model, folder / "test.problems", "--json").stdout)
    estimator = StructuredGradientBoosting.load(model)
    choices = [choice for document in predicted["documents"] for choice in document["choices"]]
    assert choices == estimator.predict(documents).tolist()
    assert predicted["accuracy"] == estimator.score(documents)
    plain = run("predict", model, folder / "test.problems").stdout
    assert f"accuracy {predicted['accuracy']:.2%}" in plain


def test_train_is_quiet_if_asked(folder: Path, tmp_path: Path) -> None:
    result = run(
        "train", folder / "train.problems", "-o", tmp_path / "m", "--trees", 2, "--quiet"
    )  # fmt: skip
    assert result.exit_code == 0
    assert result.stderr == ""


def test_train_goes_on_from_its_checkpoint(folder: Path, tmp_path: Path) -> None:
    arguments = ["--trees", 4, "--check-every", 2, "--checkpoint", tmp_path / "state"]
    train = folder / "train.problems"
    assert run("train", train, "-o", tmp_path / "a", *arguments).exit_code == 0
    again = run("train", train, "-o", tmp_path / "b", *arguments)
    assert again.exit_code == 0
    assert "2/4 trees" not in again.stderr
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    other = run("train", train, "-o", tmp_path / "c", *arguments, "--depth", 2)
    assert_clean_failure(other, "checkpoint", "delete it")


def test_predict_without_gold_says_so(folder: Path, tmp_path: Path) -> None:
    Problems.from_lists([[]]).save(tmp_path / "empty.problems")
    unlike = run("predict", folder / "bsg.model", tmp_path / "empty.problems")
    assert_clean_failure(unlike, "0 local features")

    known = Problems.load(folder / "test.problems")
    unknown = Problems(
        known.mention_offsets, known.candidate_offsets, known.gold * 0 - 1, known.entity,
        known.entity_offsets, known.local, known.pairs,
    )  # fmt: skip
    unknown.save(tmp_path / "unknown.problems")
    arguments = ("predict", folder / "bsg.model", tmp_path / "unknown.problems")
    assert "accuracy unknown" in run(*arguments).stdout
    assert json.loads(run(*arguments, "--json").stdout)["accuracy"] is None


def test_errors_are_one_line(folder: Path, tmp_path: Path) -> None:
    train, model, out = folder / "train.problems", folder / "bsg.model", tmp_path / "out"
    assert_clean_failure(run("info", tmp_path / "absent.model"), "absent.model", "No such file")
    assert_clean_failure(run("info", tmp_path), "not a file")
    assert_clean_failure(run("info", train), "no model file")
    assert_clean_failure(run("predict", model, model), "no problems file")
    assert_clean_failure(run("train", tmp_path / "absent", "-o", out), "absent")
    assert_clean_failure(run("train", train, "-o", out, "--plan", "greedy"), "greedy", "bibsg")
    assert_clean_failure(run("train", train, "-o", out, "--depth", 99), "depth is 99")
    assert_clean_failure(run("train", train, "-o", out, "--feature-share", 0), "0.001 to 1")
    assert_clean_failure(run("train", train, "-o", out, "--seed", -1), "seed is -1")
    assert_clean_failure(run("train", train, "-o", tmp_path / "no" / "m"), "no folder")
    assert_clean_failure(run("train", train, "-o", tmp_path), "folder")
    assert not out.exists()
    (tmp_path / "text.model").write_text("not a model")
    assert_clean_failure(run("info", tmp_path / "text.model"), "text.model")


def test_usage_errors_end_with_2() -> None:
    assert run("no-such-command").exit_code == 2
    assert run("train").exit_code == 2


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "sgtb: stopped\n"),
        (PermissionError(13, "No access", "m.model"), 1, "sgtb: m.model: No access\n"),
        (MemoryError(), 1, "sgtb: out of memory\n"),
        (
            RuntimeError("two\nlines"),
            1,
            "sgtb: a bug in sgtb: RuntimeError: two lines (SGTB_DEBUG=1 shows where)\n",
        ),
    ],
)  # fmt: skip
def test_whatever_happens_the_end_is_clean(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, line: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.delenv("SGTB_DEBUG", raising=False)
    monkeypatch.setattr(learner.StructuredGradientBoosting, "load", fail)
    result = run("info", "m.model")
    assert (result.exit_code, result.stderr) == (code, line)


def test_as_a_program(folder: Path) -> None:
    def sgtb_program(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).parent / "sgtb"), "learner", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    good = sgtb_program("info", folder / "bsg.model", "--json")
    assert good.returncode == 0
    assert json.loads(good.stdout)["plan"]["name"] == "bsg"
    assert good.stderr == ""
    bad = sgtb_program("info", folder / "absent.model")
    assert bad.returncode == 1
    assert bad.stdout == ""
    assert bad.stderr.startswith("sgtb: ")
    assert "Traceback" not in bad.stderr


@pytest.mark.parametrize("loads", ["", "import duckdb; duckdb.sql('select 1').fetchall()"])
def test_a_process_ends_without_a_word_about_what_it_leaves(loads: str) -> None:
    code = (
        f"import sys; {loads}\nfrom sgtb.cli.main import app\nsys.argv = ['', '--version']\napp()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("sgtb")
    assert done.stderr == ""
