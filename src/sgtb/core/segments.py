"""Segments: arithmetic within groups of consecutive rows, such as the candidates of a mention.

`offsets` delimit the groups: group g is rows offsets[g] to offsets[g + 1] - 1. Groups may be empty.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sgtb.native import count_above, subtract_best

Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Numbers = npt.NDArray[np.floating]
Scalar = TypeVar("Scalar", bound=np.generic)


def group_of(offsets: Offsets) -> npt.NDArray[np.int64]:
    """Return the group of every row."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def spread(values: npt.NDArray[Scalar], offsets: Offsets) -> npt.NDArray[Scalar]:
    """Return one value per group as one per row."""
    return np.repeat(values, np.diff(offsets), axis=0)


def group_sum(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return the sum of each group, 0 for an empty one."""
    result = np.bincount(group_of(offsets), weights=values, minlength=len(offsets) - 1)
    return np.asarray(result, np.float64)


def group_max(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return the largest value of each group, 0 for an empty one."""
    result = np.zeros(len(offsets) - 1)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        result[filled] = np.maximum.reduceat(values, offsets[:-1][filled])
    return result


def relative(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return each row minus the best of its group: 0 for the best."""
    result = np.empty(len(values))
    subtract_best(np.asarray(values, np.float64), np.asarray(offsets, np.int64), result)
    return result


def share(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return each row's share of its group's sum."""
    return values / np.maximum(spread(group_sum(values, offsets), offsets), 1e-300)


def rank(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return the number of rows of the group above each row; equals share a rank."""
    result = np.empty(len(values))
    count_above(np.asarray(values, np.float64), np.asarray(offsets, np.int64), result)
    return result
