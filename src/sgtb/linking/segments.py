"""Segments: arithmetic within consecutive groups of rows, such as the candidates of a mention.

`offsets` delimit the groups: group g is rows offsets[g] to offsets[g + 1] - 1. Groups may be empty.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sgtb.kernels import int64, kernel
from sgtb.learn.dtypes import Doubles, Floats, Ints, Longs

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
    """Return how far each row is below the best of its group: 0 for the best."""
    return values - spread(group_max(values, offsets), offsets)


def relatives(values: Floats, columns: Longs, offsets: Ints) -> Floats:
    """Return the same of some columns of a table."""
    below = np.zeros((len(values), len(columns)), np.float32)
    find_relatives(values, columns, offsets, below)
    return below


@kernel
def find_relatives(values: Floats, columns: Longs, offsets: Ints, out: Floats) -> None:
    """Write how far rows are below the best of their group, as `relative` has it."""
    for g in range(offsets.shape[0] - 1):
        for i in range(columns.shape[0]):
            f = columns[i]
            best = -np.inf
            for r in range(offsets[g], offsets[g + 1]):
                best = max(best, float(values[r, f]))
            for r in range(offsets[g], offsets[g + 1]):
                out[r, i] = np.float32(float(values[r, f]) - best)


def share(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return each row's part of its group's sum."""
    return values / np.maximum(spread(group_sum(values, offsets), offsets), 1e-300)


def rank(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return how many rows of its group each row is below; equals share a rank."""
    result = np.empty(len(values))
    count_above(np.asarray(values, np.float64), np.asarray(offsets, np.int64), result)
    return result


@kernel
def count_above(values: Doubles, offsets: Longs, out: Doubles) -> None:
    """Compare all rows of a group with each other: groups are small, and sorting is slow."""
    for g in range(offsets.shape[0] - 1):
        group = values[offsets[g] : offsets[g + 1]]
        for r in range(group.shape[0]):
            n = 0
            for i in range(group.shape[0]):
                n += int64(group[i] > group[r])
            out[offsets[g] + r] = n
