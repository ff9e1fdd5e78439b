"""The search for settings: the same trials in the same order, also after it was stopped."""

import json
import math
from dataclasses import asdict, replace

import pytest

from sgtb.boosting import TrainingSettings
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.linking.training import tuning
from sgtb.linking.training.linker_training import prepare
from sgtb.linking.training.tuning import (
    CHOICES,
    Budget,
    Outcome,
    Trial,
    TrialFile,
    best_of,
    fingerprint,
    next_trial,
    simplest_of,
    tune_linker,
)
from tests.helpers.trained_linkers import QUICK

BASE = replace(QUICK, training=TrainingSettings(n_trees=3, check_every=1, threads=1), bits=6)
FIRST = Trial("bsg", 4, 3, 0.1)


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(tuning, "MOST_TREES", 3)
    monkeypatch.setitem(CHOICES, "beam", (1, 2))
    monkeypatch.setitem(CHOICES, "depth", (2, 3))


@pytest.fixture(scope="module")
def prepared(starter_kb, starter):
    return prepare(starter_kb, starter["train"][:40], starter["dev"][:15], BASE)


def outcome(trial, right, loss=1.0, trees=5, seconds=1.0):
    return Outcome(trial, right, 100, loss, trees, seconds)


def same(outcomes):
    """All that does not depend on the clock."""
    return [replace(one, seconds=0.0) for one in outcomes]


def test_the_first_trial_is_what_was_given(prepared):
    (only,) = tune_linker(prepared, BASE, Budget(trials=1))
    assert only.trial == Trial("bsg", 3, 3, 0.3) == Trial.of(BASE)
    assert 0 < only.right <= only.asked
    assert only.asked == (prepared.dev.layout.candidates.gold >= 0).sum()
    assert only.accuracy == only.right / only.asked
    assert 1 <= only.n_trees <= 3
    assert 0 < only.log_loss < math.inf


def test_a_search_that_was_stopped_goes_on_as_if_it_had_not_been(prepared, tmp_path):
    whole = list(tune_linker(prepared, BASE, Budget(trials=5), TrialFile(tmp_path / "whole")))
    assert len({one.trial for one in whole}) == 5
    file = TrialFile(tmp_path / "state")
    assert same(tune_linker(prepared, BASE, Budget(trials=2), file)) == same(whole[:2])
    with open(file.path, "ab") as torn:  # killed while it wrote
        torn.write(b'{"data": "')
    searched = []
    watched = tune_linker(
        prepared, BASE, Budget(trials=5), file, lambda trial, progress: searched.append(trial)
    )
    assert same(watched) == same(whole)
    assert set(searched) == {one.trial for one in whole[2:]}
    assert len(file.path.read_text().splitlines()) == 5
    assert next(tune_linker(prepared, BASE, Budget(trials=5), file)).seconds > 0


def test_trials_of_other_documents_do_not_count(prepared, starter_kb, starter, tmp_path):
    file = TrialFile(tmp_path / "state")
    other = replace(prepared, dev=prepared.train)
    assert fingerprint(other, BASE) != fingerprint(prepared, BASE)
    assert fingerprint(prepared, replace(BASE, without=("type",))) != fingerprint(prepared, BASE)
    threads = replace(BASE, training=replace(BASE.training, threads=2))
    assert fingerprint(prepared, threads) == fingerprint(prepared, BASE)
    list(tune_linker(other, BASE, Budget(trials=1), file))
    assert len(list(tune_linker(prepared, BASE, Budget(trials=1), file))) == 1
    assert len(file.path.read_text().splitlines()) == 2


def test_time_that_is_up(prepared, tmp_path):
    file = TrialFile(tmp_path / "state")
    short = Budget(seconds=1e-6)
    assert len(list(tune_linker(prepared, BASE, short, file))) == 1, "the first is always made"
    assert len(list(tune_linker(prepared, BASE, short, file))) == 1, "and counts"
    spent = [outcome(FIRST, 1, seconds=4.0)]
    assert Budget(10).left(spent) == 6
    assert Budget(10, trials=1).left(spent) == 0
    # A trial is given up when its time is over, and not remembered.
    record = asdict(outcome(Trial.of(BASE), 1, seconds=0.0))
    fresh = TrialFile(tmp_path / "fresh")
    fresh.append(fingerprint(prepared, BASE), record)
    assert len(list(tune_linker(prepared, BASE, short, fresh))) == 1
    assert len(fresh.path.read_text().splitlines()) == 1


def test_the_best_is_right_most_often_then_surest_then_smallest():
    a, b = FIRST, Trial("local", 4, 3, 0.1)
    assert best_of([outcome(a, 5), outcome(b, 6)]).trial == b
    assert best_of([outcome(a, 5, 0.3), outcome(b, 5, 0.2)]).trial == b
    assert best_of([outcome(a, 5, trees=9), outcome(b, 5, trees=8)]).trial == b
    assert best_of([outcome(a, 5), outcome(b, 5)]).trial == a
    with pytest.raises(ProblemsError, match="no trial"):
        best_of([])


def test_of_trials_that_dev_cannot_tell_apart_the_simplest_is_kept():
    small, large = Trial("bs", 2, 2, 0.1), Trial("bibsg", 2, 3, 0.1)
    worse, best = outcome(small, 88), outcome(large, 90)  # a standard error is 3 points
    far = outcome(FIRST, 80)
    assert simplest_of([far, best, worse]) is worse
    assert simplest_of([outcome(FIRST, 88), best, worse]).trial is FIRST, "needs no tuning"
    assert simplest_of([far, best, outcome(small, 86)]) is best
    assert best_of([far, best, worse]) is best
    low, high = best.interval
    assert low < 0.9 < high
    few = [Outcome(trial, n, 12, 1.0, 5, 1.0) for trial, n in ((FIRST, 9), (large, 12))]
    assert simplest_of(few) is few[0], "12 mentions: the intervals overlap"
    clear = [Outcome(trial, n, 12, 1.0, 5, 1.0) for trial, n in ((FIRST, 2), (large, 12))]
    assert simplest_of(clear) is clear[1]


def test_every_other_trial_looks_around_the_best():
    outcomes = [outcome(FIRST, 0)]
    near = 0
    for number in range(1, 30):
        trial = next_trial(outcomes, FIRST, seed=5)
        assert trial is not None
        assert trial == next_trial(outcomes, FIRST, seed=5)
        assert trial not in {one.trial for one in outcomes}
        best = best_of(outcomes).trial
        differing = sum(getattr(trial, name) != getattr(best, name) for name in CHOICES)
        near += number >= 3 and number % 2 == 0 and differing == 1
        outcomes.append(outcome(trial, number))
    assert near >= 10
    assert next_trial(outcomes[:1], FIRST, 5) != next_trial(outcomes[:1], FIRST, 6)


def test_a_search_ends_when_all_was_tried(monkeypatch):
    for name, values in (
        ("plan", ("local", "bsg")),
        ("beam", (2,)),
        ("depth", (2,)),
        ("eta", (1,)),
    ):
        monkeypatch.setitem(CHOICES, name, values)
    tried = []
    while (trial := next_trial(tried, FIRST, 0)) is not None:
        tried.append(outcome(trial, 1))
    assert {one.trial.plan for one in tried} == {"local", "bsg"}
    assert len(tried) == 3, "the first, and one of each plan"


def test_without_dev_there_is_nothing_to_choose_by(prepared):
    with pytest.raises(ProblemsError, match="dev documents"):
        next(tune_linker(replace(prepared, dev=None), BASE, Budget(trials=1)))


@pytest.mark.parametrize(("seconds", "trials"), [(0, None), (-1, None), (math.nan, 1), (10, 0)])
def test_impossible_budgets(seconds, trials):
    with pytest.raises(SettingsError, match="budget"):
        Budget(seconds, trials)


@pytest.mark.parametrize(
    "line", ["no JSON", "[]", "{}", '{"data": 1, "trial": {}}', '{"data": "a", "trial": 1}', "\x00"]
)
def test_a_file_that_is_no_state_is_refused(tmp_path, line):
    path = tmp_path / "state"
    path.write_text(json.dumps({"data": "a", "trial": {}}) + "\n" + line + "\n")
    with pytest.raises(SettingsError, match="state, line 2: not a finished trial"):
        TrialFile(path).records("a")


def test_a_trial_of_another_release_is_refused(prepared, tmp_path):
    file = TrialFile(tmp_path / "state")
    file.append(fingerprint(prepared, BASE), {"trial": {"plan": "bsg"}})
    with pytest.raises(SettingsError, match="not of this release"):
        next(tune_linker(prepared, BASE, Budget(trials=1), file))


def test_settings_of_a_trial():
    chosen = Trial("bibsg", 2, 5, 0.5).settings(BASE)
    assert (chosen.plan.name, chosen.plan.beam_width) == ("bibsg", 2)
    assert (chosen.trees.depth, chosen.trees.learning_rate) == (5, 0.5)
    assert chosen.trees.min_leaf == BASE.trees.min_leaf
    assert Trial("local", 9, 5, 0.5).settled() == Trial("local", 4, 5, 0.5)
    with pytest.raises(SettingsError, match="unknown plan"):
        Trial("beams", 1, 1, 0.1)
