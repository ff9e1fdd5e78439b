"""The bootstrap: intervals of scores over samples of documents.

Decisions within a document depend on each other, so whole documents are drawn, with replacement.
Documents without an in-KB mention are not drawn.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sgtb.core.dtypes import Doubles, Longs
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.evaluation.metrics import Accuracy

_DRAWS = 1 << 20  # documents drawn at a time: 8 MB, whatever the number of samples


@dataclass(frozen=True, slots=True)
class Interval:
    """A score, and the interval that holds the share `level` of its samples."""

    value: float
    low: float
    high: float
    level: float
    n_samples: int


@dataclass(frozen=True, slots=True)
class Difference(Interval):
    """A difference of micro accuracies, its interval, and a two-sided p value for "there is none".

    p_value  twice the share of samples on the other side of zero, or on it, itself counted in:
             (1 + min(samples ≤ 0, samples ≥ 0)) / (1 + n_samples), doubled, at most 1
    """

    p_value: float


def interval(a: Accuracy, n_samples: int = 10_000, seed: int = 0, level: float = 0.95) -> Interval:
    """Return the micro accuracy of a system with its percentile interval."""
    return ratio_interval(a.document_correct, a.document_total, n_samples, seed, level)


def ratio_interval(
    part: Longs, total: Longs, n_samples: int = 10_000, seed: int = 0, level: float = 0.95
) -> Interval:
    """Return Σ part / Σ total over documents with its percentile interval.

    F1 is such a ratio too: twice the right ones, by the predicted and the gold ones.
    """
    rank = _rank(n_samples, level)
    if part.shape != total.shape:
        raise ProblemsError(f"{len(part)} documents in part, {len(total)} in total")
    samples = _samples(part, total, n_samples, seed)
    low, high = float(samples[rank - 1]), float(samples[-rank])
    return Interval(int(part.sum()) / int(total.sum()), low, high, level, n_samples)


def paired_bootstrap(
    a: Accuracy, b: Accuracy, n_samples: int = 10_000, seed: int = 0, level: float = 0.95
) -> Difference:
    """Return how much higher the micro accuracy of b is than a's, on the same document samples."""
    rank = _rank(n_samples, level)
    _check_same(a, b)
    gain = b.document_correct - a.document_correct
    samples = _samples(gain, a.document_total, n_samples, seed)
    low, high = float(samples[rank - 1]), float(samples[-rank])
    against = min(int((samples <= 0).sum()), int((samples >= 0).sum()))
    p_value = min(1.0, 2 * (1 + against) / (1 + n_samples))
    return Difference(int(gain.sum()) / a.total, low, high, level, n_samples, p_value)


def _samples(part: Longs, total: Longs, n_samples: int, seed: int) -> Doubles:
    """Return Σ part / Σ total over the documents of each sample, in ascending order."""
    counted = total > 0
    if not counted.any():
        raise ProblemsError(
            f"none of the {len(counted)} documents has an in-KB mention: there is nothing to sample"
        )
    part, total = part[counted], total[counted]
    chunks = _draws(len(total), n_samples, np.random.default_rng(seed))
    # Sums of whole numbers: exact, so that swapping the systems changes nothing but the sign.
    return np.sort(np.concatenate([part[c].sum(axis=1) / total[c].sum(axis=1) for c in chunks]))


def _draws(n_documents: int, n_samples: int, rng: np.random.Generator) -> Iterator[Longs]:
    """Yield samples of document numbers, one a row, some rows at a time."""
    rows = max(1, _DRAWS // n_documents)
    for start in range(0, n_samples, rows):
        yield rng.integers(n_documents, size=(min(rows, n_samples - start), n_documents))


def _rank(n_samples: int, level: float) -> int:
    """Return how many samples from either end the interval ends."""
    if not 0 < level < 1:
        raise SettingsError(f"level is {level}; it must lie between 0 and 1, as 0.95 does")
    tail = (1 - level) / 2
    rank = math.floor((n_samples + 1) * tail + 1e-9)  # 1 - 0.9 is a little less than 0.1
    if rank < 1:
        raise SettingsError(
            f"n_samples is {n_samples}; an interval of level {level} needs at least "
            f"{math.ceil(1 / tail - 1e-9) - 1}"
        )
    return rank


def _check_same(a: Accuracy, b: Accuracy) -> None:
    """Raise unless both systems answered the same documents."""
    if len(a.documents) != len(b.documents):
        raise ProblemsError(
            f"one system answered {len(a.documents)} documents, the other {len(b.documents)}; "
            "compare them on the same"
        )
    totals = a.document_total.tolist(), b.document_total.tolist()
    for i, (one, other, n, m) in enumerate(zip(a.documents, b.documents, *totals, strict=True)):
        if one != other:
            raise ProblemsError(
                f"document {i} is {one} for one system and {other} for the other; compare them on "
                "the same documents in the same order"
            )
        if n != m:
            raise ProblemsError(
                f"document {one}: {n} in-KB mentions for one system and {m} for the other; "
                "compare them on the same annotations"
            )
