"""Trees: growing a tree with sgtb and with LightGBM from the same rows and residuals."""

import statistics
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import lightgbm
import numpy as np

from benchmarks.measure import CORES, seconds_of
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.beam import SearchPlan
from sgtb.boosting.search.collector import Collector, choose_bins
from sgtb.boosting.trainer import point_rows
from sgtb.boosting.trees.forest import ForestBuilder
from sgtb.boosting.trees.grower import PointRows, Tree, TreeSettings, grow
from sgtb.core.dtypes import Bytes, Doubles, Ints
from sgtb.core.thread_pool import ThreadPool

_BATCH = 5
_VARIANTS: dict[str, dict[str, bool]] = {
    "default": {},
    "force_row_wise": {"force_row_wise": True},
    "force_col_wise": {"force_col_wise": True},
}


class Rows(NamedTuple):
    """Points of one epoch of training, binned."""

    x: Bytes
    residuals: Doubles
    n_bins: Ints

    def source(self, pool: ThreadPool) -> PointRows:
        """Return the input of a tree."""
        return PointRows(self.x, self.residuals, len(self.n_bins), pool)


@dataclass(frozen=True)
class TreeTimes:
    """Medians in seconds; `lightgbm` is the best of its variants.

    The squared errors, relative to no tree at all, show that both grew an equally good tree.
    """

    sgtb_seconds: float
    lightgbm_seconds: float
    lightgbm_best_variant: str
    lightgbm_variants: dict[str, float]
    rows: int
    features: int
    depth: int
    bins: int
    threads: int
    repeats: int
    sgtb_squared_error: float
    lightgbm_squared_error: float
    meaning: str = (
        "ratio = lightgbm_seconds / sgtb_seconds, 1 or more: ours is no slower; medians of "
        "alternating batches, LightGBM's dataset binned beforehand"
    )


def collected_rows(problems: Problems, plan: SearchPlan, n_trees: int) -> Rows:
    """Train some trees and return the rows of the next epoch."""
    settings = TreeSettings()
    with ThreadPool(CORES) as pool:
        binner = choose_bins(problems, plan, settings.max_bins)
        forest = ForestBuilder(n_trees, settings.depth, problems.n_local, binner)
        collector = Collector(problems, plan, binner, forest, pool, use_cache=True)
        for _ in range(n_trees):
            epoch = collector.collect()
            forest.append(grow(point_rows(epoch, binner, pool), binner.n_bins, settings))
        epoch = collector.collect()
    return Rows(epoch.rows[epoch.points], epoch.residuals, binner.n_bins)


def compare(rows: Rows, batches: int) -> TreeTimes:
    """Grow the same tree repeatedly, with both in turn."""
    settings = TreeSettings()
    raw = rows.x[:, : len(rows.n_bins)].astype(np.float32)
    boosters = {
        name: _booster(raw, rows.residuals, settings, own) for name, own in _VARIANTS.items()
    }
    ours: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in boosters}
    with ThreadPool(CORES) as pool:
        tree = grow(rows.source(pool), rows.n_bins, settings)
        for _ in range(batches):
            ours += _ours(rows, settings, pool)
            for name, booster in boosters.items():
                theirs[name] += _theirs(booster)
    medians = {name: statistics.median(times) for name, times in theirs.items()}
    best = min(medians, key=lambda name: medians[name])
    boosters[best].update()
    total = float((rows.residuals**2).sum())
    return TreeTimes(
        statistics.median(ours), medians[best], best, medians, len(raw), raw.shape[1],
        settings.depth, settings.max_bins, CORES, batches * _BATCH,
        float(((rows.residuals - predict(tree, rows.x)) ** 2).sum()) / total,
        float(((rows.residuals - boosters[best].predict(raw)) ** 2).sum()) / total,
    )  # fmt: skip


def predict(tree: Tree, x: Bytes) -> Doubles:
    """Return the tree's value for binned rows."""
    node = np.zeros(len(x), np.int64)
    while (inside := tree.feature[node] >= 0).any():
        at = node[inside]
        right = x[inside, tree.feature[at]] > tree.bin[at]
        node[inside] = tree.left[at] + right
    value: Doubles = tree.value[node]
    return value


def _booster(
    raw: Any, residuals: Doubles, settings: TreeSettings, variant: dict[str, bool]
) -> lightgbm.Booster:
    parameters = {
        "objective": "regression", "boost_from_average": False, "learning_rate": 1.0,
        "max_depth": settings.depth, "num_leaves": 2**settings.depth,
        "max_bin": settings.max_bins, "min_data_in_bin": 1, "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0.0, "feature_pre_filter": False, "num_threads": CORES,
        "verbosity": -1, **variant,
    }  # fmt: skip
    data = lightgbm.Dataset(raw, residuals, params=parameters)
    booster = lightgbm.Booster(parameters, data.construct())
    booster.update()  # warm-up: one-time work is not counted
    return booster.rollback_one_iter()


def _ours(rows: Rows, settings: TreeSettings, pool: ThreadPool) -> list[float]:
    _settle()
    return [
        seconds_of(lambda: grow(rows.source(pool), rows.n_bins, settings)) for _ in range(_BATCH)
    ]


def _theirs(booster: lightgbm.Booster) -> list[float]:
    """Time updates; each is rolled back, so that the next has the same residuals to fit."""
    _settle()
    times = []
    for _ in range(_BATCH):
        times.append(seconds_of(booster.update))
        booster.rollback_one_iter()
    return times


def _settle() -> None:
    """Wait until LightGBM's threads, which spin for a while after their work, sleep."""
    time.sleep(0.02)
