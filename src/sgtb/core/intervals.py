"""Confidence intervals of shares, and when there is too little to choose by."""

from math import sqrt

_Z = 1.959964  # quantile of the normal distribution for 95 %
FEW_MENTIONS = 100
"""With fewer mentions, an accuracy is known to about ten points only: too few to choose by."""


def wilson_interval(right: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's method; (0, 1) for n = 0."""
    if n == 0:
        return 0.0, 1.0
    share, square = right / n, _Z * _Z
    middle = share + square / (2 * n)
    spread = _Z * sqrt(share * (1 - share) / n + square / (4 * n * n))
    scale = 1 + square / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
