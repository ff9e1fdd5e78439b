"""Unit vectors as they lie on disk: half precision, of length one."""

import numpy as np
import numpy.typing as npt

_CLOSE = 1e-3
"""How far the length of a unit vector may be off once it is rounded to half precision."""


def unit_halves(matrix: npt.NDArray[np.floating]) -> npt.NDArray[np.float16]:
    """Return rows of unit length in half precision.

    A row that has that length already, but for rounding, is kept bit by bit: what was exported
    and is built again must not drift. Rows of zeros must have been refused before.
    """
    wide = np.atleast_2d(matrix).astype(np.float64)
    length = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    scale = np.where(np.abs(length - 1) <= _CLOSE, 1.0, np.maximum(length, 1e-300))
    result: npt.NDArray[np.float16] = (wide / scale[:, None]).astype("<f2")
    return result
