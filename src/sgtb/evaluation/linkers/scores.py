"""Scores: the result of an evaluation, per data set and system."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import CorpusError
from sgtb.evaluation import (
    Accuracy,
    Calibration,
    Difference,
    Interval,
    NilCurve,
    NilScores,
    PrecisionRecall,
    Recall,
    Slice,
)
from sgtb.evaluation.breakdown import By
from sgtb.evaluation.metrics import share

_POINTS = 20  # points of a NIL curve in plain data


class PlainScores(Protocol):
    """Scores of a system that can be plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: shares of one, None for shares of nothing."""


S = TypeVar("S", bound=PlainScores)


@dataclass(frozen=True)
class SystemScores:
    """How good a system is on a data set.

    accuracy        in-KB accuracy: of mentions whose gold the knowledge base has
    named           of all mentions whose annotation names an entity; those that the knowledge
                    base lacks count as wrong
    recall          mentions of the knowledge base with their gold among the candidates
    ambiguous       of those with their gold among several candidates
    candidates      how many the mentions of the knowledge base have together
    titles          Bag-of-Title, over what `named` counts
    nil             links and NILs, with precision, recall and F1
    calibration     of the confidences; None for baselines
    calibration_in_kb  of the likeliest entity, for mentions of the knowledge base
    curve           what other thresholds would do; None for baselines, and where nothing is NIL
    slices          in-KB accuracy by type, ambiguity, length, words, frequency
    wrong           i8[W, 2]  mistakes: the document's place in the set, the mention's place in it
    intervals       of "accuracy", "titles" and "links"; empty where there was nothing to draw
    difference      of accuracy, to the first system; None for the first
    """

    accuracy: Accuracy
    named: Accuracy
    recall: Recall
    ambiguous: Accuracy
    candidates: int
    titles: PrecisionRecall
    nil: NilScores
    calibration: Calibration | None
    calibration_in_kb: Calibration | None
    curve: NilCurve | None
    slices: Mapping[By, tuple[Slice, ...]]
    wrong: npt.NDArray[np.int64]
    intervals: Mapping[str, Interval]
    difference: Difference | None

    @property
    def accuracy_on_recalled(self) -> float:
        """The accuracy on mentions that have their gold among their candidates."""
        return share(self.accuracy.correct, self.recall.found)  # no other can be right

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: shares of one, None for shares of nothing."""
        return {
            "accuracy": {
                "micro": number(self.accuracy.micro), "macro": number(self.accuracy.macro),
                **self._interval("accuracy"), **fields(self.accuracy, "correct", "total"),
            },
            "accuracy_on_recalled": number(self.accuracy_on_recalled),
            "accuracy_on_ambiguous": fields(self.ambiguous, "micro", "correct", "total"),
            "accuracy_unknown_wrong": fields(self.named, "micro", "correct", "total"),
            "candidate_recall": {
                "of_known": number(self.recall.share),
                "of_all": number(share(self.recall.found, self.named.total)),
                "found": self.recall.found,
                "candidates_per_mention": number(share(self.candidates, self.recall.total)),
            },
            "titles": {**retrieval(self.titles), **self._interval("titles")},
            "links": {**retrieval(self.nil.links), **self._interval("links")},
            "nil": retrieval(self.nil.nil),
            "accuracy_with_nil": number(self.nil.accuracy),
            "calibration": _calibration(self.calibration),
            "calibration_in_kb": _calibration(self.calibration_in_kb),
            "nil_curve": None if self.curve is None else _curve(self.curve),
            "difference": self.difference and fields(
                self.difference, "value", "low", "high", "p_value"
            ),
            "by": {
                by: [fields(one, "label", "accuracy", "correct", "total") for one in slices]
                for by, slices in self.slices.items()
            },
        }  # fmt: skip

    def _interval(self, name: str) -> dict[str, Any]:
        return limits(self.intervals.get(name))


@dataclass(frozen=True)
class SetScores(Generic[S]):
    """A data set, and how good every system is on it.

    name       that of the data set, with the split where there are several
    data       the name of the data set alone
    split      of the documents; "" where they have none
    mentions   all of them
    known      those whose gold the knowledge base has
    unknown    those whose gold is an entity that it lacks
    nil        those annotated as NIL
    systems    scores by the name of the system, in the order in which they were given
    """

    name: str
    data: str
    split: str
    documents: int
    mentions: int
    known: int
    unknown: int
    nil: int
    systems: Mapping[str, S]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        systems = {name: scores.to_dict() for name, scores in self.systems.items()}
        counts = fields(self, "documents", "mentions", "known", "unknown", "nil")
        return {**counts, "systems": systems}


@dataclass(frozen=True)
class Evaluation(Generic[S]):
    """What an evaluation found.

    kb        name and size of the knowledge base
    settings  those of the evaluation
    sets      in the order in which they were given
    """

    kb: Mapping[str, Any]
    settings: Mapping[str, Any]
    sets: tuple[SetScores[S], ...]

    def __getitem__(self, name: str) -> SetScores[S]:
        """Return the scores on the data set of this name."""
        return {one.name: one for one in self.sets}[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as JSON has it."""
        return {
            "kb": dict(self.kb),
            "settings": dict(self.settings),
            "sets": {one.name: one.to_dict() for one in self.sets},
        }


class IncompleteEvaluationError(CorpusError):
    """Data sets that cannot be read to their end; `finished`: scores on the others."""

    def __init__(self, message: str, finished: Evaluation[Any]) -> None:
        super().__init__(message)
        self.finished = finished


def complete(found: Evaluation[S], failed: Mapping[str, CorpusError]) -> Evaluation[S]:
    """Return an evaluation; raise an IncompleteEvaluationError if a data set has failed."""
    if failed:
        raise IncompleteEvaluationError("\n".join(map(str, failed.values())), found)
    return found


def number(value: float) -> float | None:
    """Return a number with six decimals for plain data; None if it is not finite."""
    return round(float(value), 6) if math.isfinite(value) else None


def fields(record: object, *names: str) -> dict[str, Any]:
    """Return some attributes as plain data."""
    values = ((name, getattr(record, name)) for name in names)
    return {name: number(value) if isinstance(value, float) else value for name, value in values}


def retrieval(score: PrecisionRecall) -> dict[str, Any]:
    """Return precision, recall, F1 and their counts as plain data."""
    shares = fields(score, "precision", "recall", "f1")
    return {**shares, "right": score.right, "said": score.predicted, "gold": score.gold}


def limits(found: Interval | None) -> dict[str, Any]:
    """Return the ends of an interval as plain data; nothing if there is none."""
    return {} if found is None else fields(found, "low", "high")


def _calibration(found: Calibration | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        **fields(found, "ece", "brier", "log_loss"), "answers": found.n,
        **fields(found, "confidence", "accuracy"),
        "bins": [
            {
                "low": bin.low, "high": bin.high, "answers": bin.n,
                **fields(bin, "confidence", "accuracy"),
            }
            for bin in found.bins
        ],
    }  # fmt: skip


def _curve(curve: NilCurve) -> dict[str, Any]:
    """Return the ends of a curve, its best point, and some between, evenly by threshold."""
    last = len(curve.threshold) - 1
    places = {round(i * last / _POINTS) for i in range(_POINTS + 1)} | {curve.best}
    return {
        "best": _point(curve, curve.best),
        "link_all": _point(curve, 0),
        "area": number(curve.area),
        "points": [_point(curve, i) for i in sorted(places)],
    }


def _point(curve: NilCurve, i: int) -> dict[str, Any]:
    return {
        "threshold": number(curve.threshold[i]), "precision": number(curve.precision[i]),
        "recall": number(curve.recall[i]), "f1": number(curve.f1[i]),
        "in_kb_accuracy": number(curve.in_kb[i]),
    }  # fmt: skip
