"""Binning: a feature value becomes the number of thresholds below it, one byte.

    thresholds        0.2     0.5     0.9
    value        0.1  |  0.3   |  0.7  |  2.0
    bin           0   |   1    |   2   |   3

`value <= thresholds[b]` and `bin <= b` are equivalent, so a tree on bytes and the same tree on raw
numbers agree.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from sgtb.core.dtypes import MAX_BINS, Bytes, Floats, Ints
from sgtb.core.thread_pool import ThreadPool
from sgtb.native import bin_rows


@dataclass(frozen=True, eq=False)
class Binner:
    """The thresholds of every feature."""

    thresholds: Floats  # f4[F, 255], ascending, padded with +inf
    n_bins: Ints  # i4[F], one more than the feature has thresholds

    @classmethod
    def fit(cls, values: Floats, max_bins: int = MAX_BINS) -> Self:
        """Choose thresholds for the columns of `values`.

        Up to `max_bins` distinct values get a bin each; more are cut at quantiles.
        """
        return cls.of([_cuts(values[:, f], max_bins) for f in range(values.shape[1])])

    @classmethod
    def of(cls, cuts: list[Floats]) -> Self:
        """Make a binner from ascending thresholds per feature, at most 254 each."""
        thresholds = np.full((len(cuts), MAX_BINS), np.inf, np.float32)
        for f, cut in enumerate(cuts):
            thresholds[f, : len(cut)] = cut
        return cls(thresholds, np.array([len(cut) + 1 for cut in cuts], np.int32))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.n_bins)

    def joined(self, other: Self) -> Self:
        """Return the binner of these features and of others after them."""
        return type(self)(
            np.concatenate([self.thresholds, other.thresholds]),
            np.concatenate([self.n_bins, other.n_bins]),
        )

    def split(self, n: int) -> tuple[Self, Self]:
        """Return the binner of the first `n` features and the one of the rest."""
        return (
            type(self)(self.thresholds[:n], self.n_bins[:n]),
            type(self)(self.thresholds[n:], self.n_bins[n:]),
        )

    def transform(self, values: Floats, pool: ThreadPool) -> Bytes:
        """Return the bins of the rows of `values`."""
        values = np.ascontiguousarray(values)
        bins = np.empty(values.shape, np.uint8)
        pieces = np.linspace(0, len(values), pool.n_threads + 1).astype(np.int64)

        def work(a: int, b: int) -> None:
            bin_rows(values[a:b], self.thresholds, bins[a:b])

        pool.run(work, pairwise(pieces))
        return bins


def _cuts(column: Floats, max_bins: int) -> Floats:
    distinct = np.unique(column)
    if len(distinct) > max_bins:
        # Every cut is an observed value with a higher neighbour, so no bin is empty.
        at = np.linspace(0, len(column), max_bins + 1)[1:-1].astype(np.int64)
        lower = np.unique(np.sort(column)[at - 1])
        where = np.searchsorted(distinct, lower[lower < distinct[-1]])
    else:
        where = np.arange(len(distinct) - 1)
    return cuts_between(distinct[where], distinct[where + 1])


def cuts_between(low: Floats, high: Floats) -> Floats:
    """Return the thresholds in the middle of values and their next higher ones."""
    middle = ((low.astype(np.float64) + high.astype(np.float64)) / 2).astype(np.float32)
    # Adjacent float32 have no middle; rounding up would move the border.
    cuts: Floats = np.where(middle < high, middle, low)
    return cuts.astype(np.float32)
