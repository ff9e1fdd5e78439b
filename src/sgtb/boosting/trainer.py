"""Trainer: search, residuals, one more tree (eq. 5); dev checks, early stopping, checkpoints."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

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
from sgtb.boosting.search.collector import Collector, choose_bins
from sgtb.boosting.training_progress import Callback, Check, TrainingProgress
from sgtb.boosting.trees.forest import Forest, ForestBuilder, TreeMasks
from sgtb.boosting.trees.grower import TreeSettings, draw_features, grow
from sgtb.core.dtypes import Bytes, Ints
from sgtb.core.errors import ProblemsError
from sgtb.core.settings import check_integer
from sgtb.core.thread_pool import ThreadPool


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
class Job:
    """Documents and settings of a training."""

    train: Problems
    dev: Problems | None
    plan: SearchPlan
    trees: TreeSettings
    training: TrainingSettings

    def __post_init__(self) -> None:
        if not (self.train.gold >= 0).any():
            raise ProblemsError(
                "no mention of the training documents has a gold choice among its candidates"
            )
        if self.dev is not None:
            for name in ("n_local", "n_pair"):
                ours, theirs = getattr(self.train, name), getattr(self.dev, name)
                if ours != theirs:
                    raise ProblemsError(
                        f"dev has {theirs} {name[2:]} features, the training documents have {ours}"
                    )


class Store(Protocol):
    """Storage of the state of a training at every check."""

    def resume(self) -> Trained | None:
        """Return the state that an earlier run of the same job stored."""

    def keep(self, trained: Trained) -> None:
        """Store the training so far."""


def train(job: Job, callbacks: Sequence[Callback] = (), store: Store | None = None) -> Trained:
    """Boost until the number of trees, the patience or a callback ends the training."""
    settings = job.training
    earlier = store.resume() if store is not None else None
    with ThreadPool(settings.threads) as pool:
        binner = choose_bins(job.train, job.plan, job.trees.max_bins)
        forest = ForestBuilder(settings.n_trees, job.trees.depth, job.train.n_local, binner)
        checks: list[Check] = []
        if earlier is not None:
            forest.extend(earlier.forest)
            checks += earlier.checks
        collector = Collector(
            job.train, job.plan, binner, forest, pool, use_cache=settings.incremental
        )
        dev = _Dev(job, binner, forest, pool)
        begin, resumed_at = time.perf_counter(), forest.n_trees
        stop = _out_of_patience(checks, settings.patience)
        while forest.n_trees < settings.n_trees and not stop:
            epoch = collector.collect()
            n_bins = _drawn_bins(job, binner, forest.n_trees)
            tree = grow(epoch.rows, epoch.residuals, n_bins, job.trees, pool, epoch.points)
            forest.append(tree)
            n = forest.n_trees
            if n % settings.check_every == 0 or n == settings.n_trees:
                checks.append(Check(n, epoch.accuracy, dev.accuracy()))
                stop = _out_of_patience(checks, settings.patience)
                if store is not None:
                    store.keep(Trained(forest.finished(), tuple(checks), best_of(checks)))
            seconds = time.perf_counter() - begin
            left = seconds / (n - resumed_at) * (settings.n_trees - n)
            progress = TrainingProgress(
                n_trees=n, n_trees_wanted=settings.n_trees, train_accuracy=epoch.accuracy,
                checks=tuple(checks), seconds=seconds, seconds_left=left,
            )  # fmt: skip
            ended = [callback(progress) for callback in callbacks]
            stop = stop or any(ended)
        if not checks or checks[-1].n_trees != forest.n_trees:  # ended between two checks
            checks.append(Check(forest.n_trees, epoch.accuracy, dev.accuracy()))
    return Trained(forest.finished(), tuple(checks), best_of(checks))


def best_of(checks: Sequence[Check]) -> int:
    """Return the number of trees with the best dev accuracy, the smallest of equals."""
    if checks[-1].dev_accuracy is None:
        return checks[-1].n_trees
    return max(checks, key=lambda check: (check.dev_accuracy or 0.0, -check.n_trees)).n_trees


def accuracy_of(choices: np.ndarray[tuple[int], np.dtype[np.int32]], problems: Problems) -> float:
    """Return the share of mentions decided right; a mention without its gold counts as wrong."""
    if problems.n_mentions == 0:
        return 0.0
    return float(((choices == problems.gold) & (problems.gold >= 0)).mean())


def _out_of_patience(checks: Sequence[Check], patience: int | None) -> bool:
    if patience is None or not checks or checks[-1].dev_accuracy is None:
        return False
    best = best_of(checks)
    return sum(check.n_trees > best for check in checks) >= patience


def _drawn_bins(job: Job, binner: Binner, tree: int) -> Ints:
    """Return the bins of the features that this tree may test."""
    # A generator per tree: a resumed training has not drawn for its earlier trees.
    rng = np.random.default_rng((job.training.seed, tree))
    return draw_features(binner.n_bins, job.trees.feature_share, rng)


class _Dev:
    """The dev documents, binned once."""

    def __init__(self, job: Job, binner: Binner, forest: ForestBuilder, pool: ThreadPool) -> None:
        self._job, self._forest, self._pool = job, forest, pool
        local, self._pooled = binner.split(job.train.n_local)
        self._local: Bytes | None = bin_local(job.dev, local, pool) if job.dev is not None else None

    def accuracy(self) -> float | None:
        dev, forest, n_trees = self._job.dev, self._forest.arrays, self._forest.n_trees
        if dev is None or self._local is None:
            return None
        masks = TreeMasks.of(forest, n_trees, self._pooled.n_features)
        model = SearchModel(self._job.plan, forest, n_trees, self._pooled.thresholds, masks)
        decoding = decode(SearchInput(dev, self._local, model, no_clamp(dev), self._pool))
        return accuracy_of(decoding.choices, dev)
