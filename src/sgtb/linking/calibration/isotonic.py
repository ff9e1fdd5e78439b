"""Isotonic regression."""

import numpy as np

from sgtb.core.dtypes import Bools, Doubles, Longs
from sgtb.linking.calibration.confidence import MAX_POINTS, Curve


def pool_violators(values: Doubles, weights: Doubles) -> Longs:
    """Return the starts of the steps of the rising function nearest to values, in weighted squares.

    Neighbours out of order are merged at their mean (pool adjacent violators).
    """
    starts: list[int] = []
    levels: list[float] = []
    sizes: list[float] = []
    for i, (level, size) in enumerate(zip(values.tolist(), weights.tolist(), strict=True)):
        start = i
        while levels and levels[-1] >= level:
            before = sizes.pop()
            level = (level * size + levels.pop() * before) / (size + before)
            size, start = size + before, starts.pop()
        starts.append(start)
        levels.append(level)
        sizes.append(size)
    return np.array(starts, np.int64)


def rising_curve(x: Doubles, happened: Bools) -> Curve:
    """Return the frequency of an event by x, as a rising curve.

    Steps are shrunk towards the overall frequency with the weight of one observation.

    x  f8[K]  K > 0 numbers from 0 to 1
    """
    places, which = np.unique(x, return_inverse=True)
    n = np.bincount(which).astype(np.float64)
    count = np.bincount(which, happened)
    steps = pool_violators(count / n, n)
    n, count, sums = (np.add.reduceat(v, steps) for v in (n, count, n * places))
    drawn = count + happened.mean()
    steps = pool_violators(drawn / (n + 1), n + 1)
    level = np.add.reduceat(drawn, steps) / np.add.reduceat(n + 1, steps)
    centre = np.add.reduceat(sums, steps) / np.add.reduceat(n, steps)
    kept = np.unique(np.linspace(0, len(steps) - 1, MAX_POINTS).round().astype(np.int64))
    centre, level = np.clip(centre[kept], 0, 1), np.clip(level[kept], 0, 1)
    apart = np.diff(centre, prepend=-1.0) > 0  # rounding may make two equal
    level = np.maximum.accumulate(level)
    return Curve(tuple(centre[apart].tolist()), tuple(level[apart].tolist()))


def falling_curve(x: Doubles, happened: Bools) -> Curve:
    """Return the frequency of an event by x, as a falling curve."""
    rising = rising_curve(x, ~happened)
    return Curve(rising.x, tuple(1 - y for y in rising.y))
