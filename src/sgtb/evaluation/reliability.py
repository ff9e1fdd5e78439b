"""Reliability: whether answers with 80 % confidence are right in 80 of 100 cases."""

import math
from dataclasses import dataclass

import numpy as np

from sgtb.core.dtypes import Bools, Doubles
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.evaluation.metrics import share

CERTAIN = 1e-6  # for the log loss, confidences are clipped to this distance from 0 and 1


@dataclass(frozen=True, slots=True)
class Bin:
    """The answers whose confidence is at least `low` and below `high`; the last has 1 as well."""

    low: float
    high: float
    n: int
    right: int
    confidence: float  # the mean of theirs; NaN of none

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return share(self.right, self.n)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration error of confidences."""

    bins: tuple[Bin, ...]  # of equal width, empty ones included
    n: int
    # the expected calibration error: |accuracy - mean confidence| of the bins, weighted by their
    # answers
    ece: float
    brier: float  # the mean of (confidence - right)²
    log_loss: float  # the mean of -log of the probability of the outcome

    @property
    def confidence(self) -> float:
        """The mean confidence."""
        total = math.fsum(bin.n * bin.confidence for bin in self.bins if bin.n)
        return total / self.n if self.n else math.nan

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return share(sum(bin.right for bin in self.bins), self.n)


def calibration(confidence: Doubles, right: Bools, n_bins: int = 10) -> Calibration:
    """Compare the confidence of answers with how often they are right."""
    confidence = np.asarray(confidence, np.float64)
    right = np.asarray(right, np.bool_)
    _check(confidence, right, n_bins)
    n = len(confidence)
    place = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    counts = np.bincount(place, minlength=n_bins).tolist()
    rights = np.bincount(place[right], minlength=n_bins).tolist()
    sums = np.bincount(place, confidence, n_bins).tolist()
    bins = tuple(
        Bin(i / n_bins, (i + 1) / n_bins, count, good, total / count if count else math.nan)
        for i, (count, good, total) in enumerate(zip(counts, rights, sums, strict=True))
    )
    if not n:
        return Calibration(bins, 0, math.nan, math.nan, math.nan)
    gaps = math.fsum(abs(good - total) for good, total in zip(rights, sums, strict=True))
    sure = np.clip(confidence, CERTAIN, 1 - CERTAIN)
    loss = -np.log(np.where(right, sure, 1 - sure)).mean()
    return Calibration(bins, n, gaps / n, float(np.mean((confidence - right) ** 2)), float(loss))


def _check(confidence: Doubles, right: Bools, n_bins: int) -> None:
    if isinstance(n_bins, bool) or not isinstance(n_bins, int) or n_bins < 1:
        raise SettingsError(f"n_bins must be a whole number from 1 up, not {n_bins!r}")
    if confidence.ndim != 1 or confidence.shape != right.shape:
        raise ProblemsError(
            f"confidences of the shape {confidence.shape} for answers of the shape {right.shape}"
        )
    wrong = ~((confidence >= 0) & (confidence <= 1))  # NaN is neither
    if wrong.any():
        i = int(wrong.argmax())
        raise ProblemsError(f"confidence {i} is {confidence[i]}; it must lie between 0 and 1")
