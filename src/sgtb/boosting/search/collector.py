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

_SAMPLE = 200_000  # largest number of rows from which the bins of the global features are chosen


class Epoch(NamedTuple):
    """The training points of one search of all documents."""

    rows: Bytes  # u1[., .], binned features, padded
    points: Ints  # i4[N], the rows that are points of this epoch
    residuals: Doubles  # f8[N], negative functional gradients (eq. 6)
    right: int  # mentions visited whose best sequence is right, gold path kept
    visited: int  # mentions visited


def training_order(problems: Problems) -> VisitOrder:
    """Return the order of training: mentions with a gold candidate only."""
    return visit_order(problems, problems.gold >= 0, no_clamp(problems))


def choose_bins(problems: Problems, plan: SearchPlan, max_bins: int) -> Binner:
    """Choose the thresholds of all features, local ones first."""
    local = Binner.fit(problems.local, max_bins)
    if not plan.uses_history:
        return local
    sample = sampled_documents(gold_path_lengths(problems, plan))
    return local.joined(Binner.fit(gold_path_rows(problems, plan, sample), max_bins))


def gold_path_lengths(problems: Problems, plan: SearchPlan) -> Longs:
    """Return the number of rows that `gold_path_rows` makes of each document: i8[D]."""
    return _candidates_of(training_order(problems), problems) * (2 if plan.bidirectional else 1)


def _candidates_of(order: VisitOrder, problems: Problems) -> Longs:
    """Return the number of candidates of the mentions visited in each document: i8[D]."""
    ends = np.concatenate([[0], np.cumsum(problems.sizes[order.mention[0]], dtype=np.int64)])
    return np.diff(ends[order.step_offsets])


def sampled_documents(rows: Longs) -> Ints:
    """Return documents to choose the bins of global features from, by their rows, i8[D]."""
    # A fixed shuffle: neighbouring documents may be of one day or one topic.
    shuffled = np.random.default_rng(0).permutation(len(rows)).astype(np.int32)
    n = int(np.searchsorted(np.cumsum(rows[shuffled]), _SAMPLE)) + 1
    return shuffled[:n]


def gold_path_rows(problems: Problems, plan: SearchPlan, documents: Ints) -> Floats:
    """Pool the pair features along the gold path, in every direction the plan searches."""
    order = training_order(problems)
    n = int(gold_path_lengths(problems, plan)[documents].sum())
    out = np.zeros((n, 2 * problems.n_pair), np.float32)
    pool_gold_paths(
        documents, problems.pairs.arrays(problems.entity_offsets), order.step_offsets,
        order.mention[: 2 if plan.bidirectional else 1], problems.candidate_offsets,
        problems.entity, problems.gold, out,
    )  # fmt: skip
    return out


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
        # Where the points of each document begin, with space for all that the plan can make.
        room = _candidates_of(order, problems)
        if plan.uses_history:
            passes = 2 * plan.rounds if plan.bidirectional else 1
            room = np.diff(order.step_offsets).astype(np.int64) * (plan.beam_width + 1) * passes
        offsets = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
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
        return Epoch(self._rows, self._points[:n], self._residuals[:n], right, visited)
