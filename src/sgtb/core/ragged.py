"""Ragged: lists of different lengths in one array; list i is items[offsets[i] : offsets[i + 1]]."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Items = npt.NDArray[Any]
Longs = npt.NDArray[np.int64]


class Ragged(NamedTuple):
    """Lists of items."""

    offsets: Longs
    items: Items

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]], dtype: npt.DTypeLike) -> "Ragged":
        """Pack lists."""
        sizes = [0]
        items: list[int] = []
        for one in lists:
            items += one
            sizes.append(len(items))
        return cls(np.array(sizes, np.int64), np.array(items, dtype))

    @classmethod
    def joined(cls, lists: Sequence[Items], dtype: npt.DTypeLike) -> "Ragged":
        """Pack arrays."""
        offsets = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(one) for one in lists], out=offsets[1:])
        return cls(offsets, np.concatenate([np.zeros(0, dtype), *lists]).astype(dtype))

    def row(self, i: int) -> Items:
        """Return one list."""
        return self.items[self.offsets[i] : self.offsets[i + 1]]

    def take(self, rows: Longs) -> "Ragged":
        """Return some lists, in the order asked for."""
        return gathered(self.items, self.offsets[:-1][rows], self.offsets[1:][rows])


def gathered(items: Items, starts: Longs, ends: Longs) -> Ragged:
    """Return slices of an array as lists."""
    sizes = ends - starts
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    places = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
    return Ragged(offsets, np.asarray(items[places]))  # a copy, no longer a view of a file
