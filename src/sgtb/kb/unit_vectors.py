"""Unit vectors in half precision, as stored on disk."""

import numpy as np
import numpy.typing as npt

_CLOSE = 1e-3
"""Tolerance of the length of a unit vector in half precision."""


def unit_halves(matrix: npt.NDArray[np.floating]) -> npt.NDArray[np.float16]:
    """Return rows of unit length in half precision; no row may be all zeros.

    A row that has unit length once rounded is only rounded, so that export and rebuild do not
    drift.
    """
    wide = np.atleast_2d(matrix).astype(np.float64)
    with np.errstate(over="ignore"):  # too large for half precision: not of unit length
        rounded: npt.NDArray[np.float16] = wide.astype("<f2")
    close = np.abs(_lengths(rounded.astype(np.float64)) - 1) <= _CLOSE
    scaled: npt.NDArray[np.float16] = (wide / _lengths(wide)[:, None]).astype("<f2")
    return np.where(close[:, None], rounded, scaled)


def _lengths(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lengths: npt.NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.maximum(lengths, 1e-300)
