"""Histograms: per feature and bin, the number of rows and the sum of their residuals.

Both share one 64-bit integer, which halves the work of the innermost loop:

    63                        count_bits           0
    | sum of residuals × 2**scale |  number of rows |

Residuals are rounded to a fixed grid, as fine as the integer allows (about 2**-30 for a hundred
thousand rows). Integer sums do not depend on the order of their terms: any number of threads or
of processes, and the subtraction of a sibling from its parent, give the same bits.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from sgtb.core.dtypes import Bytes, Doubles, Ints, Longs, Words
from sgtb.core.thread_pool import ThreadPool
from sgtb.native import add_magnitudes, add_rows, pack_rows

_WORD = 8
_DIGITS = 66
BINS = 256
"""Entries per feature. Bins are 0 to 254; with a power of two the address is a shift."""


class Magnitudes(NamedTuple):
    """The exact sum of the absolute values of residuals; sums of several groups can be added."""

    n_rows: int  # number of residuals
    digits: Words  # u8[66], the sum is Σ digits[i] * 2**(32 * i - 1075)

    @classmethod
    def of(cls, residuals: Doubles) -> Self:
        """Add up residuals."""
        digits = np.zeros(_DIGITS, np.uint64)
        add_magnitudes(residuals, digits)
        return cls(len(residuals), digits)

    @classmethod
    def total(cls, groups: Sequence[Self]) -> Self:
        """Return the sum of several groups."""
        digits = np.zeros(_DIGITS, np.uint64)
        for group in groups:
            digits += group.digits
        return cls(sum(group.n_rows for group in groups), digits)

    @property
    def exponent(self) -> int:
        """The least number e with a sum below 2**e."""
        total = sum(int(digit) << 32 * i for i, digit in enumerate(self.digits.tolist()))
        return total.bit_length() - 1075


class Grid(NamedTuple):
    """The layout of a packed number: bits of the count, and the scale of residuals."""

    count_bits: int
    scale: float

    @classmethod
    def of(cls, magnitudes: Magnitudes) -> Self:
        """Return the finest grid on which no sum of the residuals can overflow."""
        count_bits = max(magnitudes.n_rows, 1).bit_length()
        # |sum of rounded| <= bound * scale + rows / 2, which must stay below 2**(62 - count_bits)
        exponent = 61 - count_bits - max(magnitudes.exponent, -900)
        return cls(count_bits, 2.0 ** min(exponent, 900))

    def pack(self, residuals: Doubles, rows: Ints, n_rows: int) -> Longs:
        """Round residuals to the grid and pack each with a count of one.

        The residual number i is that of rows[i], of `n_rows`. A row with several residuals gets
        their sum, one without has no weight.
        """
        packed = np.zeros(n_rows, np.int64)
        pack_rows(residuals, rows, self.scale, self.count_bits, packed)
        return packed

    def count(self, packed: int) -> int:
        """Return the number of rows in a packed sum."""
        return packed & ((1 << self.count_bits) - 1)

    def residual(self, packed: int) -> float:
        """Return the sum of residuals in a packed sum."""
        return (packed >> self.count_bits) / self.scale


_WORTH_SHARING = 8192  # least number of rows for which a second thread pays


def padded(n_features: int) -> int:
    """Return the bytes of a row: rows are read eight bytes at a time."""
    return -(-n_features // _WORD) * _WORD


def build_histogram(
    x: Bytes, n_features: int, packed: Longs, rows: Ints, pool: ThreadPool
) -> Longs:
    """Add up the rows numbered in `rows`; `x` is padded to a multiple of eight columns."""
    n = len(rows)
    n_parts = pool.n_threads if n >= _WORTH_SHARING else 1
    parts = np.zeros((n_parts, n_features * BINS), np.int64)
    borders = [n * i // n_parts for i in range(n_parts + 1)]

    def add(a: int, b: int, part: Longs) -> None:
        add_rows(x, n_features, packed, rows[a:b], part)

    pool.run(add, zip(borders[:-1], borders[1:], parts, strict=True))
    total: Longs = parts[0]
    for part in parts[1:]:
        total += part
    return total.reshape(n_features, BINS)
