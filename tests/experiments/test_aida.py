"""The AIDA experiment: counted by hand, and run from end to end in small."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from experiments.aida import (
    PAPER,
    SYSTEMS,
    AidaResult,
    Run,
    as_json,
    checked_plans,
    estimator,
    left_out,
    run_aida,
    spread_of,
)
from experiments.aida_data import Packer
from sgtb.boosting import PLANS, StructuredGradientBoosting
from sgtb.core.errors import SettingsError
from sgtb.evaluation import Accuracy, in_kb_accuracy
from sgtb.linking.features.schema import COLLECTIVE, SCHEMA
from tests.helpers.experiment_builders import aida_of, make_small, with_oddities
from tests.helpers.linking_builders import small_setting


def counts(*correct: int) -> Accuracy:
    """Four mentions in each of some documents."""
    return Accuracy(
        tuple(f"d{i}" for i in range(len(correct))),
        np.array(correct, np.int64),
        np.full(len(correct), 4, np.int64),
    )


def run_of(plan: str, seed: int, test: tuple[int, ...], dev: tuple[int, ...] = (4, 4)) -> Run:
    return Run(plan, seed, counts(*dev), counts(*test), 5, 2.0 + seed, ())


RESULT = AidaResult(
    (
        run_of("local", 0, (1, 2, 3)), run_of("local", 1, (1, 1, 3)),
        run_of("bs", 0, (2, 2, 3)), run_of("bs", 1, (2, 3, 3)),
        run_of("bsg", 0, (4, 4, 3), (2, 4)), run_of("bsg", 1, (4, 4, 4), (4, 4)),
    ),
    1.5, 20.0,
)  # fmt: skip


def test_mean_and_deviation_by_hand():
    assert spread_of([0.5, 0.7]) == {"mean": 60.0, "std": 10.0}
    assert spread_of([0.95125]) == {"mean": 95.12, "std": 0.0}
    assert spread_of([0.9, 0.9, 0.96]) == {"mean": 92.0, "std": 2.83}


def test_counts_of_seeds_are_summed_by_document():
    pooled = RESULT.pooled("local", "test")
    assert pooled.documents == ("d0", "d1", "d2")
    assert pooled.document_correct.tolist() == [2, 3, 6]
    assert pooled.document_total.tolist() == [8, 8, 8]
    assert RESULT.pooled("bsg", "dev").document_correct.tolist() == [6, 8]


def test_plans_are_compared_with_the_one_before_and_the_last_with_the_first():
    found = RESULT.differences()
    assert [(a, b) for a, b, _ in found] == [("local", "bs"), ("bs", "bsg"), ("local", "bsg")]
    points = {(a, b): difference.value for a, b, difference in found}
    assert points["local", "bs"] == pytest.approx((15 - 11) / 24)
    assert points["bs", "bsg"] == pytest.approx((23 - 15) / 24)
    assert points["local", "bsg"] == pytest.approx((23 - 11) / 24)
    for _, _, difference in found:
        assert difference.low <= difference.value <= difference.high
    (pair,) = replace(RESULT, runs=RESULT.runs[2:]).differences()
    assert pair[:2] == ("bs", "bsg")
    assert replace(RESULT, runs=RESULT.runs[:2]).differences() == ()
    dev = {(a, b): difference.value for a, b, difference in RESULT.differences("dev")}
    assert dev["bs", "bsg"] == pytest.approx(-2 / 16)


def test_the_record_by_hand():
    record = as_json(RESULT, 3 * 2**20)
    assert list(record["systems"]) == ["local", "bs", "bsg"]
    bsg = record["systems"]["bsg"]
    assert bsg["test"] == {"mean": 95.83, "std": 4.17, "macro": 95.83}
    assert bsg["dev"] == {"mean": 87.5, "std": 12.5, "macro": 87.5}
    assert bsg["seconds"] == 2.5
    assert bsg["trees"] == [5, 5]
    assert bsg["paper"] == PAPER["bsg"]
    assert record["seeds"] == 2
    assert record["peak_megabytes"] == 3
    assert (record["packing_seconds"], record["seconds"]) == (1.5, 20.0)
    assert record["schema"] == SCHEMA.version
    assert record["ablation"] == []
    assert record["differences"][0] | {"low": 0, "high": 0, "p": 0} == {
        "from": "local", "to": "bs", "points": 16.67, "low": 0, "high": 0, "p": 0,
    }  # fmt: skip


def test_plans_are_checked_and_come_in_their_own_order():
    assert checked_plans(["bsg", "local"]) == ("local", "bsg")
    assert checked_plans(["bsg", "bsg"]) == ("bsg",)
    assert checked_plans(PLANS) == tuple(PLANS)
    with pytest.raises(SettingsError, match="there is no plan 'greedy'; there are local, "):
        checked_plans(["bsg", "greedy"])
    with pytest.raises(SettingsError, match="at least one plan"):
        checked_plans([])


def test_every_plan_has_a_name():
    assert set(SYSTEMS) == set(PLANS)
    assert set(PAPER) < set(PLANS)


def test_a_local_model_looks_at_nothing_beyond_the_mention():
    assert left_out("local") == COLLECTIVE
    assert {left_out(plan) for plan in PLANS if plan != "local"} == {()}


def test_the_system_has_the_plan_and_the_seed_asked_for():
    system = estimator("bs", 7)
    assert isinstance(system, StructuredGradientBoosting)
    assert system.get_params()["plan__name"] == "bs"
    assert system.get_params()["training__seed"] == 7


@pytest.fixture(scope="module")
def setting():
    return with_oddities(small_setting())


@pytest.fixture
def _small(monkeypatch, setting):
    make_small(monkeypatch, setting.words)


@pytest.mark.usefixtures("_small")
def test_from_end_to_end(setting):
    data = aida_of(setting)
    titles = []

    @contextmanager
    def watch(title):
        titles.append(title)
        seen = []
        yield lambda progress: seen.append(progress) and None
        assert [progress.n_trees for progress in seen] == list(range(1, 7))

    result = run_aida(data, Packer(data, None), ("local", "bsg"), 2, watch)
    assert [(run.plan, run.seed) for run in result.runs] == [
        ("local", 0), ("local", 1), ("bsg", 0), ("bsg", 1),
    ]  # fmt: skip
    assert titles == ["local, seed 0", "bsg, seed 0", "local, seed 1", "bsg, seed 1"]
    for run in result.runs:
        for split in ("dev", "test"):
            found = getattr(run, split)
            texts = setting.documents[split]
            assert found.documents == tuple(text.id for text in texts)
            assert found.document_total.tolist() == [len(list(text.in_kb())) for text in texts]
            assert found.document_correct[-1] == 0, "without candidates there is no answer"
            assert found.micro > 0.5
        assert run.n_trees in (3, 6)
        assert [check.n_trees for check in run.checks] == [3, 6]
        best = max(check.dev_accuracy for check in run.checks)
        assert run.dev.micro == pytest.approx(best)
    record = as_json(result, 0)
    for plan in ("local", "bsg"):
        system = record["systems"][plan]
        for split in ("dev", "test"):
            assert {"mean", "std"} <= set(system[split])
            assert 50 < system[split]["mean"] <= 100
        assert system["seconds"] >= 0
    assert record["seeds"] == 2

    again = run_aida(data, Packer(data, None), ("local", "bsg"), 2)
    for one, other in zip(result.runs, again.runs, strict=True):
        assert one.checks == other.checks
        assert one.test.document_correct.tolist() == other.test.document_correct.tolist()


@pytest.mark.usefixtures("_small")
def test_ablation_leaves_out_every_group_once(setting):
    data = aida_of(setting)
    titles = []

    @contextmanager
    def watch(title):
        titles.append(title)
        yield None

    result = run_aida(data, Packer(data, None), ("bs",), 2, watch, ablation=True)
    assert [removal.group for removal in result.removals] == list(SCHEMA.groups)
    assert sum(removal.n_features for removal in result.removals) == len(SCHEMA.features)
    (whole,) = {removal.whole for removal in result.removals}
    assert 0.5 < whole <= 1
    for removal in result.removals:
        assert 0 <= whole + removal.difference.value <= 1
    without = [title for title in titles if "without" in title]
    assert len(without) == len(SCHEMA.groups) + 1, "for the first seed only"
    record = as_json(result, 0)
    assert [row["without"] for row in record["ablation"]] == list(SCHEMA.groups)


@pytest.mark.usefixtures("_small")
def test_no_seeds_are_refused(setting):
    data = aida_of(setting)
    with pytest.raises(SettingsError, match="0 seeds; it must be at least 1"):
        run_aida(data, Packer(data, None), ("bsg",), 0)


def test_a_part_of_the_real_corpus(sample, monkeypatch):
    """A few documents and trees are enough for most of the way."""
    make_small(monkeypatch, sample.words)
    data = aida_of(sample)
    (run,) = run_aida(data, Packer(data, None), ("bsg",), 1).runs
    dev = data.candidates["dev"]
    places = np.where(np.diff(dev.candidate_offsets) > 0, 0, -1)
    prior = in_kb_accuracy(data.documents("dev"), data.answers("dev", places)).micro
    assert run.dev.micro > prior + 0.02
    assert run.test.micro > 0.6
