"""Array types, and number formats of the learner."""

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
MAX_BINS = 255  # largest number of bins of a feature: 0 to 254, separated by at most 254 thresholds
SCORE_GRID = 2.0**-30
"""Leaf values are multiples of this, so that float64 sums of them are exact.

A sum of leaf values then does not depend on the order of its terms, nor on the number of
threads. Sums are exact below 2**23, far beyond any score in use.
"""
