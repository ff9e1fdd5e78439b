"""Ragged: lists of different lengths in one array, as in CSR matrices; Texts: strings likewise."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Longs
from sgtb.native import copy_slices

Items = npt.NDArray[Any]


class Ragged(NamedTuple):
    """List i is data[indptr[i] : indptr[i + 1]]."""

    indptr: Longs
    data: Items

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
        indptr = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        return cls(indptr, np.concatenate([np.zeros(0, dtype), *lists]).astype(dtype))

    def row(self, i: int) -> Items:
        """Return one list."""
        return self.data[self.indptr[i] : self.indptr[i + 1]]

    def take(self, rows: Longs) -> "Ragged":
        """Return some lists, in the given order."""
        return sliced(self.data, self.indptr[:-1][rows], self.indptr[1:][rows])


def sliced(items: Items, starts: Longs, ends: Longs) -> Ragged:
    """Return copies of the slices items[starts[i] : ends[i]] of a one-dimensional array."""
    indptr = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(ends - starts, out=indptr[1:])
    out = np.empty(indptr[-1], items.dtype)
    copy_slices(items.view(np.uint8), items.itemsize, starts, indptr, out.view(np.uint8))
    return Ragged(indptr, out)


class Texts(NamedTuple):
    """UTF-8 texts: text i is data[starts[i] : ends[i]]."""

    data: npt.NDArray[np.uint8]
    starts: Longs
    ends: Longs

    @classmethod
    def of(cls, strings: Sequence[str]) -> "Texts":
        """Encode strings, one after the other."""
        parts = [string.encode("utf-8", "surrogatepass") for string in strings]
        offsets = np.fromiter(accumulate(map(len, parts), initial=0), np.int64, len(parts) + 1)
        return cls(np.frombuffer(b"".join(parts), np.uint8), offsets[:-1], offsets[1:])

    def strings(self) -> list[str]:
        """Return the texts as strings."""
        data = self.data.data if len(self.data) else memoryview(b"")
        return [
            str(data[start:end], "utf-8")
            for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        ]


class GrowingArray:
    """Rows in an array with spare capacity; slices taken earlier stay valid."""

    def __init__(self, dtype: npt.DTypeLike, row_shape: tuple[int, ...] = ()) -> None:
        self.size = 0
        self._rows = np.zeros((1 << 10, *row_shape), dtype)

    @property
    def items(self) -> Items:
        """All rows so far."""
        return self._rows[: self.size]

    def extend(self, rows: Sequence[Any] | Items) -> None:
        """Append rows."""
        size = self.size + len(rows)
        if size > len(self._rows):
            larger = np.zeros((2 * size, *self._rows.shape[1:]), self._rows.dtype)
            larger[: self.size] = self.items
            self._rows = larger
        self._rows[self.size : size] = rows
        self.size = size

    def take(self, rows: Longs) -> Items:
        """Return copies of some rows."""
        return self._rows.take(rows, 0)
