"""Tuning: a search for plan, beam, depth, η and number of trees, judged on dev documents.

Features are made once; a trial grows trees on them and is judged by what it gets right on dev.
The number of trees needs no trials of its own: dev is looked at after every few trees of each.

The first trial is that of the settings given. Those that follow are drawn at random, or differ in
one thing from the best so far, by turns. What is drawn depends on the seed and on the trials that
are finished, and on nothing else: a search that was stopped goes on as if it had not been.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.boosting.search.plan import PLANS, PlanName, SearchPlan
from sgtb.boosting.trainer import accuracy_of
from sgtb.boosting.training_progress import TrainingProgress
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.linking.training.linker_training import LinkerTraining, Prepared
from sgtb.linking.training.trial_file import TrialFile

CHOICES: dict[str, tuple[Any, ...]] = {
    "plan": get_args(PlanName),
    "beam": (1, 2, 4, 8, 16),
    "depth": (2, 3, 4, 5, 6),
    "eta": (0.03, 0.05, 0.1, 0.2, 0.3, 0.5),
}
"""What a search may choose, in an order in which neighbours are alike."""
MOST_TREES = 800
_REDRAWS = 1000
_FIRST = 3
"""Trials before the best so far is worth looking around."""


@dataclass(frozen=True)
class Trial:
    """What a trial trains with."""

    plan: PlanName
    beam: int
    depth: int
    eta: float

    def __post_init__(self) -> None:
        if self.plan not in PLANS:
            raise SettingsError(f"unknown plan {self.plan!r}; choose one of {', '.join(PLANS)}")

    @classmethod
    def of(cls, settings: LinkerTraining) -> "Trial":
        """Return the trial of some settings."""
        trees = settings.trees
        return cls(settings.plan.name, settings.plan.beam_width, trees.depth, trees.learning_rate)

    def __str__(self) -> str:
        return f"{self.plan}, beam {self.beam}, depth {self.depth}, η {self.eta:g}"

    def settled(self) -> "Trial":
        """Return the trial with the usual beam where a plan has no use for one."""
        return self if self.plan != "local" else replace(self, beam=SearchPlan().beam_width)

    def settings(self, base: LinkerTraining) -> LinkerTraining:
        """Return settings that are those of the trial where it has a say."""
        return replace(
            base,
            plan=replace(base.plan, name=self.plan, beam_width=self.beam),
            trees=replace(base.trees, depth=self.depth, learning_rate=self.eta),
            training=replace(base.training, n_trees=max(MOST_TREES, base.training.n_trees)),
        )


@dataclass(frozen=True)
class Outcome:
    """A finished trial.

    right     mentions of dev decided right
    asked     mentions of dev whose gold is among their candidates
    log_loss  mean of -log of the probability of the gold, over these
    n_trees   trees that did best on dev
    seconds   it took
    """

    trial: Trial
    right: int
    asked: int
    log_loss: float
    n_trees: int
    seconds: float

    @property
    def accuracy(self) -> float:
        """The share that is right."""
        return self.right / max(self.asked, 1)

    @property
    def rank(self) -> tuple[float, ...]:
        """Smaller is better: what is right, then the log loss, then fewer trees."""
        return -self.right, self.log_loss, self.n_trees


@dataclass(frozen=True)
class Budget:
    """How long to search: seconds of all trials together, and how many trials at most."""

    seconds: float = math.inf
    trials: int | None = None

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise SettingsError(f"a budget of {self.seconds} seconds; it must be more than 0")
        if self.trials is not None and self.trials < 1:
            raise SettingsError(f"a budget of {self.trials} trials; it must be at least 1")

    def left(self, outcomes: Sequence[Outcome]) -> float:
        """Return the seconds that are left; none is left after the last trial."""
        if self.trials is not None and len(outcomes) >= self.trials:
            return 0.0
        return self.seconds - sum(outcome.seconds for outcome in outcomes)


Watch = Callable[[Trial, TrainingProgress], None]
"""Told after every tree of a trial."""


def tune_linker(
    prepared: Prepared,
    base: LinkerTraining,
    budget: Budget,
    file: TrialFile | None = None,
    watch: Watch = lambda trial, progress: None,
) -> Iterator[Outcome]:
    """Yield trials as they are finished, those that `file` remembers first.

    A trial that the budget does not last for is given up, unless it is the first.

    base  the first trial, and all that a search does not choose; its seed is that of the draws
    file  remembers finished trials of these very documents
    """
    if prepared.dev is None or not (prepared.dev.layout.candidates.gold >= 0).any():
        raise ProblemsError(
            "tuning needs dev documents with mentions whose gold is among their candidates"
        )
    key = fingerprint(prepared, base)
    outcomes = [] if file is None else [_read(record, file) for record in file.records(key)]
    yield from outcomes
    runner = _TrialRunner(prepared, base, watch)
    while (left := budget.left(outcomes)) > 0:
        trial = next_trial(outcomes, Trial.of(base).settled(), base.seed)
        if trial is None:
            return
        outcome = runner.run(trial, left if outcomes else math.inf)
        if outcome is None:
            return
        outcomes.append(outcome)
        if file is not None:
            file.append(key, asdict(outcome))
        yield outcome


def best_of(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the best trial, the first of equals."""
    if not outcomes:
        raise ProblemsError("no trial was finished")
    return min(outcomes, key=lambda outcome: outcome.rank)


def next_trial(outcomes: Sequence[Outcome], first: Trial, seed: int) -> Trial | None:
    """Return what to try next; None: all has been tried."""
    if not outcomes:
        return first
    tried = {outcome.trial for outcome in outcomes}
    rng = np.random.default_rng((seed, len(outcomes)))
    near = len(outcomes) >= _FIRST and len(outcomes) % 2 == 0
    best = best_of(outcomes).trial
    for attempt in range(_REDRAWS):
        # All around the best may have been tried.
        drawn = _neighbour(best, rng) if near and attempt < _REDRAWS // 2 else _drawn(rng)
        if drawn not in tried:
            return drawn
    return None


def fingerprint(prepared: Prepared, base: LinkerTraining) -> str:
    """Return a digest of documents, features and settings that all trials have in common."""
    digest = hashlib.sha256(prepared.pipeline.kb.state.fingerprint.encode())
    fixed = Trial("local", 1, 1, 1.0).settings(base)
    settings = asdict(replace(fixed, training=replace(fixed.training, threads=None)))
    digest.update(json.dumps(settings, sort_keys=True).encode())
    for featured in (prepared.train, prepared.dev):
        if featured is not None:
            candidates = featured.layout.candidates
            for array in (
                candidates.mention_offsets, candidates.candidate_offsets, candidates.entity,
                candidates.gold, featured.features,
            ):  # fmt: skip
                digest.update(f"{array.dtype}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _drawn(rng: np.random.Generator) -> Trial:
    return Trial(**{name: _one_of(values, rng) for name, values in CHOICES.items()}).settled()


def _neighbour(trial: Trial, rng: np.random.Generator) -> Trial:
    """Return a trial that differs in one thing: another plan, or the next of another setting."""
    name = _one_of(tuple(CHOICES), rng)
    values, now = CHOICES[name], getattr(trial, name)
    if name == "plan":
        others = tuple(value for value in values if value != now)
    else:  # what was given need not be one of the choices
        lower = [value for value in values if value < now][-1:]
        others = (*lower, *[value for value in values if value > now][:1])
    return replace(trial, **{name: _one_of(others, rng)}).settled()


def _one_of(values: Sequence[Any], rng: np.random.Generator) -> Any:
    return values[int(rng.integers(len(values)))]


def _read(record: dict[str, Any], file: TrialFile) -> Outcome:
    try:
        return Outcome(**{**record, "trial": Trial(**record["trial"])})
    except (KeyError, TypeError):
        raise SettingsError(
            f"{file.path}: one of its trials is {json.dumps(record)[:80]}, which is none of this "
            "release; name another file for the state of the search"
        ) from None


class _TrialRunner:
    """Runs trials on documents that are packed once for each kind of plan."""

    def __init__(self, prepared: Prepared, base: LinkerTraining, watch: Watch) -> None:
        self._prepared, self._base, self._watch = prepared, base, watch
        self._packed: dict[tuple[str, ...], tuple[Problems, Problems]] = {}

    def run(self, trial: Trial, seconds: float) -> Outcome | None:
        """Train and judge; None: it took longer than that."""
        begin = time.perf_counter()
        settings = trial.settings(self._base)
        train, dev = self._problems(settings)

        def watched(progress: TrainingProgress) -> bool:
            self._watch(trial, progress)
            return time.perf_counter() - begin > seconds

        system = StructuredGradientBoosting(settings.plan, settings.trees, settings.training)
        system.fit(train, dev, callbacks=[watched])
        decoding = system.decode(dev)
        gold = system.counterfactuals(dev, decoding).probability[_places(dev)]
        took = time.perf_counter() - begin
        if took > seconds:
            return None
        return Outcome(
            trial,
            round(accuracy_of(decoding.choices, dev) * dev.n_mentions),
            int((dev.gold >= 0).sum()),
            round(float(-np.log(np.maximum(gold, 1e-15)).mean()), 6),
            system.model.forest.n_trees,
            round(took, 3),
        )

    def _problems(self, settings: LinkerTraining) -> tuple[Problems, Problems]:
        without = self._prepared.left_out(settings)
        if without not in self._packed:
            train, dev = self._prepared.problems(without)
            assert dev is not None
            self._packed = {without: (train, dev)}  # one kind at a time: they are large
        return self._packed[without]


def _places(problems: Problems) -> Any:
    """Return the rows of the gold candidates."""
    asked = problems.gold >= 0
    return problems.candidate_offsets[:-1][asked] + problems.gold[asked]
