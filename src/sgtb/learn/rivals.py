"""Rivals: what else might have been decided, and what later decisions would make of it.

A rival r of the choice at mention m takes its place in the histories of all mentions decided
later. Each of these keeps its own choice y_t, but another history gives it another factor:

    F(x_t, y_t, y_1:t-1 with y_m -> r) - F(x_t, y_t, y_1:t-1)

All rivals of all earlier mentions are dealt with at once: under all their histories it is
the same candidate that is scored, so only its global features differ, and few trees see that.
"""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import ZERO, inner, int64, routine
from sgtb.learn.beam import SearchArrays
from sgtb.learn.binning import bin_value
from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.learn.forest import ForestArrays
from sgtb.learn.lanes import LANES
from sgtb.learn.pairs import PairArrays, pair_values


class Lineup(NamedTuple):
    """Entities side by side, in lanes, to meet one other entity all at once.

    entity    i4[N]
    gathered  f4[W, ., 16]     their vectors
    values    f4[2, E, ., 16]  φ_E of them and the entity met last, for two such entities
    """

    entity: Ints
    gathered: Floats
    values: Floats


class Rivals(NamedTuple):
    """One thread's workspace: T steps, R rivals, F features.

    lineup                  the rivals of all steps so far, step after step
    first_rival  i8[T+1]    where the rivals of each step begin
    number       i8[R]      by which the caller knows a rival
    change       f8[R]      the answer of `reconsider`
    sums, tops   R          pooling of one pair feature
    binned       u1[R+1, F] the step's choice under each rival's history, then under its own
    low, high    u1[F]      the range of these bins
    moved        i8[R]      the rivals that make any difference to them
    columns      u1[2E, R]  the global bins of those, feature by feature
    parts        u1[R]      whether those part from the choice's way through a tree
    parting      i8[R]      the rivals that do
    """

    lineup: Lineup
    first_rival: Longs
    number: Longs
    change: Doubles
    sums: Doubles
    tops: Floats
    binned: Bytes
    low: Bytes
    high: Bytes
    moved: Longs
    columns: Bytes
    parts: Bytes
    parting: Longs


def lineup(n: int, pairs: PairArrays) -> Lineup:
    """Make room for so many entities."""
    n_blocks = -(-n // LANES)
    return Lineup(
        np.zeros(n, np.int32),
        np.zeros((pairs.vectors.shape[1], n_blocks, LANES), np.float32),
        np.zeros((2, pairs.n_features, n_blocks, LANES), np.float32),
    )


def rivals(n: int, n_steps: int, n_local: int, pairs: PairArrays) -> Rivals:
    """Make room for so many rivals in a document of so many steps."""
    n_global = 2 * pairs.n_features
    n_features = n_local + n_global
    return Rivals(
        lineup(n, pairs), np.zeros(n_steps + 1, np.int64), np.zeros(n, np.int64), np.zeros(n),
        np.zeros(n), np.zeros(n, np.float32), np.zeros((n + 1, n_features), np.uint8),
        np.zeros(n_features, np.uint8), np.zeros(n_features, np.uint8), np.zeros(n, np.int64),
        np.zeros((n_global, n), np.uint8), np.zeros(n, np.uint8), np.zeros(n, np.int64),
    )  # fmt: skip


@inner
def follow(pairs: PairArrays, r: Rivals, d: int, step: int, entity: int, number: int) -> None:
    """Reconsider all later steps for this rival of the step's choice."""
    place = r.first_rival[step + 1]
    line_up(pairs, d, entity, place, r.lineup)
    r.number[place] = number
    r.first_rival[step + 1] = place + 1


@inner
def line_up(pairs: PairArrays, d: int, entity: int, place: int, lineup: Lineup) -> None:
    """Put an entity at its place in a lineup."""
    lineup.entity[place] = entity
    if pairs.vectors.shape[1] > 0:
        row = pairs.row[pairs.entity_offsets[d] + entity]
        for k in range(pairs.vectors.shape[1]):
            lineup.gathered[k, place >> 4, place & 15] = pairs.vectors[row, k]


@inner
def meet(pairs: PairArrays, d: int, entity: int, lineup: Lineup, n: int, line: int) -> None:
    """Write φ_E of an entity and the first `n` of a lineup."""
    pair_values(
        pairs, d, entity, lineup.entity, ZERO, n, lineup.gathered, lineup.values, line
    )  # φ_E(a, b) = φ_E(b, a), to the bit: products commute, and their sum keeps its order


@routine
def reconsider(
    s: SearchArrays, n_trees: int, chosen: Lineup, r: Rivals, d: int, step: int, mention: int,
    choice: int,
) -> None:  # fmt: skip
    """Write by how much F of the step's choice changes with each rival in the history.

    This is the first thing to do at a step: rivals to `follow` from here on come after it.
    """
    n = r.first_rival[step]
    r.first_rival[step + 1] = n
    for j in range(n):
        r.change[j] = 0.0
    if n == 0 or s.pairs.n_features == 0:
        return
    entity = int64(s.entity[s.candidate_offsets[mention] + choice])
    meet(s.pairs, d, entity, chosen, step, ZERO)
    meet(s.pairs, d, entity, r.lineup, n, ZERO)
    first = s.mention_blocks[mention]
    n_blocks = s.mention_blocks[mention + 1] - first
    for f in range(s.n_local):
        at = first * s.n_local + f * n_blocks + (choice >> 4)
        r.binned[n, f] = s.local[at, choice & 15]
    for e in range(s.pairs.n_features):
        _pool_rivals(s, chosen, r, step, n, e)
    n_moved = _find_moved(s, r, n)
    if n_moved > 0:
        _add_changes(s.forest, n_trees, r, n, n_moved)


@inner
def _pool_rivals(s: SearchArrays, chosen: Lineup, r: Rivals, step: int, n: int, e: int) -> None:
    """Pool one pair feature of the step's choice under all histories at once, and bin it.

    The history of a rival is that of the others up to its own step, where it takes its turn.
    """
    total, top = np.float64(0.0), np.float32(-np.inf)
    for i in range(step):
        value = chosen.values[0, e, i >> 4, i & 15]
        own, after = r.first_rival[i], r.first_rival[i + 1]
        for j in range(own):
            r.sums[j] += value
            r.tops[j] = value if value > r.tops[j] else r.tops[j]
        for j in range(own, after):
            other = r.lineup.values[0, e, j >> 4, j & 15]
            r.sums[j] = total + other
            r.tops[j] = other if other > top else top
        total += value
        top = value if value > top else top
    mean_at, top_at = s.n_local + e, s.n_local + s.pairs.n_features + e
    for j in range(n):
        mean = np.float32(r.sums[j] / step)
        r.binned[j, mean_at] = bin_value(mean, s.global_thresholds, e)
        r.binned[j, top_at] = bin_value(r.tops[j], s.global_thresholds, s.pairs.n_features + e)
    mean = np.float32(total / step)
    r.binned[n, mean_at] = bin_value(mean, s.global_thresholds, e)
    r.binned[n, top_at] = bin_value(top, s.global_thresholds, s.pairs.n_features + e)


@inner
def _find_moved(s: SearchArrays, r: Rivals, n: int) -> int:
    """List the rivals whose row is not the choice's own; complete their rows, find the range."""
    n_local, n_features = s.n_local, r.binned.shape[1]
    for f in range(n_features):
        r.low[f] = r.binned[n, f]
        r.high[f] = r.binned[n, f]
    n_moved = 0
    for j in range(n):
        same = True
        for f in range(n_local, n_features):
            same = same and r.binned[j, f] == r.binned[n, f]
        if same:
            continue
        for f in range(n_local):
            r.binned[j, f] = r.binned[n, f]
        for f in range(n_local, n_features):
            r.low[f] = min(r.low[f], r.binned[j, f])
            r.high[f] = max(r.high[f], r.binned[j, f])
            r.columns[f - n_local, n_moved] = r.binned[j, f]
        r.moved[n_moved] = j
        n_moved += 1
    return n_moved


@inner
def _add_changes(forest: ForestArrays, n_trees: int, r: Rivals, n: int, n_moved: int) -> None:
    """Add up the trees in which rivals end in another leaf than the choice's own row.

    They do if they part from it at a question on its way. Those that do are found with a few
    vector instructions, and only they are walked.
    """
    for t in range(n_trees):
        node = int64(forest.roots[t])
        start, steps = node, ZERO
        for left in range(forest.depth, 0, -1):
            word = forest.nodes[node]
            feature, border = (word >> 8) & 0xFFFFFF, word & 255
            right = r.binned[n, feature] > border
            if r.low[feature] <= border < r.high[feature]:
                if steps == 0:
                    start, steps = node, int64(left)
                    for k in range(n_moved):
                        r.parts[k] = 0
                _find_parting(r, feature - forest.n_local, np.uint8(border), right, n_moved)
            node = (word >> 32) + right
        if steps == 0:
            continue
        n_parting = ZERO
        for k in range(n_moved):  # no branch: which ones they are is hard to predict
            r.parting[n_parting] = r.moved[k]
            n_parting += r.parts[k]
        for k in range(n_parting):
            j = r.parting[k]
            leaf = find_leaf(forest, start, steps, r.binned, j)
            r.change[j] += forest.value[leaf] - forest.value[node]


@inner
def _find_parting(r: Rivals, column: int, border: np.uint8, right: bool, n_moved: int) -> None:
    if right:
        for k in range(n_moved):
            r.parts[k] |= np.uint8(r.columns[column, k] <= border)
    else:
        for k in range(n_moved):
            r.parts[k] |= np.uint8(r.columns[column, k] > border)


@inner
def find_leaf(forest: ForestArrays, node: int, steps: int, rows: Bytes, line: int) -> int:
    """Return where a row of bins gets from a node in so many steps."""
    for _ in range(steps):
        word = forest.nodes[node]
        node = (word >> 32) + (rows[line, (word >> 8) & 0xFFFFFF] > (word & 255))
    return node
