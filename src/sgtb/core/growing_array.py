"""GrowingArray: an array that rows are appended to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.core.ragged import Items, Longs

_FIRST_SIZE = 1 << 10


class GrowingArray:
    """Rows in an array with spare capacity; slices taken earlier stay valid."""

    def __init__(self, dtype: npt.DTypeLike, row_shape: tuple[int, ...] = ()) -> None:
        self.size = 0
        self._rows = np.zeros((_FIRST_SIZE, *row_shape), dtype)

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
