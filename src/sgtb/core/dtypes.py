"""All number types of the learner, named in one place."""

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Masks = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Features are measured to float32 and no better; a bin is a byte. Scores and residuals are
# sums of many terms and stay in float64.
FEATURE = np.dtype(np.float32)
BIN = np.dtype(np.uint8)
SCORE = np.dtype(np.float64)

MAX_BINS = 255
"""Bins a feature may have: numbers 0 to 254, told apart by at most 254 thresholds."""

SCORE_GRID = 2.0**-30
"""Leaf values are multiples of this, so that float64 sums of them are exact.

A sum of leaf values then does not depend on the order of its terms: trees may be added one
at a time or all at once, forward or grouped, by one thread or by eight, and the same bits
come out. Exactness holds while a sum stays below 2**23, far beyond any score in use.
"""
