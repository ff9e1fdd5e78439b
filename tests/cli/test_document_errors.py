"""--on-error: one bad document stops a command, or is skipped, counted and listed."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from experiments.starter_data import read_starter
from sgtb.cli.main import app
from sgtb.core.errors import CorpusError
from sgtb.evaluation.linkers import IncompleteEvaluationError, data_sets, evaluate_linkers
from sgtb.formats.registry import read_documents, write_documents
from sgtb.linking.linker import Linker
from sgtb.linking.training import training_data
from sgtb.starter import KB, MODEL

BAD = {"id": "bad", "text": "Jordan won.", "mentions": [{"start": 90, "end": 96, "gold": "x"}]}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Five good documents in each of three files, and a bad one in the second."""
    folder = tmp_path_factory.mktemp("files")
    documents = [replace(document, split="") for document in read_starter()["train"][:40]]
    for name, some in (("one", documents[:5]), ("two", documents[5:10]), ("three", documents[10:])):
        write_documents(some, folder / f"{name}.jsonl", "jsonl")
    lines = (folder / "two.jsonl").read_text().splitlines()
    lines[2:2] = [json.dumps(BAD)]
    (folder / "two.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def skipped(stderr):
    """The lines about what was skipped."""
    _, _, rest = stderr.partition("skipped, cannot be read: ")
    return rest.splitlines()


def test_an_evaluation_keeps_the_results_of_the_other_sets(files):
    paths = [files / f"{name}.jsonl" for name in ("one", "two", "three")]
    result = run("evaluate", *paths, "--json", "--quiet", "--samples", 39, code=1)
    assert "two.jsonl, line 3: " in result.stderr
    assert list(json.loads(result.stdout)["sets"]) == ["one", "three"]
    result = run("evaluate", *paths, "--from-text", "--json", "-q", "--samples", 39, code=1)
    assert list(json.loads(result.stdout)["sets"]) == ["one", "three"]


def test_an_evaluation_skips_bad_documents(files):
    paths = [files / f"{name}.jsonl" for name in ("one", "two")]
    options = ("--on-error", "skip", "--json", "--quiet", "--samples", 39, "--baselines")
    result = run("evaluate", *paths, *options)
    found = json.loads(result.stdout)["sets"]
    assert [one["documents"] for one in found.values()] == [5, 6], "without its mention"
    count, line = skipped(result.stderr)
    assert (count, "two.jsonl, line 3: the mention 90 to 96" in line) == ("1:", True)


def test_the_error_of_an_evaluation_has_the_finished_scores(files):
    sets = data_sets([files / "two.jsonl", files / "one.jsonl"])
    with Linker(MODEL, KB) as linker:
        with pytest.raises(IncompleteEvaluationError, match=r"two.jsonl, line 3") as caught:
            evaluate_linkers({"a": linker}, sets)
        assert isinstance(caught.value, CorpusError)
        assert [one.name for one in caught.value.finished.sets] == ["one"]
        with pytest.raises(IncompleteEvaluationError) as caught:
            evaluate_linkers({"a": linker, "b": linker}, {"two": sets["two"]}, baselines=["prior"])
        assert caught.value.finished.sets == ()


def test_a_conversion_skips_bad_documents(files, tmp_path):
    target = tmp_path / "out.ttl"
    assert "line 3" in run("convert", files / "two.jsonl", target, code=1).stderr
    assert not target.exists()
    result = run("convert", files / "two.jsonl", target, "--on-error", "skip")
    assert skipped(result.stderr)[0] == "1:"
    assert len(list(read_documents(target))) == 6


def test_training_and_tuning_skip_bad_documents(files, tmp_path, monkeypatch):
    small = replace(training_data._FEW, topic_width=8, bits=10)
    monkeypatch.setattr(training_data, "_FEW", small)
    model = tmp_path / "my.model"
    given = ("--kb", KB, "--train", files / "three.jsonl", "--train", files / "two.jsonl")
    options = ("-o", model, "--threads", 1, "--folds", 2)
    for command, own in (("train", ("--trees", 2)), ("tune", ("--trials", 1))):
        assert "line 3" in run(command, *given, *options, *own, code=1).stderr
        assert not model.exists()
        if command == "train":
            result = run(command, *given, *options, *own, "--on-error", "skip")
            assert "two.jsonl, line 3" in skipped(result.stderr)[1]
            assert model.exists()
            model.unlink()


def test_linking_skips_bad_lines_and_files(tmp_path):
    lines = [
        json.dumps({"text": "Jordan is a country."}), json.dumps({"text": "x" * 30_000}), "{",
        json.dumps({"text": "Jordan", "mentions": [{"start": 9, "end": 12}]}), "\udcff",
        json.dumps({"text": "Amman", "mentions": [{"start": 0, "end": 5, "fixed": "nobody"}]}),
        json.dumps({"text": "Amman is in Jordan."}),
    ]  # fmt: skip
    path = tmp_path / "in.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    torn = tmp_path / "torn.txt.gz"
    torn.write_bytes(b"\x1f\x8b\x08\0torn")
    assert "line 3" in run("link", path, "--json", code=1).stderr
    result = run("link", path, torn, "--json", "--quiet", "--on-error", "skip")
    ids = [json.loads(line)["id"] for line in result.stdout.splitlines()]
    assert [id_.rpartition(":")[2] for id_ in ids] == ["1", "2", "7"]
    count, *listed = skipped(result.stderr)
    assert count == "5:"
    places = ("line 3: not JSON", "line 4, mention 1", "line 5: byte", "line 6: ", "gz: damaged")
    assert all(any(place in line for line in listed) for place in places), listed


def test_the_list_is_short_and_the_count_is_not(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("{\n" * 50)
    result = run("link", path, "--on-error", "skip", "--json", "-q")
    assert (result.stdout, skipped(result.stderr)[0]) == ("", "50; the first 20:")
    assert len(skipped(result.stderr)) == 21


def test_other_choices_are_refused(files, tmp_path):
    result = run("convert", files / "one.jsonl", tmp_path / "a.ttl", "--on-error", "warn", code=2)
    assert "none of stop, skip" in result.output
