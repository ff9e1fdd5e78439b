"""Trainer: search, residuals, one more tree (eq. 5); dev checks, early stopping, checkpoints."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.beam import (
    SearchInput,
    SearchModel,
    SearchPlan,
    bin_local,
    decode,
    no_clamp,
)
from sgtb.boosting.search.collector import Collector, Epoch, choose_bins
from sgtb.boosting.training_progress import Callback, Check, TrainingProgress
from sgtb.boosting.trees.forest import Forest, ForestBuilder
from sgtb.boosting.trees.grower import PointRows, Tree, TreeSettings, draw_features, grow
from sgtb.core.dtypes import Bools, Ints
from sgtb.core.errors import ProblemsError
from sgtb.core.settings import check_integer
from sgtb.core.thread_pool import ThreadPool

if TYPE_CHECKING:
    from sgtb.boosting.model_file import Checkpoint


@dataclass(frozen=True)
class TrainingSettings:
    """How long and how to train.

    n_trees      largest number of trees
    check_every  trees between two checks of dev accuracy, each with a checkpoint
    patience     checks without a better dev accuracy before training stops; None: no limit
    threads      None: all cores. The result does not depend on it
    incremental  score only new trees for partial sequences of earlier epochs. Without it training
                 is slow and the result the same
    seed         random seed of the features drawn, if TreeSettings.feature_share is below 1
    """

    n_trees: int = 250
    check_every: int = 25
    patience: int | None = 6
    threads: int | None = None
    incremental: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("n_trees", self.n_trees, 1, 100_000)
        check_integer("check_every", self.check_every, 1, 2**31)
        for name in ("patience", "threads"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1, 2**31)
        check_integer("seed", self.seed, 0, 2**31)


@dataclass(frozen=True)
class Trained:
    """A finished training: all trees, the checks, and the best number of trees."""

    forest: Forest
    checks: tuple[Check, ...]
    best: int


@dataclass(frozen=True)
class JobSettings:
    """Settings of a training, and the numbers of features of its documents."""

    plan: SearchPlan
    trees: TreeSettings
    training: TrainingSettings
    n_local: int
    n_pair: int


class TrainingSource(Protocol):
    """Documents to train on, here or on a cluster; binner and forest exist after `begin`."""

    settings: JobSettings
    binner: Binner
    forest: ForestBuilder

    def digests(self) -> tuple[list[str], list[str]]:
        """Return digests of the training documents and of dev, part by part."""

    def begin(self, earlier: Forest | None) -> None:
        """Choose the bins, and begin with the trees of an earlier run."""

    def next_tree(self, n_bins: Ints) -> tuple[Tree, float]:
        """Search the training documents; return the next tree, and their accuracy."""

    def dev_accuracy(self) -> float | None:
        """Return the accuracy of the forest on dev; None without dev documents."""


def boost(
    source: TrainingSource,
    callbacks: Sequence[Callback] = (),
    store: "Checkpoint | None" = None,
) -> Trained:
    """Boost until the number of trees, the patience or a callback ends the training."""
    settings = source.settings.training
    earlier = store.resume() if store is not None else None
    source.begin(None if earlier is None else earlier.forest)
    forest, checks = source.forest, [] if earlier is None else list(earlier.checks)
    begin, resumed_at = time.perf_counter(), forest.n_trees
    stop = _out_of_patience(checks, settings.patience)
    while forest.n_trees < settings.n_trees and not stop:
        # A generator per tree: a resumed training has not drawn for its earlier trees.
        rng = np.random.default_rng((settings.seed, forest.n_trees))
        share = source.settings.trees.feature_share
        tree, accuracy = source.next_tree(draw_features(source.binner.n_bins, share, rng))
        forest.append(tree)
        n = forest.n_trees
        if n % settings.check_every == 0 or n == settings.n_trees:
            checks.append(Check(n, accuracy, source.dev_accuracy()))
            stop = _out_of_patience(checks, settings.patience)
            if store is not None:
                store.keep(Trained(forest.finished(), tuple(checks), best_of(checks)))
        seconds = time.perf_counter() - begin
        left = seconds / (n - resumed_at) * (settings.n_trees - n)
        progress = TrainingProgress(
            n_trees=n, n_trees_wanted=settings.n_trees, train_accuracy=accuracy,
            checks=tuple(checks), seconds=seconds, seconds_left=left,
        )  # fmt: skip
        ended = [callback(progress) for callback in callbacks]
        stop = stop or any(ended)
    if not checks or checks[-1].n_trees != forest.n_trees:  # ended between two checks
        checks.append(Check(forest.n_trees, accuracy, source.dev_accuracy()))
    return Trained(forest.finished(), tuple(checks), best_of(checks))


class LocalSource:
    """Documents of this process."""

    def __init__(
        self, train: Problems, dev: Problems | None, settings: JobSettings, pool: ThreadPool
    ) -> None:
        if not (train.gold >= 0).any():
            raise ProblemsError(NO_GOLD)
        if dev is not None:
            expected = settings.n_local, settings.n_pair
            dev.check_features(expected, "dev has", "the training documents have")
        self.settings, self._train, self._dev, self._pool = settings, train, dev, pool

    def digests(self) -> tuple[list[str], list[str]]:
        """Return digests of the training documents and of dev."""
        return [self._train.digest()], [] if self._dev is None else [self._dev.digest()]

    def begin(self, earlier: Forest | None) -> None:
        """Choose the bins, and begin with the trees of an earlier run."""
        plan, trees, training = self.settings.plan, self.settings.trees, self.settings.training
        self.binner = choose_bins(self._train, plan, trees.max_bins)
        self.forest = begun_forest(self.settings, self.binner, earlier)
        self._collector = Collector(
            self._train, plan, self.binner, self.forest, self._pool, training.incremental
        )
        self._held_out = None
        if self._dev is not None:
            self._held_out = DevDocuments(self._dev, plan, self.binner, self._pool)

    def next_tree(self, n_bins: Ints) -> tuple[Tree, float]:
        """Search the training documents; return the next tree, and their accuracy."""
        epoch = self._collector.collect()
        tree = grow(point_rows(epoch, self.binner, self._pool), n_bins, self.settings.trees)
        return tree, epoch.right / max(epoch.visited, 1)

    def dev_accuracy(self) -> float | None:
        """Return the accuracy of the forest on dev; None without dev documents."""
        if self._dev is None or self._held_out is None:
            return None
        return self._held_out.n_right(self.forest) / max(self._dev.n_mentions, 1)


NO_GOLD = "no mention of the training documents has a gold choice among its candidates"


def begun_forest(settings: JobSettings, binner: Binner, earlier: Forest | None) -> ForestBuilder:
    """Return a forest to grow, with the trees of an earlier run."""
    forest = ForestBuilder(
        settings.training.n_trees, settings.trees.depth, settings.n_local, binner
    )
    if earlier is not None:
        forest.extend(earlier)
    return forest


def point_rows(epoch: Epoch, binner: Binner, pool: ThreadPool) -> PointRows:
    """Return the rows that a tree is grown from."""
    return PointRows(epoch.rows, epoch.residuals, binner.n_features, pool, epoch.points)


class DevDocuments:
    """Documents that check the forest, binned once."""

    def __init__(
        self, problems: Problems, plan: SearchPlan, binner: Binner, pool: ThreadPool
    ) -> None:
        local, self._pooled = binner.split(problems.n_local)
        self._problems, self._plan, self._pool = problems, plan, pool
        self._local = bin_local(problems, local, pool)

    def n_right(self, forest: ForestBuilder) -> int:
        """Return the number of mentions decided right."""
        problems = self._problems
        model = SearchModel(self._plan, forest.arrays, forest.n_trees, self._pooled.thresholds)
        given = SearchInput(problems, self._local, model, no_clamp(problems), self._pool)
        return int(_is_right(decode(given).choices, problems).sum())


def best_of(checks: Sequence[Check]) -> int:
    """Return the number of trees with the best dev accuracy, the smallest of equals."""
    if checks[-1].dev_accuracy is None:
        return checks[-1].n_trees
    return max(checks, key=lambda check: (check.dev_accuracy or 0.0, -check.n_trees)).n_trees


def accuracy_of(choices: Ints, problems: Problems) -> float:
    """Return the share of mentions decided right; a mention without its gold counts as wrong."""
    return int(_is_right(choices, problems).sum()) / max(problems.n_mentions, 1)


def _is_right(choices: Ints, problems: Problems) -> Bools:
    is_right: Bools = (choices == problems.gold) & (problems.gold >= 0)
    return is_right


def _out_of_patience(checks: Sequence[Check], patience: int | None) -> bool:
    if patience is None or not checks or checks[-1].dev_accuracy is None:
        return False
    best = best_of(checks)
    return sum(check.n_trees > best for check in checks) >= patience
