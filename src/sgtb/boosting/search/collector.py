"""The collector: searches the training documents with the forest so far, epoch by epoch."""

from typing import NamedTuple

import numpy as np

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.candidate_blocks import bin_local
from sgtb.boosting.search.decoder import search_arrays
from sgtb.boosting.search.plan import PLANS, SearchPlan
from sgtb.boosting.search.visit_order import Routes, routes
from sgtb.boosting.trees.forest import ForestBuilder
from sgtb.boosting.trees.histogram import padded
from sgtb.core.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.core.thread_pool import Crew
from sgtb.native import collect_points, list_points, make_collector, pool_gold_paths

_SAMPLE = 200_000
"""Rows from which the bins of the global features are chosen, at most."""


class Epoch(NamedTuple):
    """The training points that one search of all documents gave.

    rows       u1[., .]  binned features, padded
    points     i4[N]     the rows that are points of this epoch
    residuals  f8[N]
    accuracy             of the best sequences among the mentions visited, gold path kept
    """

    rows: Bytes
    points: Ints
    residuals: Doubles
    accuracy: float


def training_routes(problems: Problems) -> Routes:
    """Return the visits of training: a mention without its gold candidate teaches nothing."""
    return routes(problems, problems.gold >= 0, np.full(problems.n_mentions, -1, np.int32))


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
    """Searches the training documents with a growing forest; the workspace is made once."""

    def __init__(
        self, problems: Problems, plan: SearchPlan, binner: Binner, forest: ForestBuilder,
        crew: Crew, remember: bool,
    ) -> None:  # fmt: skip
        self._crew, self._remember, self._forest = crew, remember, forest
        local, pooled = binner.split(problems.n_local)
        visits = training_routes(problems)
        search = search_arrays(
            problems, bin_local(problems, local, crew), pooled.thresholds, forest.arrays, plan,
            visits, np.full(problems.n_mentions, -1, np.int32), plan.beam_width,
        )  # fmt: skip
        shares = crew.shares(np.diff(problems.candidate_offsets[problems.mention_offsets]))
        offsets = _point_offsets(plan, visits, problems)
        self._n_shares = len(shares)
        self._rows = np.zeros((int(offsets[-1]), padded(binner.n_features)), np.uint8)
        self._points = np.zeros(len(self._rows), np.int32)
        self._residuals = np.zeros(len(self._rows))
        self._collector = make_collector(
            search, PLANS.index(plan.name), plan.rounds,
            np.cumsum([0, *map(len, shares)], dtype=np.int32), np.concatenate(shares),
            local.transform(problems.local, crew), offsets, self._rows,
        )  # fmt: skip

    def collect(self) -> Epoch:
        """Search all documents with the trees that the forest has by now."""
        n_trees = self._forest.n_trees
        self._crew.run(
            [
                lambda i=i: collect_points(self._collector, i, n_trees, self._remember)  # type: ignore[misc]
                for i in range(self._n_shares)
            ]
        )
        n, right, visited = list_points(self._collector, self._points, self._residuals)
        return Epoch(self._rows, self._points[:n], self._residuals[:n], right / max(visited, 1))


def _point_offsets(plan: SearchPlan, visits: Routes, problems: Problems) -> Longs:
    """Return where the points of each document begin, with room for all that the plan can make."""
    steps = np.diff(visits.step_offsets).astype(np.int64)
    if plan.uses_history:
        passes = 2 * plan.rounds if plan.bidirectional else 1
        room = steps * (plan.beam_width + 1) * passes
    else:
        sizes = np.diff(problems.candidate_offsets)[visits.mention[0]]
        room = np.diff(np.concatenate([[0], np.cumsum(sizes)])[visits.step_offsets])
    return np.concatenate([[0], np.cumsum(room)]).astype(np.int64)


def _gold_path_sample(problems: Problems, plan: SearchPlan) -> Floats:
    """Pool the pair features along the gold path, in every direction the plan searches."""
    visits = training_routes(problems)
    mention = visits.mention[: 2 if plan.bidirectional else 1]
    sizes = np.diff(problems.candidate_offsets)[visits.mention[0]]
    rows = np.diff(np.concatenate([[0], np.cumsum(sizes)])[visits.step_offsets]) * len(mention)
    # A fixed shuffle: the documents sampled should not be those of one day or one topic.
    order = np.random.default_rng(0).permutation(len(problems)).astype(np.int32)
    ends = np.cumsum(rows[order])
    n = min(int(np.searchsorted(ends, _SAMPLE)) + 1, len(order))
    out = np.zeros((int(ends[n - 1]) if n else 0, 2 * problems.n_pair), np.float32)
    pool_gold_paths(
        order[:n], problems.pairs.arrays(problems.entity_offsets), visits.step_offsets, mention,
        problems.candidate_offsets, problems.entity, problems.gold, out,
    )  # fmt: skip
    return out
