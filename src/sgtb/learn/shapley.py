"""Shapley values: the difference of two rows' scores, shared out over the features.

Between a row y and a row r stand all rows that take some features from y and the rest from r.
A feature's part is what taking it from y instead of r adds to F, averaged over all orders in
which features may be taken over one after the other. The parts add up to F(y) - F(r).

In a tree this needs no rows in between. Both rows walk down together; where they part, the
walk goes both ways, and the feature asked about follows y on the one way and r on the other,
for good. A leaf reached with u features following y and v following r is that of every row in
between which agrees with these u + v, so it gives

    value * (u-1)! v! / (u+v)!   to each feature that follows y,
    value * u! (v-1)! / (u+v)!   from each one that follows r.
"""

from math import factorial
from typing import NamedTuple

import numpy as np

from sgtb.kernels import inner, int64, routine
from sgtb.learn.dtypes import Bytes, Doubles, Ints, Longs
from sgtb.learn.forest import ForestArrays


class Shapley(NamedTuple):
    """One thread's workspace, for trees of depth D and F features.

    part    f8[F]         the answer
    follows u1[F]         0: not asked about yet, 1: y, 2: r
    feature i4[D]         the features on the way at which the rows parted
    other   i8[D]         the way not yet taken there
    weight  f8[D+1, D+1]  (u-1)! v! / (u+v)!
    """

    part: Doubles
    follows: Bytes
    feature: Ints
    other: Longs
    weight: Doubles


def shapley(depth: int, n_features: int) -> Shapley:
    """Make the workspace."""
    weight = np.zeros((depth + 1, depth + 1))
    for u in range(1, depth + 1):
        for v in range(depth + 1):
            weight[u, v] = factorial(u - 1) * factorial(v) / factorial(u + v)
    return Shapley(
        np.zeros(n_features), np.zeros(n_features, np.uint8),
        np.zeros(depth, np.int32), np.zeros(depth, np.int64), weight,
    )  # fmt: skip


@routine
def share_out(forest: ForestArrays, n_trees: int, rows: Bytes, y: int, r: int, s: Shapley) -> None:
    """Write every feature's part of F(rows[y]) - F(rows[r]); rows are bins."""
    for f in range(s.part.shape[0]):
        s.part[f] = 0.0
    for t in range(n_trees):
        _share_out_tree(forest, int64(forest.roots[t]), rows, y, r, s)


@inner
def _share_out_tree(
    forest: ForestArrays, node: int, rows: Bytes, y: int, r: int, s: Shapley
) -> None:
    parted = 0
    n_y = 0
    while True:
        word = forest.nodes[node]
        while (word >> 32) != node:  # a leaf is its own child
            feature, border = (word >> 8) & 0xFFFFFF, word & 255
            right, other = rows[y, feature] > border, rows[r, feature] > border
            if right != other:
                if s.follows[feature] == 0:
                    s.follows[feature] = 1
                    s.feature[parted] = feature
                    s.other[parted] = (word >> 32) + other
                    parted += 1
                    n_y += 1
                elif s.follows[feature] == 2:
                    right = other
            node = (word >> 32) + right
            word = forest.nodes[node]
        if parted == 0:
            return
        _share_out_leaf(s, forest.value[node], parted, n_y)
        while parted > 0 and s.follows[s.feature[parted - 1]] == 2:
            parted -= 1
            s.follows[s.feature[parted]] = 0
        if parted == 0:
            return
        s.follows[s.feature[parted - 1]] = 2
        n_y -= 1
        node = s.other[parted - 1]


@inner
def _share_out_leaf(s: Shapley, value: float, parted: int, n_y: int) -> None:
    gain, loss = value * s.weight[n_y, parted - n_y], value * s.weight[parted - n_y, n_y]
    for i in range(parted):
        feature = s.feature[i]
        s.part[feature] += gain if s.follows[feature] == 1 else -loss
