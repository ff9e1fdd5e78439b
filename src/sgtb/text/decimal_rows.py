"""DecimalRows: lines of a key and decimal numbers.

Reading stops before the first irregular line: a word that is not a number, a key with spaces, a
wrong number of values. The caller handles such a line.
"""

import numpy as np

from sgtb.core.dtypes import Floats, Longs
from sgtb.native import read_decimal_rows

_MOST_ROWS = 4096


class DecimalRows:
    """Reader of rows of `dimensions` values; `separator`, space or tab, ends the key."""

    def __init__(self, dimensions: int, separator: bytes) -> None:
        self._separator = separator[0]
        rows = min(_MOST_ROWS, (1 << 20) // dimensions + 1)
        self._out: Floats = np.empty((rows, dimensions), np.float32)
        self._keys: Longs = np.empty((rows, 2), np.int64)

    def read(self, data: bytes, at: int, most: int) -> tuple[list[bytes], Floats, int]:
        """Read at most `most` whole lines of `data` from `at`.

        Return keys, vectors, and the position of the first line not read.
        """
        n, end = read_decimal_rows(data, self._separator, at, most, self._keys, self._out)
        keys = [data[begin:stop] for begin, stop in self._keys[:n].tolist()]
        return keys, self._out[:n].copy(), end
