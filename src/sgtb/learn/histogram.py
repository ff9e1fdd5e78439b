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

from sgtb.learn.crew import Crew
from sgtb.learn.dtypes import Bytes, Doubles, Ints, Longs, Words
from sgtb.learn.kernels import int64, kernel

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
    rounded = np.rint(residuals * scale).astype(np.int64)
    return Weights((rounded << count_bits) + 1, count_bits, scale)


def padded(n_features: int) -> int:
    """Return how many bytes a row takes: rows are read eight bytes at a time."""
    return -(-n_features // _WORD) * _WORD


def build_histogram(x: Bytes, n_features: int, packed: Longs, rows: Ints, crew: Crew) -> Longs:
    """Add up the rows numbered in `rows`; `x` is padded to a multiple of eight columns."""
    n_parts = crew.n_threads if len(rows) > 4096 else 1
    parts = np.zeros((n_parts, n_features * BINS), np.int64)
    borders = [len(rows) * i // n_parts for i in range(n_parts + 1)]
    words = x.view(np.uint64)
    crew.run(
        [
            lambda a=a, b=b, part=part: add_rows(words, x, n_features, packed, rows[a:b], part)  # type: ignore[misc]
            for a, b, part in zip(borders[:-1], borders[1:], parts, strict=True)
        ]
    )
    total: Longs = parts[0]
    for part in parts[1:]:
        total += part
    return total.reshape(n_features, BINS)


@kernel
def add_rows(
    words: Words, x: Bytes, n_features: int, packed: Longs, rows: Ints, out: Longs
) -> None:
    """Add the weight of each row to the bins it falls in.

    One eight-byte load brings eight bins, and eight histograms (16 kB) stay in the first
    cache while all rows pass by. The features that do not fill a word come one by one.
    """
    byte = np.uint64(255)
    n_words = n_features >> 3
    for j in range(n_words):
        base = j << 11
        for i in range(rows.shape[0]):
            row = rows[i]
            weight = packed[row]
            word = words[row, j]
            out[base + int64(word & byte)] += weight
            out[base + 256 + int64((word >> np.uint64(8)) & byte)] += weight
            out[base + 512 + int64((word >> np.uint64(16)) & byte)] += weight
            out[base + 768 + int64((word >> np.uint64(24)) & byte)] += weight
            out[base + 1024 + int64((word >> np.uint64(32)) & byte)] += weight
            out[base + 1280 + int64((word >> np.uint64(40)) & byte)] += weight
            out[base + 1536 + int64((word >> np.uint64(48)) & byte)] += weight
            out[base + 1792 + int64(word >> np.uint64(56))] += weight
    for i in range(rows.shape[0]):
        row = rows[i]
        weight = packed[row]
        for f in range(n_words << 3, n_features):
            out[(f << 8) + int64(x[row, f])] += weight
