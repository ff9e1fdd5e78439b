"""Histograms: per feature and bin, the number of rows and the sum of their residuals.

Both live in one 64-bit integer, which halves the work of the innermost loop:

    63                        count_bits           0
    | sum of residuals × 2**scale |  number of rows |

Residuals are rounded to a fixed grid, as fine as the integer has room for (about 2**-30 for
a hundred thousand rows). Integer sums do not depend on the order of their terms, so threads
may add up any part in any order, and a child may be had by subtracting its sibling from
their parent, all to the same bits.
"""

import math
from typing import NamedTuple

import numpy as np

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.crew import Crew
from sgtb.learn.dtypes import Bytes, Doubles, Ints, Longs, Words

_WORD = 8
BINS = 256
"""Places per feature. Bins are 0 to 254; a power of two keeps the address a shift."""


class Weights(NamedTuple):
    """Residuals packed with a count of one each."""

    packed: Longs
    count_bits: int
    scale: float


def pack_residuals(residuals: Doubles) -> Weights:
    """Round residuals to the finest grid on which no sum of them can overflow."""
    count_bits = max(len(residuals), 1).bit_length()
    bound = float(np.abs(residuals).sum()) + 1e-300
    # |sum of rounded| <= bound * scale + rows / 2, which must stay below 2**(62 - count_bits)
    exponent = 61 - count_bits - max(math.frexp(bound)[1], -900)
    scale = 2.0 ** min(exponent, 900)
    packed = np.empty(len(residuals), np.int64)
    pack_rows(residuals, scale, count_bits, packed)
    return Weights(packed, count_bits, scale)


@kernel
def pack_rows(residuals: Doubles, scale: float, count_bits: int, out: Longs) -> None:
    """Round residuals to the grid and add a count of one."""
    for i in range(residuals.shape[0]):
        out[i] = (int64(np.rint(residuals[i] * scale)) << count_bits) + 1


_WORTH_SHARING = 8192
"""Rows from which on waking another thread costs less than it saves."""


def padded(n_features: int) -> int:
    """Return how many bytes a row takes: rows are read eight bytes at a time."""
    return -(-n_features // _WORD) * _WORD


def build_histogram(
    x: Bytes, n_features: int, packed: Longs, rows: Ints | None, crew: Crew
) -> Longs:
    """Add up the rows numbered in `rows`, or all; `x` is padded to a multiple of eight columns."""
    n = len(x) if rows is None else len(rows)
    n_parts = crew.n_threads if n >= _WORTH_SHARING else 1
    parts = np.zeros((n_parts, n_features * BINS), np.int64)
    borders = [n * i // n_parts for i in range(n_parts + 1)]
    words = x.view(np.uint64)

    def add(a: int, b: int, part: Longs) -> None:
        if rows is None:
            add_all(words[a:b], x[a:b], n_features, packed[a:b], part)
        else:
            add_rows(words, x, n_features, packed, rows[a:b], part)

    crew.run(
        [
            lambda a=a, b=b, part=part: add(a, b, part)  # type: ignore[misc]
            for a, b, part in zip(borders[:-1], borders[1:], parts, strict=True)
        ]
    )
    total: Longs = parts[0]
    for part in parts[1:]:
        total += part
    return total.reshape(n_features, BINS)


@kernel
def add_all(words: Words, x: Bytes, n_features: int, packed: Longs, out: Longs) -> None:
    """Add the weight of every row to the bins it falls in.

    One eight-byte load brings eight bins, and eight histograms (16 kB) stay in the first
    cache while all rows pass by. The features that do not fill a word come one by one.
    """
    n_words = n_features >> 3
    for j in range(n_words):
        for i in range(words.shape[0]):
            _add_word(words[i, j], np.uint64(j << 11), packed[i], out)
    for i in range(x.shape[0]):
        for f in range(n_words << 3, n_features):
            out[(f << 8) + int64(x[i, f])] += packed[i]


@kernel
def add_rows(
    words: Words, x: Bytes, n_features: int, packed: Longs, rows: Ints, out: Longs
) -> None:
    """Add the weight of some rows, likewise."""
    n_words = n_features >> 3
    for j in range(n_words):
        for i in range(rows.shape[0]):
            row = np.uint32(rows[i])
            _add_word(words[row, j], np.uint64(j << 11), packed[row], out)
    for i in range(rows.shape[0]):
        row = np.uint32(rows[i])
        for f in range(n_words << 3, n_features):
            out[(f << 8) + int64(x[row, f])] += packed[row]


@inner
def _add_word(word: np.uint64, base: np.uint64, weight: int, out: Longs) -> None:
    # All unsigned: a signed index is checked for being negative, which costs a third more.
    byte = np.uint64(255)
    out[base | (word & byte)] += weight
    out[base | np.uint64(256) | ((word >> np.uint64(8)) & byte)] += weight
    out[base | np.uint64(512) | ((word >> np.uint64(16)) & byte)] += weight
    out[base | np.uint64(768) | ((word >> np.uint64(24)) & byte)] += weight
    out[base | np.uint64(1024) | ((word >> np.uint64(32)) & byte)] += weight
    out[base | np.uint64(1280) | ((word >> np.uint64(40)) & byte)] += weight
    out[base | np.uint64(1536) | ((word >> np.uint64(48)) & byte)] += weight
    out[base | np.uint64(1792) | (word >> np.uint64(56))] += weight
