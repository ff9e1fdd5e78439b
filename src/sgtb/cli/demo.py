"""The demo: every plan trained on the generated corpus, and what each got right."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any, Self

from sgtb.errors import SettingsError
from sgtb.learn import (
    PLANS,
    Progress,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
    TreeSettings,
)
from sgtb.learn.generated import CorpusShape, Splits, generate_splits
from sgtb.learn.plan import PlanName

_DEFAULT = CorpusShape()
_DEV_SHARE = 216 / _DEFAULT.n_documents
_TEST_SHARE = 231 / _DEFAULT.n_documents
_TREES = TreeSettings(min_leaf=20)
_TRAINING = TrainingSettings(n_trees=150)


@dataclass(frozen=True)
class DemoSettings:
    """What to generate, and what to train on it."""

    seeds: tuple[int, ...] = (0, 1, 2)
    plans: tuple[PlanName, ...] = PLANS
    n_documents: int = _DEFAULT.n_documents
    beam_width: int = 4
    trees: TreeSettings = _TREES
    training: TrainingSettings = _TRAINING

    def __post_init__(self) -> None:
        if not self.seeds or min(self.seeds) < 0:
            raise SettingsError("the demo needs at least one seed, and seeds count from 0")
        if not self.plans or len(set(self.plans)) < len(self.plans):
            raise SettingsError(f"name each plan once; there are {', '.join(PLANS)}")
        if self.n_documents < 1:
            raise SettingsError(f"documents is {self.n_documents}; it must be at least 1")
        for name in self.plans:
            SearchPlan(name, self.beam_width)


@dataclass(frozen=True)
class DemoRun:
    """One plan trained on one corpus."""

    seed: int
    plan: PlanName
    n_trees: int
    dev_accuracy: float
    test_accuracy: float
    seconds: float


@dataclass(frozen=True)
class DemoResult:
    """All runs, seed by seed."""

    settings: DemoSettings
    runs: tuple[DemoRun, ...]

    def of(self, plan: PlanName) -> list[DemoRun]:
        """Return the runs of one plan, in the order of the seeds."""
        return [run for run in self.runs if run.plan == plan]

    def mean_accuracy(self, plan: PlanName) -> float:
        """Return the mean test accuracy of a plan."""
        return _mean([run.test_accuracy for run in self.of(plan)])

    def mean_seconds(self, plan: PlanName) -> float:
        """Return the mean training time of a plan."""
        return _mean([run.seconds for run in self.of(plan)])

    def as_json(self) -> dict[str, Any]:
        """Return everything as one JSON object."""
        plans = [
            {
                "plan": plan,
                "test_accuracy": [run.test_accuracy for run in self.of(plan)],
                "mean_test_accuracy": self.mean_accuracy(plan),
                "mean_seconds": self.mean_seconds(plan),
            }
            for plan in self.settings.plans
        ]
        return {
            "settings": asdict(self.settings),
            "plans": plans,
            "runs": [asdict(run) for run in self.runs],
        }


class Watch:
    """What a demo tells on its way, a context manager; this one does not listen."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def begin(self, seed: int, plan: PlanName) -> None:
        """A training begins."""

    def tree(self, told: Progress) -> None:
        """A tree was grown."""

    def end(self, run: DemoRun) -> None:
        """A training ended."""


def run_demo(settings: DemoSettings, watch: Watch | None = None) -> DemoResult:
    """Train every plan on the corpus of every seed; dev chooses how many trees are kept."""
    watch = watch or Watch()
    runs = []
    for seed in settings.seeds:
        splits = demo_splits(settings.n_documents, seed)
        for plan in settings.plans:
            watch.begin(seed, plan)
            runs.append(_run(settings, splits, seed, plan, watch))
            watch.end(runs[-1])
    return DemoResult(settings, tuple(runs))


def demo_splits(n_documents: int, seed: int) -> Splits:
    """Generate a corpus whose dev and test parts are to train as AIDA's are."""
    dev, test = (max(1, round(share * n_documents)) for share in (_DEV_SHARE, _TEST_SHARE))
    return generate_splits(replace(_DEFAULT, n_documents=n_documents), seed, dev, test)


def _run(
    settings: DemoSettings, splits: Splits, seed: int, plan: PlanName, watch: Watch
) -> DemoRun:
    model = _model(settings, plan)
    begin = time.perf_counter()
    model.fit(splits.train, splits.dev, callbacks=[watch.tree])
    seconds = time.perf_counter() - begin
    return DemoRun(
        seed, plan, model.model.forest.n_trees, model.score(splits.dev), model.score(splits.test),
        seconds,
    )  # fmt: skip


def _model(settings: DemoSettings, plan: PlanName) -> StructuredGradientBoosting:
    return StructuredGradientBoosting(
        SearchPlan(plan, settings.beam_width), settings.trees, settings.training
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
