"""Histograms: per feature and bin, the number of rows and the sum of their residuals.

Both share one 64-bit integer, which halves the work of the innermost loop:

    63                        count_bits           0
    | sum of residuals × 2**scale |  number of rows |

Residuals are rounded to a fixed grid, as fine as the integer allows (about 2**-30 for a hundred
thousand rows). Integer sums do not depend on the order of their terms: any number of threads,
and the subtraction of a sibling from its parent, give the same bits.
"""

import math
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Bytes, Doubles, Ints, Longs
from sgtb.core.thread_pool import ThreadPool
from sgtb.native import add_rows, pack_rows

_WORD = 8
BINS = 256
"""Entries per feature. Bins are 0 to 254; with a power of two the address is a shift."""


class Weights(NamedTuple):
    """Residuals packed with a count of one each."""

    packed: Longs
    count_bits: int
    scale: float


def pack_residuals(residuals: Doubles, rows: Ints, n_rows: int) -> Weights:
    """Round residuals to the finest grid on which no sum of them can overflow.

    The residual number i is that of rows[i], of `n_rows`; other rows get no weight.
    """
    count_bits = max(len(residuals), 1).bit_length()
    bound = float(np.abs(residuals).sum()) + 1e-300
    # |sum of rounded| <= bound * scale + rows / 2, which must stay below 2**(62 - count_bits)
    exponent = 61 - count_bits - max(math.frexp(bound)[1], -900)
    scale = 2.0 ** min(exponent, 900)
    packed = np.zeros(n_rows, np.int64)
    pack_rows(residuals, rows, scale, count_bits, packed)
    return Weights(packed, count_bits, scale)


_WORTH_SHARING = 8192
"""Least number of rows for which a second thread pays."""


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
