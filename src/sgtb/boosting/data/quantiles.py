"""Quantiles: the thresholds of a feature whose values are spread over several processes.

Each process sorts its own values and counts. The thresholds are found from sums of the counts, a
byte of a value per round, and equal those of `Binner.fit` on all values together.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from sgtb.boosting.data.binning import cuts_between
from sgtb.core.dtypes import Floats, Ints, Longs

_BYTE = 256
_MAGNITUDE = np.int32(2**31 - 1)

Request = tuple[Any, ...]  # a method of SortedColumn and its arguments
Ask = Callable[[dict[int, Request]], Sequence[dict[int, Any]]]
"""Send requests about features to all processes; return their results, one dictionary each."""


def choose_cuts(ask: Ask, features: Sequence[int], max_bins: int) -> list[Floats]:
    """Return the thresholds of features."""
    chosen: dict[int, Floats] = {}
    searches = {feature: _search_cuts(max_bins) for feature in features}
    requests: dict[int, Request] = {f: next(search) for f, search in searches.items()}
    while requests:
        found = ask(requests)
        following: dict[int, Request] = {}
        for feature in requests:
            try:
                following[feature] = searches[feature].send([one[feature] for one in found])
            except StopIteration as end:
                chosen[feature] = end.value
        requests = following
    return [chosen[feature] for feature in features]


class SortedColumn:
    """Values of a feature in one process, as integers in the same order: their keys."""

    def __init__(self, values: Floats) -> None:
        bits = (values + np.float32(0)).view(np.int32)  # -0 becomes 0
        self._keys = np.sort(np.where(bits < 0, -(bits & _MAGNITUDE), bits))

    def summary(self, n: int) -> tuple[int, Ints]:
        """Return the number of values, the `n` lowest distinct keys, and the highest key."""
        keys = self._keys
        first = np.flatnonzero(np.diff(keys, prepend=np.int64(-(2**32))))
        return len(keys), np.concatenate([keys[first[:n]], keys[-1:]])

    def below(self, starts: Longs, step: int) -> Longs:
        """Return the number of keys below start + step, start + 2 * step, ...: i8[K, 255]."""
        borders = starts[:, None] + step * np.arange(1, _BYTE)
        return np.searchsorted(self._keys, borders).astype(np.int64)

    def above(self, keys: Longs) -> Longs:
        """Return the next higher key of each; 2**31 if there is none."""
        ended = np.append(self._keys.astype(np.int64), 2**31)
        return ended[np.searchsorted(self._keys, keys, side="right")]


def _search_cuts(max_bins: int) -> Generator[Request, list[Any], Floats]:
    """Find the thresholds of a feature; yield requests, and receive the results."""
    sizes, lowest = zip(*(yield "summary", max_bins + 1), strict=True)
    distinct = np.unique(np.concatenate(lowest)).astype(np.int64)
    if len(distinct) <= max_bins:
        return cuts_between(_values_of(distinct[:-1]), _values_of(distinct[1:]))
    ranks = np.linspace(0, sum(sizes), max_bins + 1)[1:-1].astype(np.int64)
    low = np.unique((yield from _at_ranks(ranks)))
    low = low[low < distinct[-1]]
    high = np.min((yield "above", low), axis=0)
    return cuts_between(_values_of(low), _values_of(high))


def _at_ranks(ranks: Longs) -> Generator[Request, list[Any], Longs]:
    """Find the keys with these ranks among all, counted from 1."""
    starts = np.full(len(ranks), -(2**31), np.int64)
    for bits in (24, 16, 8, 0):
        step = 1 << bits
        distinct, which = np.unique(starts, return_inverse=True)
        below = np.sum((yield "below", distinct, step), axis=0)
        starts += step * (below[which] < ranks[:, None]).sum(axis=1)
    return starts


def _values_of(keys: Longs) -> Floats:
    values = np.abs(keys).astype(np.int32).view(np.float32)
    return np.where(keys < 0, -values, values)
