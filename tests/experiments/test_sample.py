"""The sample: the paper's own features packed, learned from, and held against their prior."""

import json
import lzma
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.commands import app
from experiments.processed_features import PROCESSED_FEATURES, ProcessedDocument, read_processed
from experiments.sample import (
    N_TEST,
    N_TRAIN,
    SAMPLE,
    SampleResult,
    as_json,
    by_prior,
    pack_processed,
    read_sample,
    run_sample,
)
from sgtb.boosting import Problems
from sgtb.boosting.data.pairs import TablePairs
from sgtb.linking.features.schema import SCHEMA
from tests.conftest import part
from tests.helpers.corpus_files import processed_files

RUNNER = CliRunner()


def small(folder: Path) -> tuple[ProcessedDocument, ...]:
    path = folder / "small.jsonl"
    path.write_bytes(processed_files()["small.jsonl"])
    return read_processed(path)


def test_packing_a_small_file(tmp_path: Path) -> None:
    documents = small(tmp_path)
    problems = pack_processed(documents)
    assert (problems.n_documents, problems.n_mentions, problems.n_candidates) == (3, 3, 4)
    assert (problems.n_local, problems.n_pair) == (len(PROCESSED_FEATURES), 1)
    assert problems.mention_offsets.tolist() == [0, 2, 2, 3]
    assert problems.gold.tolist() == [1, -1, 0], "the gold of the second is no candidate"
    features = np.concatenate([m.features for d in documents for m in d.mentions])
    assert np.array_equal(problems.local, features)


def test_the_one_pair_feature_is_being_the_same_entity(tmp_path: Path) -> None:
    problems = pack_processed(small(tmp_path))
    assert isinstance(problems.pairs, TablePairs)
    table = problems.pairs.table
    assert table.vectors.shape == (4, 0)
    for row in range(4):
        first, last = table.link_offsets[0, row : row + 2]
        assert table.link_targets[first:last].tolist() == [row]
        assert table.link_counts[first:last].tolist() == [1.0]
    # Pages 5, 9, 12 and 14: the first document has all but the first, in that order.
    assert problems.pairs.row.tolist() == [1, 2, 3, 0]


def test_the_baseline_takes_the_highest_prior() -> None:
    def row(prior: float) -> list[float]:
        return [prior] + [0.0] * (len(PROCESSED_FEATURES) - 1)

    problems = Problems.from_lists(
        [[[row(0.2), row(0.7), row(0.1)], [], [row(0.5), row(0.5)]]],
        entity=[[[1, 2, 3], [], [1, 4]]],
    )
    assert by_prior(problems).tolist() == [1, -1, 0], "none without candidates; ties to the lower"


@pytest.fixture(scope="module")
def folder(data: Path) -> Path:
    part(data, str(SAMPLE))
    return data


@pytest.fixture(scope="module")
def result(folder: Path) -> SampleResult:
    return run_sample(read_sample(folder), ("local", "bsg", "bibsg"))


def test_the_real_sample_has_forty_documents(folder: Path) -> None:
    documents = read_sample(folder)
    problems = pack_processed(documents)
    assert problems.n_documents == N_TRAIN + N_TEST == 40
    assert (problems.n_mentions, problems.n_candidates) == (665, 5305)


def test_plans_do_better_than_the_prior(result: SampleResult) -> None:
    assert [run.plan for run in result.runs] == ["local", "bsg", "bibsg"]
    assert result.recall.total + result.n_train_mentions == 665
    for run in result.runs:
        assert len(run.test.documents) == N_TEST
        assert run.test.total == result.recall.total
        assert result.baseline.micro < run.test.micro <= result.recall.share


def test_a_second_run_is_the_same(folder: Path, result: SampleResult) -> None:
    again = run_sample(read_sample(folder), ("bsg",))
    bsg = result.runs[1].test
    assert np.array_equal(again.runs[0].test.document_correct, bsg.document_correct)


def test_intervals_hold_their_value(result: SampleResult) -> None:
    record = as_json(result)
    for row in (record["baseline"], *record["systems"].values()):
        assert row["low"] < row["accuracy"] < row["high"]


def test_the_page_names_every_feature_and_none_that_is_gone() -> None:
    page = (Path(__file__).parents[2] / "docs" / "experiments" / "sample.md").read_text("utf-8")
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| `")]
    theirs, _, ours = (
        re.findall(r"`(\w+)`", " ".join(column)) for column in zip(*rows, strict=True)
    )
    assert sorted(theirs) == sorted(PROCESSED_FEATURES)
    assert set(ours) <= set(SCHEMA.names)


def run(folder: Path, *arguments: str) -> Any:
    return RUNNER.invoke(app, ["sample", "--data", str(folder), *arguments])


def test_the_command_prints_plans_beside_the_prior(folder: Path) -> None:
    shown = run(folder)
    assert shown.exit_code == 0, shown.output
    rows = [line.split()[0] for line in shown.stdout.splitlines() if " to " in line]
    assert rows == ["highest", "local", "bsg", "bibsg"]
    assert "so few documents cannot tell plans apart" in " ".join(shown.stdout.split())


def test_the_command_prints_json(folder: Path) -> None:
    shown = run(folder, "--plans", "bs", "--json")
    assert (shown.exit_code, shown.stderr) == (0, "")
    record = json.loads(shown.stdout)
    assert list(record["systems"]) == ["bs"]
    assert set(record["systems"]["bs"]) == {"accuracy", "low", "high", "seconds"}
    assert record["baseline"]["feature"] == "prior_1"
    assert record["train"]["documents"] == 30
    assert record["test"]["documents"] == 10


def test_errors_are_one_line(tmp_path: Path) -> None:
    assert_clean_failure(run(tmp_path, "--plans", "best"), "no plan 'best'")
    assert_clean_failure(run(tmp_path), f"{SAMPLE}: cannot be read")
    (tmp_path / SAMPLE).parent.mkdir()
    (tmp_path / SAMPLE).write_bytes(lzma.compress(processed_files()["small.jsonl"]))
    assert_clean_failure(run(tmp_path), "3 documents, while the sample has 40")


def assert_clean_failure(result: Any, words: str) -> None:
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("sgtb: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
