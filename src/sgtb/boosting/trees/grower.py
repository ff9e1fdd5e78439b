"""Grower: one least-squares regression tree on binned rows, h_m of eq. 7.

A tree grows level by level to a fixed depth. A split minimises the squared error, that is,
maximises

    gain = G_l² / (n_l + λ) + G_r² / (n_r + λ) − G² / (n + λ)

with G a sum of residuals and n a number of rows; a leaf's value is G / (n + λ), the mean
residual where λ = 0, times the learning rate. Of equal gains the lower feature, then the
lower threshold wins. Of two siblings only the smaller one's histogram is counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sgtb.boosting.trees.histogram import Grid, Magnitudes, build_histogram
from sgtb.core.dtypes import MAX_BINS, SCORE_GRID, Bytes, Doubles, Ints, Longs
from sgtb.core.settings import check_integer, check_number
from sgtb.core.thread_pool import ThreadPool
from sgtb.native import best_split, partition

MAX_DEPTH = 12


@dataclass(frozen=True)
class TreeSettings:
    """How trees are grown.

    learning_rate  η, the weight of each new tree
    depth          levels of splits
    min_leaf       fewest rows a leaf may have
    l2             λ, pulls the values of small leaves towards zero
    min_gain       a split must lower the squared error by more than this
    max_bins       bins per feature, at most 255
    feature_share  share of the features a tree may test, drawn anew for each tree
    """

    learning_rate: float = 1.0
    depth: int = 3
    min_leaf: int = 1
    l2: float = 0.0
    min_gain: float = 0.0
    max_bins: int = MAX_BINS
    feature_share: float = 1.0

    def __post_init__(self) -> None:
        check_number("learning_rate", self.learning_rate, 1e-6, 10.0)
        check_integer("depth", self.depth, 1, MAX_DEPTH)
        check_integer("min_leaf", self.min_leaf, 1, 2**31)
        check_number("l2", self.l2, 0.0, 1e12)
        check_number("min_gain", self.min_gain, 0.0, 1e12)
        check_integer("max_bins", self.max_bins, 2, MAX_BINS)
        check_number("feature_share", self.feature_share, 1e-3, 1.0)


class Tree(NamedTuple):
    """Nodes, parents before children and siblings side by side."""

    feature: Ints  # i4, the feature tested, -1 in a leaf
    bin: Bytes  # u1, go left if the feature's bin is at most this
    left: Ints  # i4, the left child, the right one follows it; 0 in a leaf
    value: Doubles  # f8, a leaf's value, 0 elsewhere


class NodeSplit(NamedTuple):
    """A split of a node; its right child follows the left one."""

    node: int
    feature: int
    bin: int
    left: int
    counted: int  # the child whose histogram is counted, that with fewer rows


class RowSource(Protocol):
    """Rows that a tree is grown from, in this process or in several."""

    def magnitudes(self) -> Magnitudes:
        """Return the sum of the magnitudes of all residuals."""

    def root(self, grid: Grid) -> tuple[int, Longs]:
        """Pack the residuals; return their sum, and the histogram of all rows."""

    def split(self, splits: Sequence[NodeSplit]) -> Sequence[Longs]:
        """Divide the rows of nodes among their children; return the histograms counted."""


class PointRows:
    """Rows of this process: binned features `x`, padded to a multiple of 8 columns.

    points  i4[N]  the rows that the residuals belong to; None: all rows. Several points may have
                   the same row, which is then counted once, with the sum of their packed residuals

    A node is a slice of the list of rows:

        rows    | 4 0 7 | 2 | 5 1 | 3 6 |
        nodes       3     4    5     6
    """

    def __init__(
        self, x: Bytes, residuals: Doubles, n_features: int, pool: ThreadPool,
        points: Ints | None = None,
    ) -> None:  # fmt: skip
        self._x, self._residuals, self._n_features, self._pool = x, residuals, n_features, pool
        self._points = np.arange(len(x), dtype=np.int32) if points is None else points

    def magnitudes(self) -> Magnitudes:
        """Return the sum of the magnitudes of all residuals."""
        return Magnitudes.of(self._residuals)

    def root(self, grid: Grid) -> tuple[int, Longs]:
        """Pack the residuals; return their sum, and the histogram of all rows."""
        self._packed = grid.pack(self._residuals, self._points, len(self._x))
        self._rows = np.flatnonzero(self._packed).astype(np.int32)
        self._slices = {0: (0, len(self._rows))}
        return int(self._packed.sum()), self._histogram(0)

    def split(self, splits: Sequence[NodeSplit]) -> list[Longs]:
        """Divide the rows of nodes among their children; return the histograms counted."""
        counted = []
        for split in splits:
            start, stop = self._slices.pop(split.node)
            middle = start + partition(self._x, self._rows, start, stop, split.feature, split.bin)
            self._slices[split.left] = start, middle
            self._slices[split.left + 1] = middle, stop
            counted.append(self._histogram(split.counted))
        return counted

    def _histogram(self, node: int) -> Longs:
        start, stop = self._slices[node]
        rows = self._rows[start:stop]
        return build_histogram(self._x, self._n_features, self._packed, rows, self._pool)


def draw_features(n_bins: Ints, share: float, rng: "np.random.Generator") -> Ints:
    """Return `n_bins` of a tree: a feature that is not drawn has one bin and cannot be split."""
    if share == 1.0:
        return n_bins
    n_drawn = max(1, round(share * len(n_bins)))
    drawn = rng.permutation(len(n_bins)) < n_drawn
    return np.where(drawn, n_bins, np.int32(1))


def grow(source: RowSource, n_bins: Ints, settings: TreeSettings) -> Tree:
    """Fit a tree to the residuals of rows.

    The tree tests the features with two bins or more; `draw_features` chooses them.
    """
    grid = Grid.of(source.magnitudes())
    total, root = source.root(grid)
    feature, bins, left = [-1], [0], [0]
    value = [_leaf_value(total, grid, settings)]
    # Nodes still to be split: number and histogram.
    level = [(0, root)] if grid.count(total) and len(n_bins) else []
    limits = settings.min_leaf, settings.l2, settings.min_gain * grid.scale * grid.scale
    for depth in range(settings.depth):
        splits: list[NodeSplit] = []
        parents: list[Longs] = []
        for node, histogram in level:
            _, tested, border, _ = best_split(histogram, n_bins, grid.count_bits, *limits)
            if tested < 0:
                continue
            first = len(feature)
            feature[node], bins[node], left[node], value[node] = tested, border, first, 0.0
            below = int(histogram[tested, : border + 1].sum())
            totals = below, int(histogram[tested].sum()) - below
            feature += [-1, -1]
            bins += [0, 0]
            left += [0, 0]
            value += [_leaf_value(total, grid, settings) for total in totals]
            counted = first + (grid.count(totals[0]) > grid.count(totals[1]))
            splits.append(NodeSplit(node, tested, border, first, counted))
            parents.append(histogram)
        if not splits or depth + 1 == settings.depth:
            break
        level = []
        for (*_, first, counted), parent, own in zip(
            splits, parents, source.split(splits), strict=True
        ):
            pair = (own, parent - own) if counted == first else (parent - own, own)
            level += [(first, pair[0]), (first + 1, pair[1])]
    return Tree(
        np.array(feature, np.int32),
        np.array(bins, np.uint8),
        np.array(left, np.int32),
        np.array(value, np.float64),
    )


def _leaf_value(total: int, grid: Grid, settings: TreeSettings) -> float:
    n = grid.count(total)
    if n == 0:
        return 0.0
    mean = grid.residual(total) / (n + settings.l2)
    return round(settings.learning_rate * mean / SCORE_GRID) * SCORE_GRID
