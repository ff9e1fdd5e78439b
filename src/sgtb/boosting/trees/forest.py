"""Forest: F(row) = Σ η·h_m(row) (eq. 7), all trees in flat node arrays with root offsets.

    trees      0                      1
    nodes      0   1   2   3   4      5   6   7       roots [0, 5, 8]
    left       1   0   3   0   0      6   0   0       right = left + 1; 0 in a leaf

Kernels compare bins; a trained forest holds real thresholds. `compiled` converts the one to the
other: the thresholds in use become the borders of the bins.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.trees.grower import Tree
from sgtb.core.dtypes import Doubles, Floats, Ints, Longs

MAX_FEATURES = 2**16


class ForestArrays(NamedTuple):
    """The kernels' view: trees on bins, in one of two forms.

    Deep trees are walked. A node is one word, and a leaf is its own left child, so that every
    walk takes `depth` steps:

        63        32 31       8 7     0
        | left child |  feature |  bin  |

    Shallow trees, up to MASKED_DEPTH, evaluate all their splits, in any order. A split with the
    result "right" rules out the leaves on its left; the first leaf that remains is the one where a
    walk would end. The leaves are the bits of up to four bytes, the planes, so a split of sixteen
    candidates takes a few vector instructions, and the results of splits on local features are
    shared by all histories. A leaf above the lowest level stands for all leaves that could be
    below it, so that the leaves left of a split are whole planes, or part of one plane. A split is
    one word per plane that it affects, local ones first:

        42  40 39            32 31       8 7     0
        | plane | remaining leaves |  feature |  bin  |
    """

    depth: int
    planes: int
    words: int  # capacity for the splits of a tree
    n_local: int
    roots: Ints
    nodes: Longs
    value: Doubles
    splits: Longs
    local_splits: Ints
    global_splits: Ints
    leaf_value: Doubles


_PLANE_DEPTH = 3
_PLANE = 2**_PLANE_DEPTH  # leaves that are the bits of a byte
_ALL = 2**_PLANE - 1
MASKED_DEPTH = 5


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees with real thresholds: go left if value <= threshold."""

    roots: Ints  # i4[M+1], where each tree's nodes begin
    feature: Ints  # i4[N], the feature tested, -1 in a leaf
    threshold: Floats  # f4[N]
    left: Ints  # i4[N], the left child, the right one follows it; 0 in a leaf
    value: Doubles  # f8[N], a leaf's value, 0 elsewhere

    @property
    def n_trees(self) -> int:
        """M."""
        return len(self.roots) - 1

    def first(self, n_trees: int) -> Self:
        """Return the forest of the first trees."""
        n = self.roots[n_trees]
        return type(self)(
            roots=self.roots[: n_trees + 1], feature=self.feature[:n],
            threshold=self.threshold[:n], left=self.left[:n], value=self.value[:n],
        )  # fmt: skip

    def distinct_splits(self) -> tuple[Ints, Floats]:
        """Return feature and threshold of all distinct splits, in ascending order."""
        order = np.lexsort((self.threshold, self.feature))
        feature, threshold = self.feature[order], self.threshold[order]
        kept = feature >= 0
        kept[1:] &= (feature[1:] != feature[:-1]) | (threshold[1:] != threshold[:-1])
        return feature[kept], threshold[kept]

    def compiled(self, n_local: int, n_features: int) -> tuple[ForestArrays, Binner]:
        """Return the trees on bins, and their binner."""
        feature, threshold = self.distinct_splits()
        borders = np.searchsorted(feature, np.arange(1, n_features))
        binner = Binner.of(np.split(threshold, borders)[:n_features])  # none without features
        arrays = _empty_arrays(self.n_trees, len(self.feature), self.depth(), n_local)
        arrays.roots[:] = self.roots
        for t, tree in enumerate(self.trees(binner)):
            _write_tree(arrays, t, tree)
        return arrays, binner

    def trees(self, binner: Binner) -> Iterator[Tree]:
        """Yield the trees on the bins of a binner that has their thresholds."""
        bins = np.zeros(len(self.feature), np.uint8)
        for f in range(binner.n_features):
            own = self.feature == f
            bins[own] = np.searchsorted(binner.thresholds[f], self.threshold[own])
        for a, b in pairwise(self.roots.tolist()):
            left = np.where(self.left[a:b] > 0, self.left[a:b] - a, 0)
            yield Tree(self.feature[a:b], bins[a:b], left, self.value[a:b])

    def depth(self) -> int:
        """Return the number of splits on the longest path to a leaf."""
        levels = np.zeros(len(self.left), np.int64)
        for node in np.flatnonzero(self.left):  # parents come before their children
            levels[self.left[node]] = levels[self.left[node] + 1] = levels[node] + 1
        return int(levels.max(initial=0))

    def predict(self, rows: Floats) -> Doubles:
        """Return F of raw feature rows: one plain walk per row and tree."""
        node = np.tile(self.roots[:-1], (len(rows), 1))
        row = np.arange(len(rows))[:, None]
        while (inside := self.left[node] > 0).any():
            right = rows[row, self.feature[node]] > self.threshold[node]
            node = np.where(inside, self.left[node] + right, node)
        scores: Doubles = self.value[node].sum(axis=1)
        return scores


def _empty_arrays(n_trees: int, n_nodes: int, depth: int, n_local: int) -> ForestArrays:
    masked = n_trees if depth <= MASKED_DEPTH else 0
    planes = 1 << max(depth - _PLANE_DEPTH, 0)
    words = (1 << depth) - 1 + max(planes // 2 - 1, 0)  # the topmost affects half the planes
    return ForestArrays(
        depth=depth,
        planes=planes,
        words=words,
        n_local=n_local,
        roots=np.zeros(n_trees + 1, np.int32),
        nodes=np.zeros(n_nodes, np.int64),
        value=np.zeros(n_nodes),
        splits=np.zeros(masked * words, np.int64),
        local_splits=np.zeros(masked, np.int32),
        global_splits=np.zeros(masked, np.int32),
        leaf_value=np.zeros((masked, _PLANE * planes)),
    )


def _write_tree(arrays: ForestArrays, t: int, tree: Tree) -> None:
    """Write a tree at roots[t], in both forms."""
    start, n = int(arrays.roots[t]), len(tree.feature)
    inside = tree.left > 0
    child = np.where(inside, tree.left, np.arange(n)).astype(np.int64) + start
    feature = np.where(inside, tree.feature, 0).astype(np.int64)
    border = np.where(inside, tree.bin, 255).astype(np.int64)
    arrays.nodes[start : start + n] = (child << 32) | (feature << 8) | border
    arrays.value[start : start + n] = tree.value
    if arrays.depth <= MASKED_DEPTH:
        _write_splits(arrays, t, tree)


def _write_splits(arrays: ForestArrays, t: int, tree: Tree) -> None:
    locals_: list[int] = []
    globals_: list[int] = []

    def visit(node: int, first: int, size: int) -> None:
        """Write the subtree of a node: `size` leaves from number `first` on."""
        left = int(tree.left[node])
        if left == 0:
            arrays.leaf_value[t, first : first + size] = tree.value[node]
            return
        feature = int(tree.feature[node])
        is_local = feature < arrays.n_local
        own = feature if is_local else feature - arrays.n_local
        half = size // 2
        for plane in range(first // _PLANE, (first + half - 1) // _PLANE + 1):
            begin = max(first - plane * _PLANE, 0)
            end = min(first + half - plane * _PLANE, _PLANE)
            ruled_out = (1 << end) - (1 << begin)
            word = (plane << 40) | ((_ALL & ~ruled_out) << 32) | (own << 8) | int(tree.bin[node])
            (locals_ if is_local else globals_).append(word)
        visit(left, first, half)
        visit(left + 1, first + half, half)

    visit(0, 0, arrays.leaf_value.shape[1])
    words = locals_ + globals_
    arrays.splits[t * arrays.words : t * arrays.words + len(words)] = words
    arrays.local_splits[t] = len(locals_)
    arrays.global_splits[t] = len(globals_)


class ForestBuilder:
    """A growing forest; memory for all trees is allocated at once and shared with kernels."""

    def __init__(self, n_trees: int, depth: int, n_local: int, binner: Binner) -> None:
        room = n_trees * (2 ** (depth + 1) - 1)
        self._binner = binner
        self.n_trees = 0
        self.feature = np.full(room, -1, np.int32)
        self.threshold = np.zeros(room, np.float32)
        self.left = np.zeros(room, np.int32)
        self.arrays = _empty_arrays(n_trees, room, depth, n_local)

    def append(self, tree: Tree) -> None:
        """Add a tree grown on the builder's bins."""
        start = int(self.arrays.roots[self.n_trees])
        stop = start + len(tree.feature)
        inner = tree.feature >= 0
        cuts = self._binner.thresholds[tree.feature[inner], tree.bin[inner].astype(np.int64)]
        self.feature[start:stop] = tree.feature
        self.threshold[start:stop][inner] = cuts
        self.left[start:stop] = np.where(inner, tree.left + start, 0)
        _write_tree(self.arrays, self.n_trees, tree)
        self.n_trees += 1
        self.arrays.roots[self.n_trees] = stop

    def extend(self, forest: Forest) -> None:
        """Add the trees of an earlier run on the same bins."""
        for tree in forest.trees(self._binner):
            self.append(tree)

    def finished(self) -> Forest:
        """Return a copy of the trees so far."""
        n = int(self.arrays.roots[self.n_trees])
        return Forest(
            roots=self.arrays.roots[: self.n_trees + 1].copy(), feature=self.feature[:n].copy(),
            threshold=self.threshold[:n].copy(), left=self.left[:n].copy(),
            value=self.arrays.value[:n].copy(),
        )  # fmt: skip
