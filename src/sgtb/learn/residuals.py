"""Residuals: from beams to training points, plan by plan.

A point is a row φ(x, y_t, history) and the negative functional gradient there (eq. 5),

    1[y_1:t = y*_1:t] − p(y_1:t | x)

with p the softmax of S over the beam the partial sequence stands in.
"""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import NO, ONE, YES, ZERO, inner, int64, kernel, routine
from sgtb.learn.beam import (
    BACKWARD,
    FORWARD,
    Beam,
    SearchArrays,
    best_hypothesis,
    restart_from_gold,
    run_pass,
    softmax,
    start_pass,
)
from sgtb.learn.dtypes import Bytes, Doubles, Ints, Longs
from sgtb.learn.forest import add_trees
from sgtb.learn.plan import PLANS, SearchPlan
from sgtb.learn.prefixes import PrefixCache, forget
from sgtb.learn.problems import Problems
from sgtb.learn.routes import Routes

LOCAL, BS, LASO, BSG, BIBSG = range(5)
assert PLANS == ("local", "bs", "laso", "bsg", "bibsg")


class Points(NamedTuple):
    """The points of all documents; each document writes to its own room.

    offsets    i8[D+1]  where each document's room begins
    written    i8[D]    how many points it has
    candidate  i4[P]    the candidate, whose local bins are the first part of the row
    block      i8[P]    the cache block with the first of its global bins, the rest of the row
    stride     i4[P]    blocks from one global feature to the next
    lane       i4[P]    the candidate's place in these blocks
    residual   f8[P]
    right      i8[D]    mentions that the best sequence got right, of those it visited
    visited    i8[D]
    """

    offsets: Longs
    written: Longs
    candidate: Ints
    block: Longs
    stride: Ints
    lane: Ints
    residual: Doubles
    right: Longs
    visited: Longs


def room_for_points(plan: SearchPlan, routes: Routes, problems: Problems) -> Points:
    """Make room for as many points as the plan can make of the documents."""
    steps = np.diff(routes.step_offsets).astype(np.int64)
    if plan.uses_history:
        passes = 2 * plan.rounds if plan.bidirectional else 1
        room = steps * (plan.beam_width + 1) * passes
    else:
        sizes = np.diff(problems.candidate_offsets)[routes.mention[FORWARD]]
        room = np.diff(np.concatenate([[0], np.cumsum(sizes)])[routes.step_offsets])
    offsets = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    n = int(offsets[-1])
    return Points(
        offsets, np.zeros(len(steps), np.int64), np.zeros(n, np.int32), np.zeros(n, np.int64),
        np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n),
        np.zeros(len(steps), np.int64), np.zeros(len(steps), np.int64),
    )  # fmt: skip


@kernel
def collect_points(
    documents: Ints, s: SearchArrays, cache: PrefixCache, b: Beam, plan: int, rounds: int,
    n_trees: int, remember: bool, points: Points,
) -> None:  # fmt: skip
    """Search the documents with the forest as it is, and write down the points."""
    for document in documents:
        d = int64(document)
        points.written[d] = 0
        points.right[d] = 0
        points.visited[d] = 0
        if s.step_offsets[d] == s.step_offsets[d + 1]:
            continue
        if not remember:
            forget(
                cache,
                s.mention.shape[0],
                int64(s.step_offsets[d]),
                int64(s.step_offsets[d + 1] - s.step_offsets[d]),
            )
        if plan == 1 or plan == 2:
            _until_errors(s, cache, b, d, n_trees, plan == 2, points)
        elif plan == 3:
            _every_step(s, cache, b, d, FORWARD, n_trees, NO, points)
        else:
            for r in range(rounds):
                _every_step(s, cache, b, d, FORWARD, n_trees, r > 0, points)
                _every_step(s, cache, b, d, BACKWARD, n_trees, YES, points)


@routine
def _every_step(
    s: SearchArrays,
    cache: PrefixCache,
    b: Beam,
    d: int,
    direction: int,
    n_trees: int,
    guided: bool,
    points: Points,
) -> None:
    """BSG and each pass of BiBSG: the gold path stays in, every beam gives points."""
    first_step = int64(s.step_offsets[d])
    first_block = s.step_blocks[direction, first_step]
    start_pass(b)
    end = run_pass(
        s, cache, b, d, first_step, first_block, direction, ZERO, n_trees, guided, YES, NO
    )
    for level in range(1, end + 1):
        softmax(b.score, level, b.width[level], b.probability)
        for h in range(b.width[level]):
            _write(s, cache, b, d, direction, level, h, b.probability[h], points)
    _count_right(s, b, d, direction, ZERO, end, points)


@routine
def _until_errors(
    s: SearchArrays, cache: PrefixCache, b: Beam, d: int, n_trees: int, go_on: bool, points: Points
) -> None:
    """Early update and LaSO: points where the gold path leaves the beam, and at the end."""
    first_step = int64(s.step_offsets[d])
    n = s.step_offsets[d + 1] - first_step
    first_block = s.step_blocks[FORWARD, first_step]
    start_pass(b)
    begin = ZERO
    while begin < n:
        end = run_pass(
            s, cache, b, d, first_step, first_block, FORWARD, begin, n_trees, NO, YES, YES
        )
        _marginal_points(s, cache, b, d, begin, end, points)
        _count_right(s, b, d, FORWARD, begin, end, points)
        if not go_on:
            return
        restart_from_gold(b, end)
        begin = end


@routine
def _marginal_points(
    s: SearchArrays, cache: PrefixCache, b: Beam, d: int, begin: int, end: int, points: Points
) -> None:
    """Write every distinct prefix of the sequences of one level, with its marginal."""
    softmax(b.score, end, b.width[end], b.probability)
    for level in range(end, begin, -1):
        above = b.key  # free between steps; -1: no sequence of the last level passes here
        for h in range(b.width[level - 1]):
            above[h] = -1.0
        for h in range(b.width[level]):
            if b.probability[h] < 0.0:
                continue
            _write(s, cache, b, d, FORWARD, level, h, b.probability[h], points)
            parent = b.parent[level, h]
            above[parent] = max(above[parent], 0.0) + b.probability[h]
        for h in range(b.width[level - 1]):
            b.probability[h] = above[h]


@inner
def _write(
    s: SearchArrays, cache: PrefixCache, b: Beam, d: int, direction: int, level: int, h: int,
    probability: float, points: Points,
) -> None:  # fmt: skip
    step = s.step_offsets[d] + level - 1
    mention = s.mention[direction, step]
    first = s.candidate_offsets[mention]
    n_blocks = (s.candidate_offsets[mention + 1] - first + 15) >> 4
    table = (direction * cache.n_tables + step) * cache.n_slots
    block = (direction * cache.n_blocks + s.step_blocks[direction, step]) * cache.n_slots
    row = block + (b.slot[level - 1, b.parent[level, h]] - table) * n_blocks
    choice = b.choice[level, h]
    at = points.offsets[d] + points.written[d]
    points.candidate[at] = first + choice
    points.block[at] = row * cache.n_global + (choice >> 4)
    points.stride[at] = n_blocks
    points.lane[at] = choice & 15
    points.residual[at] = (1.0 if h == b.gold[level] else 0.0) - probability
    points.written[d] += 1


@inner
def _count_right(
    s: SearchArrays, b: Beam, d: int, direction: int, begin: int, end: int, points: Points
) -> None:
    """Compare the best sequence of level `end` with the gold, back to level `begin`."""
    h = best_hypothesis(b, end)
    for level in range(end, begin, -1):
        mention = s.mention[direction, s.step_offsets[d] + level - 1]
        points.right[d] += b.choice[level, h] == s.gold[mention]
        points.visited[d] += 1
        h = b.parent[level, h]


@kernel
def collect_local_points(
    documents: Ints, s: SearchArrays, held: int, n_trees: int, score: Doubles,
    allowed: Bytes, probability: Doubles, row: Longs, points: Points,
) -> None:  # fmt: skip
    """Every mention alone: all its candidates are points, with softmax over all of them.

    score holds, in lane blocks, the first `held` trees; the arrays after it are scratch.
    """
    for d in documents:
        at = points.offsets[d]
        points.right[d] = 0
        points.visited[d] = s.step_offsets[d + 1] - s.step_offsets[d]
        for step in range(s.step_offsets[d], s.step_offsets[d + 1]):
            mention = s.mention[FORWARD, step]
            first = s.candidate_offsets[mention]
            n = s.candidate_offsets[mention + 1] - first
            row[0] = s.mention_blocks[mention]
            add_trees(
                s.forest, held, n_trees, s.local, row[0] * s.n_local, int64(n + 15) >> 4, row, ONE,
                s.local, ZERO, allowed, score,
            )  # fmt: skip
            best = 0
            for c in range(n):
                probability[c] = score[row[0] + (c >> 4), c & 15]
                higher = probability[c] > probability[best]
                equal = probability[c] == probability[best]
                if higher or (equal and s.entity[first + c] < s.entity[first + best]):
                    best = c
            top, total = probability[best], 0.0
            for c in range(n):
                probability[c] = np.exp(probability[c] - top)
                total += probability[c]
            for c in range(n):
                is_gold = c == s.gold[mention]
                points.candidate[at] = first + c
                points.residual[at] = (1.0 if is_gold else 0.0) - probability[c] / total
                at += 1
            points.right[d] += best == s.gold[mention]
        points.written[d] = at - points.offsets[d]


@kernel
def fill_rows(
    documents: Ints, points: Points, starts: Longs, local: Bytes, bins: Bytes, n_global: int,
    x: Bytes, y: Doubles,
) -> None:  # fmt: skip
    """Write the points' rows and residuals, without gaps: document d begins at starts[d].

    Here `local` has a row per candidate.
    """
    n_local = local.shape[1]
    for d in documents:
        for i in range(points.written[d]):
            at = points.offsets[d] + i
            to = starts[d] + i
            candidate, lane = points.candidate[at], points.lane[at]
            for f in range(n_local):
                x[to, f] = local[candidate, f]
            for f in range(n_global):
                x[to, n_local + f] = bins[points.block[at] + f * points.stride[at], lane]
            y[to] = points.residual[at]
