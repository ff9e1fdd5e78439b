"""Unit vectors as they lie on disk: half precision, of length one."""

import numpy as np
import numpy.typing as npt

_CLOSE = 1e-3
"""How far the length of a unit vector may be off once it is rounded to half precision."""


def unit_halves(matrix: npt.NDArray[np.floating]) -> npt.NDArray[np.float16]:
    """Return rows of unit length in half precision.

    A row that has that length already, but for rounding, is only rounded: what was exported and
    is built again must not drift. So its length is that of the rounded row, which both times is
    the same. Rows of zeros must have been refused before.
    """
    wide = np.atleast_2d(matrix).astype(np.float64)
    with np.errstate(over="ignore"):  # what is too large for half precision has no unit length
        rounded: npt.NDArray[np.float16] = wide.astype("<f2")
    close = np.abs(_lengths(rounded.astype(np.float64)) - 1) <= _CLOSE
    scaled: npt.NDArray[np.float16] = (wide / _lengths(wide)[:, None]).astype("<f2")
    return np.where(close[:, None], rounded, scaled)


def _lengths(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lengths: npt.NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.maximum(lengths, 1e-300)
