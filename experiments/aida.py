"""The AIDA experiment: the paper's systems trained and tested with PPRforNED's candidates.

The settings of trees, except their number, were chosen by `python -m experiments search` on train
and dev (docs/experiments/aida.md). Dev chooses the number of trees; test is used last.
"""

import itertools
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.aida_data import AidaData, PackedAida, Packer
from sgtb.boosting import (
    PLANS,
    Problems,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
    TreeSettings,
)
from sgtb.boosting.search.beam import PlanName
from sgtb.boosting.training_progress import Callback, Check
from sgtb.core.errors import SettingsError
from sgtb.evaluation import Accuracy, Difference, in_kb_accuracy, paired_bootstrap
from sgtb.linking.features.schema import COLLECTIVE, SCHEMA

PAPER: Mapping[str, float] = {"local": 93.1, "bs": 95.1, "bsg": 95.5, "bibsg": 95.9}
"""Table 2 of the paper, the half with PPRforNED's candidates: in-KB accuracy on AIDA-test."""

SYSTEMS: Mapping[str, str] = {
    "local": "Gradient tree boosting", "bs": "SGTB-BS", "laso": "SGTB-LaSO", "bsg": "SGTB-BSG",
    "bibsg": "SGTB-BiBSG",
}  # fmt: skip

TREES = TreeSettings(learning_rate=0.2, depth=5, min_leaf=100, feature_share=0.3)
BEAM_WIDTH = 4
N_TREES, CHECK_EVERY = 300, 25
ABLATION_PLAN: PlanName = "bsg"
ABLATION_TREES = 100
"""Fewer than for the table: the effect of a group shows early, and there are many groups."""


@dataclass(frozen=True)
class Run:
    """One system trained with one seed.

    refitted  on test, trained on train and dev
    """

    plan: str
    seed: int
    dev: Accuracy
    test: Accuracy
    n_trees: int
    seconds: float
    checks: tuple[Check, ...]
    refitted: Accuracy | None = None


@dataclass(frozen=True)
class Removal:
    """The change on dev without a group of features; `whole`: accuracy with all."""

    group: str
    n_features: int
    whole: float
    difference: Difference


@dataclass(frozen=True)
class AidaResult:
    """All runs, by plan and seed, and their times; packing includes reading the raw files."""

    runs: tuple[Run, ...]
    packing_seconds: float
    seconds: float
    removals: tuple[Removal, ...] = field(default=())

    @property
    def plans(self) -> tuple[str, ...]:
        """The plans run, in order."""
        return tuple(dict.fromkeys(run.plan for run in self.runs))

    def of(self, plan: str) -> tuple[Run, ...]:
        """Return the runs of a plan."""
        return tuple(run for run in self.runs if run.plan == plan)

    def pooled(self, plan: str, split: str) -> Accuracy:
        """Return counts summed over seeds, document by document, for the bootstrap."""
        parts: list[Accuracy] = [getattr(run, split) for run in self.of(plan)]
        return Accuracy(
            parts[0].documents,
            np.sum([part.document_correct for part in parts], axis=0),
            np.sum([part.document_total for part in parts], axis=0),
        )

    def differences(self, split: str = "test") -> tuple[tuple[str, str, Difference], ...]:
        """Return each plan compared with the one before it, and the last with the first."""
        plans = self.plans
        pairs = list(itertools.pairwise(plans))
        if len(plans) > 2:
            pairs.append((plans[0], plans[-1]))
        return tuple(
            (a, b, paired_bootstrap(self.pooled(a, split), self.pooled(b, split))) for a, b in pairs
        )


Watch = Callable[[str], AbstractContextManager[Callback | None]]
"""Given the title of a training, returns a context manager of its progress callback."""


def unwatched(title: str) -> AbstractContextManager[None]:
    """Show no progress."""
    return nullcontext()


def checked_plans(names: Sequence[str]) -> tuple[PlanName, ...]:
    """Return the named plans; an unknown name is an error that lists all."""
    for name in names:
        if name not in PLANS:
            raise SettingsError(f"there is no plan {name!r}; there are {', '.join(PLANS)}")
    if not names:
        raise SettingsError(f"name at least one plan of {', '.join(PLANS)}")
    return tuple(plan for plan in PLANS if plan in names)


def left_out(plan: str) -> tuple[str, ...]:
    """Return the feature groups that a plan does not use: `local` sees one mention only."""
    return COLLECTIVE if plan == "local" else ()


def estimator(plan: PlanName, seed: int, n_trees: int | None = None) -> StructuredGradientBoosting:
    """Return an untrained system, by default with the number of trees of the table."""
    training = TrainingSettings(n_trees or N_TREES, CHECK_EVERY, patience=None, seed=seed)
    return StructuredGradientBoosting(SearchPlan(plan, BEAM_WIDTH), TREES, training)


def run_aida(
    data: AidaData,
    packer: Packer,
    plans: Sequence[PlanName],
    n_seeds: int,
    watch: Watch = unwatched,
    ablation: bool = False,
    whole: Packer | None = None,
) -> AidaResult:
    """Train and test every plan with every seed.

    whole  documents of train and dev, to train every system again
    """
    if n_seeds < 1:
        raise SettingsError(f"{n_seeds} seeds; it must be at least 1")
    begin = time.perf_counter()
    runs: list[Run] = []
    removals: tuple[Removal, ...] = ()
    packing = data.seconds
    for seed in range(n_seeds):
        before = time.perf_counter()
        packed, again = packer.pack(seed), None if whole is None else whole.pack(seed)
        packing += time.perf_counter() - before
        runs += [run_plan(data, packed, plan, seed, watch, again) for plan in plans]
        if ablation and seed == 0:
            removals = remove_groups(data, packed, watch)
    runs.sort(key=lambda run: (PLANS.index(run.plan), run.seed))
    seconds = data.seconds + time.perf_counter() - begin
    return AidaResult(tuple(runs), packing, seconds, removals)


def run_plan(
    data: AidaData,
    packed: PackedAida,
    plan: PlanName,
    seed: int,
    watch: Watch = unwatched,
    whole: PackedAida | None = None,
) -> Run:
    """Train one system, then test it; the same again on all documents of train and dev."""
    before = time.perf_counter()
    system = train_plan(packed, plan, seed, watch)
    seconds = time.perf_counter() - before
    dev, test = (
        _accuracy(data, system, split, packed.problems(split, left_out(plan)))
        for split in ("dev", "test")
    )
    n_trees, refitted = system.model.forest.n_trees, None
    if whole is not None:
        again = estimator(plan, seed, n_trees)
        with watch(f"{plan}, seed {seed}, train and dev") as callback:
            again.fit(whole.problems("train", left_out(plan)), callbacks=_given(callback))
        refitted = _accuracy(data, again, "test", whole.problems("test", left_out(plan)))
    return Run(plan, seed, dev, test, n_trees, seconds, system.history, refitted)


def train_plan(
    packed: PackedAida, plan: PlanName, seed: int, watch: Watch = unwatched
) -> StructuredGradientBoosting:
    """Train one system; dev chooses the number of trees."""
    train, dev = (packed.problems(split, left_out(plan)) for split in ("train", "dev"))
    system = estimator(plan, seed)
    with watch(f"{plan}, seed {seed}") as callback:
        system.fit(train, dev, callbacks=_given(callback))
    return system


def remove_groups(
    data: AidaData, packed: PackedAida, watch: Watch = unwatched
) -> tuple[Removal, ...]:
    """Train without each group of features in turn; compare accuracy on dev."""
    whole = _dev_without(data, packed, (), watch)
    removals = []
    for group in SCHEMA.groups:
        less = _dev_without(data, packed, (group,), watch)
        n = sum(feature.group == group for feature in SCHEMA.features)
        removals.append(Removal(group, n, whole.micro, paired_bootstrap(whole, less)))
    return tuple(removals)


def _dev_without(
    data: AidaData, packed: PackedAida, groups: Collection[str], watch: Watch
) -> Accuracy:
    system = estimator(ABLATION_PLAN, 0, ABLATION_TREES)
    title = f"{ABLATION_PLAN} without {', '.join(groups) or 'nothing'}"
    # A fixed number of trees: dev must not choose it and score too.
    with watch(title) as callback:
        system.fit(packed.problems("train", groups), callbacks=_given(callback))
    return _accuracy(data, system, "dev", packed.problems("dev", groups))


def _given(callback: Callback | None) -> list[Callback]:
    return [] if callback is None else [callback]


def _accuracy(
    data: AidaData, system: StructuredGradientBoosting, split: str, problems: Problems
) -> Accuracy:
    return in_kb_accuracy(data.documents(split), data.answers(split, system.predict(problems)))


def spread_of(values: Sequence[float]) -> dict[str, float]:
    """Return mean and standard deviation, in percent, of accuracies given as shares."""
    percent = 100 * np.array(values)
    return {"mean": round(float(percent.mean()), 2), "std": round(float(percent.std()), 2)}


def as_json(result: AidaResult, peak_bytes: int) -> dict[str, Any]:
    """Return the result as plain data."""
    systems = {}
    for plan in result.plans:
        runs = result.of(plan)
        systems[plan] = {
            **{
                split: spread_of([getattr(run, split).micro for run in runs])
                | {"macro": spread_of([getattr(run, split).macro for run in runs])["mean"]}
                for split in ("dev", "test", "refitted")
                if getattr(runs[0], split) is not None
            },
            "trees": [run.n_trees for run in runs],
            "seconds": round(float(np.mean([run.seconds for run in runs])), 1),
            "paper": PAPER.get(plan),
        }
    return {
        "systems": systems,
        "differences": [
            {"from": a, "to": b, **_points(difference)}
            for a, b, difference in result.differences()
        ],
        "ablation": [
            {"without": removal.group, "features": removal.n_features,
             **_points(removal.difference)}
            for removal in result.removals
        ],
        "seeds": len({run.seed for run in result.runs}),
        "packing_seconds": round(result.packing_seconds, 1),
        "seconds": round(result.seconds, 1),
        "peak_megabytes": round(peak_bytes / 2**20),
        "schema": SCHEMA.version,
    }  # fmt: skip


def _points(difference: Difference) -> dict[str, float]:
    return {
        "points": round(100 * difference.value, 2),
        "low": round(100 * difference.low, 2),
        "high": round(100 * difference.high, 2),
        "p": round(difference.p_value, 4),
    }
