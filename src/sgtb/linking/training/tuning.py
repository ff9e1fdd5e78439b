"""Tuning of plan, beam, depth, η and number of trees on dev documents.

Features are made once; a trial grows trees on them. The number of trees needs no trials of its own,
since dev is evaluated every few trees.

The first trial has the given settings. Later ones are, in turn, drawn at random or differ from the
best one in a single setting. They depend only on the seed and on the finished trials, so a stopped
search can be resumed.
"""

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.boosting.search.beam import PLANS, PlanName, SearchPlan
from sgtb.boosting.training_progress import TrainingProgress
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.files import naming, sync_folder
from sgtb.core.intervals import FEW_MENTIONS, wilson_interval
from sgtb.core.sparse_matrix import log
from sgtb.linking.training.linker_training import LinkerTraining, Prepared

CHOICES: dict[str, tuple[Any, ...]] = {
    "plan": get_args(PlanName),
    "beam": (1, 2, 4, 8, 16),
    "depth": (2, 3, 4, 5, 6),
    "eta": (0.03, 0.05, 0.1, 0.2, 0.3, 0.5),
}
"""Values of the settings, similar ones next to each other."""
MOST_TREES = 800
_REDRAWS = 1000
_FIRST = 3  # trials before neighbours of the best one are tried


@dataclass(frozen=True)
class Trial:
    """Settings of a trial."""

    plan: PlanName
    beam: int
    depth: int
    eta: float

    def __post_init__(self) -> None:
        if self.plan not in PLANS:
            raise SettingsError(f"unknown plan {self.plan!r}; choose one of {', '.join(PLANS)}")

    @classmethod
    def of(cls, settings: LinkerTraining) -> "Trial":
        """Return the trial of training settings."""
        trees = settings.trees
        return cls(settings.plan.name, settings.plan.beam_width, trees.depth, trees.learning_rate)

    def __str__(self) -> str:
        return f"{self.plan}, beam {self.beam}, depth {self.depth}, η {self.eta:g}"

    def settled(self) -> "Trial":
        """Return the trial with the default beam if the plan has none."""
        return self if self.plan != "local" else replace(self, beam=SearchPlan().beam_width)

    def settings(self, base: LinkerTraining) -> LinkerTraining:
        """Return training settings with those of the trial."""
        return replace(
            base,
            plan=replace(base.plan, name=self.plan, beam_width=self.beam),
            trees=replace(base.trees, depth=self.depth, learning_rate=self.eta),
            training=replace(base.training, n_trees=max(MOST_TREES, base.training.n_trees)),
        )


@dataclass(frozen=True)
class Outcome:
    """A finished trial."""

    trial: Trial
    right: int  # right decisions on dev
    asked: int  # mentions of dev with gold among the candidates
    log_loss: float  # mean over these
    n_trees: int  # best number on dev
    seconds: float  # duration

    @property
    def accuracy(self) -> float:
        """Share of right decisions."""
        return self.right / max(self.asked, 1)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the accuracy."""
        return wilson_interval(self.right, self.asked)

    @property
    def rank(self) -> tuple[float, ...]:
        """Sort key, smaller is better: right decisions, log loss, number of trees."""
        return -self.right, self.log_loss, self.n_trees

    @property
    def complexity(self) -> tuple[float, ...]:
        """Sort key, smaller is simpler: plan, beam, depth, number of trees."""
        trial = self.trial
        return CHOICES["plan"].index(trial.plan), trial.beam, trial.depth, self.n_trees


@dataclass(frozen=True)
class Budget:
    """Limits of a search: total seconds of trials, and number of trials."""

    seconds: float = math.inf
    trials: int | None = None

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise SettingsError(f"a budget of {self.seconds} seconds; it must be more than 0")
        if self.trials is not None and self.trials < 1:
            raise SettingsError(f"a budget of {self.trials} trials; it must be at least 1")

    def left(self, outcomes: Sequence[Outcome]) -> float:
        """Return the remaining seconds; 0 after the last trial."""
        if self.trials is not None and len(outcomes) >= self.trials:
            return 0.0
        return self.seconds - sum(outcome.seconds for outcome in outcomes)


class TrialFile:
    """Finished trials as JSON lines, appended; an unfinished last line is ignored.

    Trials are stored under a key of their documents, so a file may hold those of several sets.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def records(self, key: str) -> list[dict[str, Any]]:
        """Return the records of a key, in order."""
        return [entry["trial"] for entry in self._entries() if entry["data"] == key]

    def append(self, key: str, record: dict[str, Any]) -> None:
        """Append a record durably; a crash leaves all of it or nothing."""
        line = json.dumps({"data": key, "trial": record}, allow_nan=False) + "\n"
        new = not self.path.exists()
        with naming(self.path), open(self.path, "ab") as file:
            file.truncate(len(self._whole()))  # drops an unfinished line
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        if new:
            sync_folder(self.path.parent)

    def _whole(self) -> bytes:
        """Return the complete lines."""
        data = self.path.read_bytes() if self.path.exists() else b""
        return data[: data.rfind(b"\n") + 1]

    def _entries(self) -> list[dict[str, Any]]:
        entries = []
        for number, line in enumerate(self._whole().splitlines(), 1):
            try:
                entry = json.loads(line)
                valid = isinstance(entry["trial"], dict) and isinstance(entry["data"], str)
            except (ValueError, TypeError, KeyError):
                valid = False
            if not valid:
                raise SettingsError(
                    f"{self.path}, line {number}: not a finished trial; use another file for the "
                    "state of the search, or delete this one"
                )
            entries.append(entry)
        return entries


Watch = Callable[[Trial, TrainingProgress], None]  # callback after every tree of a trial


def tune_linker(
    prepared: Prepared,
    base: LinkerTraining,
    budget: Budget,
    file: TrialFile | None = None,
    watch: Watch = lambda trial, progress: None,
) -> Iterator[Outcome]:
    """Yield finished trials, those stored in `file` first.

    A trial that exceeds the budget is dropped, unless it is the first.

    base  first trial, fixed settings and seed
    file  stores finished trials
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
        outcome = None
        if trial is not None:
            outcome = runner.run(trial, left if outcomes else math.inf)
        if outcome is None:
            return
        outcomes.append(outcome)
        if file is not None:
            file.append(key, asdict(outcome))
        yield outcome


def best_of(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the best trial; ties to the first."""
    if not outcomes:
        raise ProblemsError("no trial was finished")
    return min(outcomes, key=lambda outcome: outcome.rank)


def simplest_of(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the simplest trial that dev cannot tell from the best one.

    These are within one standard error of its accuracy; with few mentions, those whose intervals
    overlap. The first trial, with the settings that were given, counts as the simplest: it needs
    no tuning.
    """
    best = best_of(outcomes)
    share = (best.right + 2) / (best.asked + 4)  # not 1, where all are right
    error = math.sqrt(share * (1 - share) / (best.asked + 4))
    if best.asked < FEW_MENTIONS:
        equal = [one for one in outcomes if one.interval[1] >= best.interval[0]]
    else:
        equal = [one for one in outcomes if one.accuracy >= best.accuracy - error]
    return outcomes[0] if outcomes[0] in equal else min(equal, key=lambda one: one.complexity)


def next_trial(outcomes: Sequence[Outcome], first: Trial, seed: int) -> Trial | None:
    """Return the next trial; None: no new one was found."""
    if not outcomes:
        return first
    tried = {outcome.trial for outcome in outcomes}
    rng = np.random.default_rng((seed, len(outcomes)))
    near = len(outcomes) >= _FIRST and len(outcomes) % 2 == 0
    best = best_of(outcomes).trial
    for attempt in range(_REDRAWS):
        # All neighbours of the best may have been tried.
        drawn = _neighbour(best, rng) if near and attempt < _REDRAWS // 2 else _drawn(rng)
        if drawn not in tried:
            return drawn
    return None


def fingerprint(prepared: Prepared, base: LinkerTraining) -> str:
    """Return a digest of documents, features and fixed settings."""
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
    """Return a trial that differs in one setting: another plan, or the next value."""
    name = _one_of(tuple(CHOICES), rng)
    values, now = CHOICES[name], getattr(trial, name)
    if name == "plan":
        others = tuple(value for value in values if value != now)
    else:  # given settings need not be among the choices
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
            f"{file.path}: the trial {json.dumps(record)[:80]} is not of this release; use another "
            "file for the state of the search"
        ) from None


class _TrialRunner:
    """Runs trials; problems are packed once per set of feature groups."""

    def __init__(self, prepared: Prepared, base: LinkerTraining, watch: Watch) -> None:
        self._prepared, self._base, self._watch = prepared, base, watch
        self._without: tuple[str, ...] | None = None

    def run(self, trial: Trial, seconds: float) -> Outcome | None:
        """Train and evaluate; None: longer than the given seconds."""
        begin = time.perf_counter()
        settings = trial.settings(self._base)
        without = self._prepared.left_out(settings)
        if without != self._without:  # only the latest are kept: they are large
            self._without, self._problems = without, self._prepared.problems(without)
        train, dev = self._problems
        assert dev is not None

        def watched(progress: TrainingProgress) -> bool:
            self._watch(trial, progress)
            return time.perf_counter() - begin > seconds

        system = StructuredGradientBoosting(settings.plan, settings.trees, settings.training)
        system.fit(train, dev, callbacks=[watched])
        decoding = system.decode(dev)
        known = dev.gold >= 0
        places = dev.candidate_offsets[:-1][known] + dev.gold[known]
        gold = system.counterfactuals(dev, decoding).probability[places]
        took = time.perf_counter() - begin
        if took > seconds:
            return None
        return Outcome(
            trial,
            int((decoding.choices == dev.gold)[known].sum()),
            int(known.sum()),
            round(float(-log(np.maximum(gold, 1e-15)).mean()), 6),
            system.model.forest.n_trees,
            round(took, 3),
        )
