"""Collector: training points and their residuals, from a search of all documents per epoch."""

from typing import NamedTuple

import numpy as np

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.beam import (
    SearchInput,
    SearchModel,
    SearchPlan,
    VisitOrder,
    bin_local,
    no_clamp,
    visit_order,
)
from sgtb.boosting.trees.forest import ForestBuilder
from sgtb.boosting.trees.histogram import padded
from sgtb.core.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.core.thread_pool import ThreadPool
from sgtb.native import collect_points, list_points, make_collector, pool_gold_paths

_SAMPLE = 200_000
"""Largest number of rows from which the bins of the global features are chosen."""


class Epoch(NamedTuple):
    """The training points of one search of all documents.

    rows       u1[., .]  binned features, padded
    points     i4[N]     the rows that are points of this epoch
    residuals  f8[N]     negative functional gradients (eq. 6)
    accuracy             of the best sequences at the mentions visited, gold path kept
    """

    rows: Bytes
    points: Ints
    residuals: Doubles
    accuracy: float


def training_order(problems: Problems) -> VisitOrder:
    """Return the order of training: mentions with a gold candidate only."""
    return visit_order(problems, problems.gold >= 0, no_clamp(problems))


def choose_bins(problems: Problems, plan: SearchPlan, max_bins: int) -> Binner:
    """Choose the thresholds of all features, local ones first."""
    local = Binner.fit(problems.local, max_bins)
    if not plan.uses_history:
        return local
    pooled = Binner.fit(_gold_path_sample(problems, plan), max_bins)
    return Binner(
        np.concatenate([local.thresholds, pooled.thresholds]),
        np.concatenate([local.n_bins, pooled.n_bins]),
    )


class Collector:
    """Searches the training documents with a growing forest; the workspace is allocated once.

    use_cache  score only new trees for prefixes of earlier epochs
    """

    def __init__(
        self, problems: Problems, plan: SearchPlan, binner: Binner, forest: ForestBuilder,
        pool: ThreadPool, use_cache: bool,
    ) -> None:  # fmt: skip
        self._pool, self._use_cache, self._forest = pool, use_cache, forest
        local, pooled = binner.split(problems.n_local)
        order = training_order(problems)
        model = SearchModel(plan, forest.arrays, 0, pooled.thresholds)
        bins = bin_local(problems, local, pool)
        search = SearchInput(problems, bins, model, no_clamp(problems), pool)
        shares = pool.shares(np.diff(problems.candidate_offsets[problems.mention_offsets]))
        offsets = _point_offsets(plan, order, problems)
        self._n_shares = len(shares)
        self._rows = np.zeros((int(offsets[-1]), padded(binner.n_features)), np.uint8)
        self._points = np.zeros(len(self._rows), np.int32)
        self._residuals = np.zeros(len(self._rows))
        self._collector = make_collector(
            search.arrays(order, plan.beam_width), plan.rules, plan.rounds,
            np.cumsum([0, *map(len, shares)], dtype=np.int32), np.concatenate(shares),
            local.transform(problems.local, pool), offsets, self._rows,
        )  # fmt: skip

    def collect(self) -> Epoch:
        """Search all documents with the current trees of the forest."""
        n_trees, use_cache = self._forest.n_trees, self._use_cache
        self._pool.run(
            lambda share: collect_points(self._collector, share, n_trees, use_cache),
            [(share,) for share in range(self._n_shares)],
        )
        n, right, visited = list_points(self._collector, self._points, self._residuals)
        return Epoch(self._rows, self._points[:n], self._residuals[:n], right / max(visited, 1))


def _point_offsets(plan: SearchPlan, order: VisitOrder, problems: Problems) -> Longs:
    """Return where the points of each document begin, with space for all that the plan can make."""
    steps = np.diff(order.step_offsets).astype(np.int64)
    if plan.uses_history:
        passes = 2 * plan.rounds if plan.bidirectional else 1
        room = steps * (plan.beam_width + 1) * passes
    else:
        sizes = np.diff(problems.candidate_offsets)[order.mention[0]]
        room = np.diff(np.concatenate([[0], np.cumsum(sizes)])[order.step_offsets])
    return np.concatenate([[0], np.cumsum(room)]).astype(np.int64)


def _gold_path_sample(problems: Problems, plan: SearchPlan) -> Floats:
    """Pool the pair features along the gold path, in every direction the plan searches."""
    order = training_order(problems)
    mention = order.mention[: 2 if plan.bidirectional else 1]
    sizes = np.diff(problems.candidate_offsets)[order.mention[0]]
    rows = np.diff(np.concatenate([[0], np.cumsum(sizes)])[order.step_offsets]) * len(mention)
    # A fixed shuffle: neighbouring documents may be of one day or one topic.
    shuffled = np.random.default_rng(0).permutation(len(problems)).astype(np.int32)
    ends = np.cumsum(rows[shuffled])
    n = min(int(np.searchsorted(ends, _SAMPLE)) + 1, len(shuffled))
    out = np.zeros((int(ends[n - 1]) if n else 0, 2 * problems.n_pair), np.float32)
    pool_gold_paths(
        shuffled[:n], problems.pairs.arrays(problems.entity_offsets), order.step_offsets, mention,
        problems.candidate_offsets, problems.entity, problems.gold, out,
    )  # fmt: skip
    return out
