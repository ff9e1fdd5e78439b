"""Grower: one least-squares regression tree on binned rows, h_m of eq. 7.

A tree grows level by level to a fixed depth. A split minimises the squared error, that is,
maximises

    gain = G_l² / (n_l + λ) + G_r² / (n_r + λ) − G² / (n + λ)

with G a sum of residuals and n a number of rows; a leaf's value is G / (n + λ), the mean
residual where λ = 0, times the learning rate. Of equal gains the lower feature, then the
lower threshold wins. Of two siblings only the smaller one's histogram is counted.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sgtb.boosting.trees.histogram import Weights, build_histogram, pack_residuals
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
    """Nodes, parents before children and siblings side by side.

    feature  i4  the feature tested, -1 in a leaf
    bin      u1  go left if the feature's bin is at most this
    left     i4  the left child, the right one follows it; 0 in a leaf
    value    f8  a leaf's value, 0 elsewhere
    """

    feature: Ints
    bin: Bytes
    left: Ints
    value: Doubles


class _Split(NamedTuple):
    gain: float
    feature: int
    bin: int
    n_left: int


class _Node(NamedTuple):
    """A node still to be split: its number, its slice of the row list, its histogram."""

    number: int
    start: int
    stop: int
    histogram: Longs


def draw_features(n_bins: Ints, share: float, rng: "np.random.Generator") -> Ints:
    """Return `n_bins` of a tree: a feature that is not drawn has one bin and cannot be split."""
    if share == 1.0:
        return n_bins
    n_drawn = max(1, round(share * len(n_bins)))
    drawn = rng.permutation(len(n_bins)) < n_drawn
    return np.where(drawn, n_bins, np.int32(1))


def grow(
    x: Bytes, residuals: Doubles, n_bins: Ints, settings: TreeSettings, pool: ThreadPool,
    points: Ints | None = None,
) -> Tree:  # fmt: skip
    """Fit a tree to `residuals` of the binned rows `x`, padded to a multiple of 8 columns.

    points  i4[N]  the rows that the residuals belong to; None: all rows
    The tree tests the features with two bins or more; `draw_features` chooses them.
    """
    rows = np.arange(len(x), dtype=np.int32) if points is None else points.copy()
    weights = pack_residuals(residuals, rows, len(x))
    feature, bins, left, value = (
        [-1],
        [0],
        [0],
        [_leaf_value(weights.packed.sum(), weights, settings)],
    )
    root = build_histogram(x, len(n_bins), weights.packed, rows, pool)
    level = [_Node(0, 0, len(rows), root)] if len(rows) and len(n_bins) else []
    for depth in range(settings.depth):
        below: list[_Node] = []
        for node in level:
            split = _best_split(node.histogram, n_bins, weights, settings)
            if split.feature < 0:
                continue
            first = len(feature)
            feature[node.number], bins[node.number] = split.feature, split.bin
            left[node.number], value[node.number] = first, 0.0
            totals = _totals(node.histogram, split)
            feature += [-1, -1]
            bins += [0, 0]
            left += [0, 0]
            value += [_leaf_value(total, weights, settings) for total in totals]
            if depth + 1 < settings.depth:
                partition(x, rows, node.start, node.stop, split.feature, split.bin)
                below += _children(x, weights, rows, node, split, first, pool)
        level = below
    return Tree(
        np.array(feature, np.int32),
        np.array(bins, np.uint8),
        np.array(left, np.int32),
        np.array(value, np.float64),
    )


def _children(
    x: Bytes, weights: Weights, rows: Ints, node: _Node, split: _Split, first: int,
    pool: ThreadPool,
) -> list[_Node]:  # fmt: skip
    """Return both children; only the smaller one's rows are counted."""
    middle = node.start + split.n_left
    left_is_smaller = split.n_left <= node.stop - middle
    start, stop = (node.start, middle) if left_is_smaller else (middle, node.stop)
    smaller = build_histogram(x, len(node.histogram), weights.packed, rows[start:stop], pool)
    larger = node.histogram - smaller
    histograms = (smaller, larger) if left_is_smaller else (larger, smaller)
    return [
        _Node(first, node.start, middle, histograms[0]),
        _Node(first + 1, middle, node.stop, histograms[1]),
    ]


def _best_split(histogram: Longs, n_bins: Ints, weights: Weights, settings: TreeSettings) -> _Split:
    scaled = settings.min_gain * weights.scale * weights.scale
    return _Split(
        *best_split(histogram, n_bins, weights.count_bits, settings.min_leaf, settings.l2, scaled)
    )


def _totals(histogram: Longs, split: _Split) -> tuple[int, int]:
    left = int(histogram[split.feature, : split.bin + 1].sum())
    return left, int(histogram[split.feature].sum()) - left


def _leaf_value(total: int | np.int64, weights: Weights, settings: TreeSettings) -> float:
    n = int(total) & ((1 << weights.count_bits) - 1)
    if n == 0:
        return 0.0
    mean = (int(total) >> weights.count_bits) / weights.scale / (n + settings.l2)
    return round(settings.learning_rate * mean / SCORE_GRID) * SCORE_GRID
