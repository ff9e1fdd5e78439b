"""The collector: searches the training documents with the forest so far, epoch by epoch."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sgtb.learn.beam import beam
from sgtb.learn.binning import Binner
from sgtb.learn.crew import Crew
from sgtb.learn.decoder import search_arrays
from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints
from sgtb.learn.forest import ForestBuilder
from sgtb.learn.histogram import padded
from sgtb.learn.lanes import LANES, bin_local, block_offsets
from sgtb.learn.plan import PLANS, SearchPlan
from sgtb.learn.pooling import pool, pool_gold_path
from sgtb.learn.prefixes import PrefixCache, prefix_cache
from sgtb.learn.problems import Problems
from sgtb.learn.residuals import (
    collect_local_points,
    collect_points,
    fill_rows,
    room_for_points,
)
from sgtb.learn.routes import Routes, routes

_Task = Callable[[], None]

_SAMPLE = 200_000
"""Rows from which the bins of the global features are chosen, at most."""


class Epoch(NamedTuple):
    """What one search of all documents gave.

    rows       u1[N, .]  binned features of the points, padded
    residuals  f8[N]
    accuracy             of the best sequences among the mentions visited, gold path kept
    """

    rows: Bytes
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
    """Everything an epoch's search needs and keeps, made once."""

    def __init__(
        self, problems: Problems, plan: SearchPlan, binner: Binner, forest: ForestBuilder,
        crew: Crew, remember: bool,
    ) -> None:  # fmt: skip
        self._plan, self._crew, self._remember, self._forest = plan, crew, remember, forest
        local, pooled = binner.split(problems.n_local)
        visits = training_routes(problems)
        self._n_global = pooled.n_features
        self._local_rows = local.transform(problems.local, crew)
        self._search = search_arrays(
            problems, bin_local(problems, local, crew), pooled.thresholds, forest.arrays, plan,
            visits, np.full(problems.n_mentions, -1, np.int32), plan.beam_width,
        )  # fmt: skip
        steps = np.diff(visits.step_offsets)
        candidates = np.diff(problems.candidate_offsets[problems.mention_offsets])
        self._shares = crew.shares(candidates)
        widest = int(np.diff(problems.candidate_offsets).max(initial=1))
        outside = int(candidates.max(initial=0)) if plan.bidirectional else 0
        self._beams = [
            beam(plan.beam_width, int(steps.max(initial=0)), widest, outside, self._search.pairs)
            for _ in self._shares
        ]
        self._cache = _cache(plan, visits, len(problems), self._n_global)
        self._points = room_for_points(plan, visits, problems)
        self._rows = np.zeros((len(self._points.residual), padded(binner.n_features)), np.uint8)
        self._residuals = np.zeros(len(self._points.residual))
        self._held = 0
        self._scores = np.zeros(
            (0 if plan.uses_history else int(block_offsets(problems)[-1]), LANES)
        )
        self._scratch = np.zeros((len(self._shares), widest))

    def collect(self) -> Epoch:
        """Search all documents with the trees that the forest has by now."""
        n_trees = self._forest.n_trees
        if self._plan.uses_history:
            self._crew.run([self._joint(i, n_trees) for i in range(len(self._shares))])
        else:
            if not self._remember:
                self._held = 0
                self._scores[:] = 0.0
            self._crew.run([self._alone(i, n_trees) for i in range(len(self._shares))])
            self._held = n_trees
        return self._gather()

    def _joint(self, i: int, n_trees: int) -> _Task:
        plan = PLANS.index(self._plan.name)
        return lambda: collect_points(
            self._shares[i], self._search, self._cache, self._beams[i], plan, self._plan.rounds,
            n_trees, self._remember, self._points,
        )  # fmt: skip

    def _alone(self, i: int, n_trees: int) -> _Task:
        b = self._beams[i]
        return lambda: collect_local_points(
            self._shares[i], self._search, self._held, n_trees, self._scores, b.allowed,
            self._scratch[i], b.rows, self._points,
        )  # fmt: skip

    def _gather(self) -> Epoch:
        points = self._points
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(points.written)])
        self._crew.run(
            [
                lambda share=share: fill_rows(  # type: ignore[misc]
                    share, points, starts, self._local_rows, self._cache.bins, self._n_global,
                    self._rows, self._residuals,
                )
                for share in self._shares
            ]
        )  # fmt: skip
        n = int(starts[-1])
        accuracy = float(points.right.sum() / max(points.visited.sum(), 1))
        return Epoch(self._rows[:n], self._residuals[:n], accuracy)


def _cache(plan: SearchPlan, visits: Routes, n_documents: int, n_global: int) -> PrefixCache:
    n_directions = 2 if plan.bidirectional else 1
    # Room for the beams of all rounds, which the points refer to until the epoch's end, and in
    # any case for as many prefixes as a beam has that were in it of late.
    n_slots = max(2, plan.rounds if plan.bidirectional else 1) * (plan.beam_width + 1)
    if not plan.uses_history:
        return prefix_cache(1, 1, 0, 0, 0, 0)
    return prefix_cache(
        n_slots, n_directions, int(visits.step_offsets[-1]), int(visits.block_offsets[0, -1]),
        n_documents, n_global,
    )  # fmt: skip


def _gold_path_sample(problems: Problems, plan: SearchPlan) -> Floats:
    """Pool the pair features along the gold path, in every direction the plan searches."""
    visits = training_routes(problems)
    pairs = problems.pairs.arrays(problems.entity_offsets)
    sizes = np.diff(problems.candidate_offsets)
    steps = int(np.diff(visits.step_offsets).max(initial=0))
    scratch = pool(1, steps, int(sizes.max(initial=1)), pairs)
    parts = [np.zeros((0, 2 * problems.n_pair), np.float32)]
    written = 0
    # A fixed shuffle: the documents sampled should not be those of one day or one topic.
    for d in np.random.default_rng(0).permutation(len(problems)):
        for direction in range(2 if plan.bidirectional else 1):
            order: Ints = visits.mention[
                direction, visits.step_offsets[d] : visits.step_offsets[d + 1]
            ]
            part = np.zeros((int(sizes[order].sum()), 2 * problems.n_pair), np.float32)
            pool_gold_path(
                pairs, int(d), order, problems.candidate_offsets, problems.entity, problems.gold,
                scratch, part,
            )  # fmt: skip
            parts.append(part)
            written += len(part)
        if written >= _SAMPLE:
            break
    return np.concatenate(parts)
