"""Rivals: what else might have been decided, and what later decisions would make of it.

A rival r of the choice at mention m takes its place in the histories of all mentions decided
later. Each of these keeps its own choice y_t, but another history gives it another factor:

    F(x_t, y_t, y_1:t-1 with y_m -> r) - F(x_t, y_t, y_1:t-1)

All rivals of all earlier mentions are dealt with at once: under all their histories it is
the same candidate that is scored, so only its global features differ, and on bins many of them
are the same ones.
"""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import ONE, ZERO, inner, int64, routine
from sgtb.learn.asking import sum_leaves
from sgtb.learn.beam import SearchArrays
from sgtb.learn.binning import bin_value
from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.learn.forest import ForestArrays
from sgtb.learn.lanes import LANES
from sgtb.learn.local_answers import LocalAnswers
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

    lineup                   the rivals of all steps so far, step after step
    first_rival  i8[T+1]     where the rivals of each step begin
    number       i8[R]       by which the caller knows a rival
    change       f8[R+1]     the answer of `reconsider`
    sums, tops   R           pooling of one pair feature
    bins         u1[2E, R+1] the step's choice under each rival's history, then under its own
    twin         i8[R+1]     the first of those that have the same bins
    table        i8[.]       scratch: a hash table of these
    row          u1[1, F]    scratch: one of them together with the local bins
    """

    lineup: Lineup
    first_rival: Longs
    number: Longs
    change: Doubles
    sums: Doubles
    tops: Floats
    bins: Bytes
    twin: Longs
    table: Longs
    row: Bytes


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
    return Rivals(
        lineup(n, pairs), np.zeros(n_steps + 1, np.int64), np.zeros(n, np.int64), np.zeros(n + 1),
        np.zeros(n), np.zeros(n, np.float32), np.zeros((n_global, n + 1), np.uint8),
        np.zeros(n + 1, np.int64), np.zeros(1 << (2 * n + 1).bit_length(), np.int64),
        np.zeros((1, n_local + n_global), np.uint8),
    )  # fmt: skip


@inner
def follow(pairs: PairArrays, r: Rivals, d: int, step: int, entity: int, number: int) -> None:
    """Reconsider all later steps for this rival of the step's choice."""
    place = r.first_rival[step + 1]
    join(pairs, d, entity, place, r.lineup)
    r.number[place] = number
    r.first_rival[step + 1] = place + 1


@inner
def join(pairs: PairArrays, d: int, entity: int, place: int, lineup: Lineup) -> None:
    """Give an entity its place in a lineup."""
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
    s: SearchArrays, n_trees: int, answers: LocalAnswers, chosen: Lineup, r: Rivals, d: int,
    step: int, mention: int, choice: int,
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
    for e in range(s.pairs.n_features):
        _pool_rivals(s, chosen, r, step, n, e)
    if not _find_twins(r, n):
        return
    lane = ZERO
    if answers.n_trees == 0:
        _copy_local_bins(s, mention, choice, r.row)
    else:
        lane = answers.lane[d] + step
    own = _sum_trees(s.forest, n_trees, answers, r, lane, n)
    r.change[n] = 0.0
    for j in range(n):
        if r.twin[j] == j:
            r.change[j] = _sum_trees(s.forest, n_trees, answers, r, lane, j) - own
        else:
            r.change[j] = r.change[r.twin[j]]


@inner
def _pool_rivals(s: SearchArrays, chosen: Lineup, r: Rivals, step: int, n: int, e: int) -> None:
    """Pool one pair feature of the step's choice under all histories at once, and bin it.

    The history of a rival is that of the others up to its own step, where it takes its turn.
    """
    total, top = np.float64(0.0), np.float32(-np.inf)
    differ = False
    for i in range(step):
        value = chosen.values[0, e, i >> 4, i & 15]
        for j in range(r.first_rival[i], r.first_rival[i + 1]):
            other = r.lineup.values[0, e, j >> 4, j & 15]
            r.sums[j] = total + other
            r.tops[j] = other if other > top else top
            differ = differ or other != value
        total += value
        top = value if value > top else top
    thresholds, top_at = s.global_thresholds, s.pairs.n_features + e
    own = bin_value(np.float32(total / step), thresholds, e)
    own_top = bin_value(top, thresholds, top_at)
    r.bins[e, n], r.bins[top_at, n] = own, own_top
    if not differ:
        for j in range(n):
            r.bins[e, j], r.bins[top_at, j] = own, own_top
        return
    _add_later_values(chosen.values, r, step, e)
    for j in range(n):  # many rivals leave a sum as it was, and most of them the maximum
        same, same_top = r.sums[j] == total, r.tops[j] == top
        mean = np.float32(r.sums[j] / step)
        r.bins[e, j] = own if same else bin_value(mean, thresholds, e)
        r.bins[top_at, j] = own_top if same_top else bin_value(r.tops[j], thresholds, top_at)


@inner
def _add_later_values(values: Floats, r: Rivals, step: int, e: int) -> None:
    """Go on from each rival's turn to the last decision before this step.

    Two decisions at a time: fewer round trips of the sums to memory.
    """
    i = ONE
    while i < step:
        value, both = values[0, e, i >> 4, i & 15], i + 1 < step
        if not both:
            for j in range(r.first_rival[i]):
                r.sums[j] += value
                r.tops[j] = max(value, r.tops[j])
            return
        later = values[0, e, (i + 1) >> 4, (i + 1) & 15]
        higher = later if later > value else value
        for j in range(r.first_rival[i]):
            r.sums[j] = (r.sums[j] + value) + later
            r.tops[j] = max(higher, r.tops[j])
        for j in range(r.first_rival[i], r.first_rival[i + 1]):
            r.sums[j] += later
            r.tops[j] = max(later, r.tops[j])
        i += 2


@inner
def _find_twins(r: Rivals, n: int) -> bool:
    """Find histories with the same bins; return whether any has others than the choice's own.

    Most rivals make no difference, or one that others make, too: trees are asked once for all.
    """
    last = ONE  # places of the hash table, all but one; half of them or more stay free
    while last < 2 * n + 1:
        last = 2 * last + 1
    for place in range(last + 1):
        r.table[place] = -1
    moved = False
    for i in range(n + 1):
        j = (n - i) if i == 0 else (i - 1)  # its own comes first
        place = ZERO
        for g in range(r.bins.shape[0]):
            place = (place * 31 + r.bins[g, j]) & 0xFFFFFFFF
        place = (place ^ place >> 15) & last
        while r.table[place] >= 0 and not _same_bins(r.bins, j, r.table[place]):
            place = (place + 1) & last
        if r.table[place] < 0:
            r.table[place] = j
            moved = i > 0
        r.twin[j] = r.table[place]
    return moved


@inner
def _same_bins(bins: Bytes, one: int, other: int) -> bool:
    same = True
    for g in range(bins.shape[0]):
        same = same and bins[g, one] == bins[g, other]
    return same


@inner
def _sum_trees(
    forest: ForestArrays, n_trees: int, a: LocalAnswers, r: Rivals, lane: int, j: int
) -> float:
    """Return the sum of the trees that histories have a say in, for the step's choice."""
    if a.n_trees > 0:
        return sum_leaves(a.asking, a.masks[lane], r.bins, ZERO, ONE, j, a.left)
    n_global = r.bins.shape[0]
    for g in range(n_global):
        r.row[0, r.row.shape[1] - n_global + g] = r.bins[g, j]
    total = 0.0
    for t in range(n_trees):
        leaf = find_leaf(forest, int64(forest.roots[t]), forest.depth, r.row, ZERO)
        total += forest.value[leaf]
    return total


@inner
def _copy_local_bins(s: SearchArrays, mention: int, choice: int, row: Bytes) -> None:
    first = s.mention_blocks[mention]
    n_blocks = s.mention_blocks[mention + 1] - first
    for f in range(s.n_local):
        at = first * s.n_local + f * n_blocks + (choice >> 4)
        row[0, f] = s.local[at, choice & 15]


@inner
def find_leaf(forest: ForestArrays, node: int, steps: int, rows: Bytes, line: int) -> int:
    """Return where a row of bins gets from a node in so many steps."""
    for _ in range(steps):
        word = forest.nodes[node]
        node = (word >> 32) + (rows[line, (word >> 8) & 0xFFFFFF] > (word & 255))
    return node
