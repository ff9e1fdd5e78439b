"""Calibrator: fits confidence and NIL rule to decisions on documents that trees were not grown on.

These are a half of the training documents. The forest that decides them is a second one, grown on
the other half. It is less confident than the forest of all documents, which is what other domains
need: dev documents, of the same domain, would promise too much.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.core.dtypes import Bools, Doubles, Longs
from sgtb.core.errors import SettingsError
from sgtb.core.sparse_matrix import exp, log
from sgtb.linking.calibration.confidence import (
    LINK,
    NIL_OUTCOME,
    OTHER,
    SIGNS,
    Confidence,
    NilKind,
    NilRule,
    check_share,
    choose_threshold,
    least_odds,
    searched,
)
from sgtb.linking.decisions import MARGIN

NilSetting = Literal["auto", "never", "candidate"]
NIL_SETTINGS: tuple[NilSetting, ...] = get_args(NilSetting)
ENOUGH = 20
"""NIL mentions with candidates, hidden ones included, that a NIL candidate is learned from."""
CERTAIN = 1e-6  # probabilities are clipped to this in the log loss, to keep it finite
_DEFAULT = Confidence()
_PRIOR = 1.0  # weight of the default confidence: that of a Gaussian prior of this precision
_STEPS = 50
_DIGITS = 6  # decimals of weights, for equal models on all machines


class Observed(NamedTuple):
    """Uncalibrated decisions for K annotated mentions with candidates."""

    signs: Doubles  # f8[K, len(SIGNS)]
    outcome: Longs  # i8[K], LINK, NIL_OUTCOME or OTHER


NOTHING_SEEN = Observed(np.zeros((0, len(SIGNS))), np.zeros(0, np.int64))


class Answers(NamedTuple):
    """Calibrated answers for K mentions, entity or NIL."""

    confidence: Doubles  # f8[K]
    right: Bools  # b1[K]


def observe(
    system: StructuredGradientBoosting,
    problems: Problems,
    annotated: Bools,
    score_column: int | None,
    with_nil: bool,
) -> Observed:
    """Decide documents without calibration.

    annotated     b1[M]  the mentions to observe
    score_column  of the ranker's score
    with_nil      whether the last candidate of every mention is NIL
    """
    decoding = system.decode(problems)
    probability = system.counterfactuals(problems, decoding, margin=MARGIN).probability
    offsets = problems.candidate_offsets.astype(np.int64)
    score = None if score_column is None else problems.local[:, score_column]
    entity, signs = searched(probability, offsets, decoding.choices, score, with_nil)
    outcome = np.where(problems.gold == entity, LINK, OTHER)
    if with_nil:
        outcome[problems.gold == np.diff(offsets) - 1] = NIL_OUTCOME
    return Observed(signs[annotated], outcome[annotated].astype(np.int64))


def fit_confidence(seen: Observed, with_nil: bool, default: Confidence = _DEFAULT) -> Confidence:
    """Return the likeliest confidence, with a prior around the default one.

    Newton's method; the problem is convex, and steps that lead upwards are halved.
    """
    start = np.array([default.link, default.nil])
    used = start[: 2 if with_nil else 1]
    weights = used.copy()
    loss = _loss(weights, used, seen)
    for _ in range(_STEPS):
        step = _newton_step(weights, used, seen)
        while (after := _loss(weights - step, used, seen)) > loss and np.abs(step).max() > 1e-9:
            step /= 2
        weights, before, loss = weights - step, loss, after
        if before - loss < 1e-10:
            break
    found = np.concatenate([weights, start[len(used) :]]).round(_DIGITS)
    return Confidence(*map(tuple, found.tolist()))


def _probabilities(weights: Doubles, signs: Doubles) -> Doubles:
    """Return the outcomes of as many rows of weights; the last one has none."""
    scores = np.concatenate([signs @ weights.T, np.zeros((len(signs), 1))], axis=1)
    odds = exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True), np.float64)


def _loss(weights: Doubles, default: Doubles, seen: Observed) -> float:
    column = np.minimum(seen.outcome, len(weights))
    own = _probabilities(weights, seen.signs)[np.arange(len(column)), column]
    return float(_PRIOR * ((weights - default) ** 2).sum() / 2 - log(np.maximum(own, 1e-300)).sum())


def _newton_step(weights: Doubles, default: Doubles, seen: Observed) -> Doubles:
    n, width = weights.shape
    found = _probabilities(weights, seen.signs)
    error = found - np.eye(n + 1)[np.minimum(seen.outcome, len(weights))]
    slope = error[:, :n].T @ seen.signs + _PRIOR * (weights - default)
    curvature = np.zeros((n, width, n, width))
    for a in range(n):
        for b in range(n):
            mass = found[:, a] * ((a == b) - found[:, b])
            curvature[a, :, b] = seen.signs.T @ (seen.signs * mass[:, None])
    matrix = curvature.reshape(n * width, n * width) + _PRIOR * np.eye(n * width)
    return np.asarray(np.linalg.solve(matrix, slope.ravel()).reshape(n, width), np.float64)


@dataclass(frozen=True)
class Calibrated:
    """Confidence and NIL rule, with their results on the observed mentions."""

    confidence: Confidence
    rule: NilRule
    mentions: int  # number of these
    right: int  # right answers, NIL included
    precision: float  # of the links; NaN without any
    log_loss: float  # of the outcomes

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        measured = {"precision": self.precision, "log_loss": self.log_loss}
        return {
            "nil": self.rule.kind, "odds": self.rule.odds, "threshold": self.rule.threshold,
            "mentions": self.mentions, "right": self.right,
            **{key: None if np.isnan(one) else round(one, 6) for key, one in measured.items()},
        }  # fmt: skip


def answered(seen: Observed, confidence: Confidence, rule: NilRule) -> Answers:
    """Return the answers of a confidence and a NIL rule."""
    outcomes = confidence.outcomes(seen.signs, rule.kind == "candidate")
    given = rule.links(outcomes[:, LINK], outcomes[:, NIL_OUTCOME])
    answer = np.where(given, LINK, NIL_OUTCOME)
    return Answers(outcomes[np.arange(len(answer)), answer], seen.outcome == answer)


def calibrate(
    seen: Observed,
    rule: NilRule,
    most_lost: float,
    precision: float | None = None,
    default: Confidence = _DEFAULT,
) -> Calibrated:
    """Fit confidence and NIL rule.

    rule       its kind and share of mentions without candidates are kept
    most_lost  share of the mentions in the knowledge base whose right links NIL may cost
    precision  wanted of links; None: as many links as the rule gives
    default    which few observations change little
    """
    with_nil = rule.kind == "candidate"
    confidence = fit_confidence(seen, with_nil, default)
    rule = replace(rule, odds=1.0, threshold=0.0)
    outcomes = confidence.outcomes(seen.signs, with_nil)
    link, nil = outcomes[:, LINK], outcomes[:, NIL_OUTCOME]
    right, outside = seen.outcome == LINK, seen.outcome == NIL_OUTCOME
    if with_nil:
        lost = int(most_lost * (~outside).sum())
        odds = np.ceil(least_odds(link, nil, right, lost) * 10**_DIGITS) / 10**_DIGITS
        rule = replace(rule, odds=float(odds))
    given = rule.links(link, nil)
    if precision is not None and given.any():
        threshold = choose_threshold(link[given], right[given], precision)
        rule = replace(rule, threshold=threshold)
        given &= link >= threshold
    n = len(right)
    own = np.clip(outcomes[np.arange(n), seen.outcome], CERTAIN, 1) if n else np.zeros(0)
    return Calibrated(
        confidence, rule, n, int(np.where(given, right, outside).sum()),
        float(right[given].mean()) if given.any() else np.nan,
        float(-log(own).mean()) if n else np.nan,
    )  # fmt: skip


def check_nil_settings(nil: str, precision: float | None) -> None:
    """Raise for an unknown NIL rule or an impossible precision."""
    if nil not in NIL_SETTINGS:
        raise SettingsError(f"nil must be one of {', '.join(NIL_SETTINGS)}, not {nil!r}")
    if precision is not None:
        check_share("nil_precision", precision)
        if nil == "never":
            raise SettingsError("nil_precision needs NIL as an answer, which nil='never' forbids")


def nil_kind(nil: NilSetting, outside: int) -> NilKind:
    """Return the rule for a number of NIL training mentions with candidates."""
    if nil == "candidate" and not outside:
        raise SettingsError(
            "nil='candidate' needs training mentions that have candidates and are NIL; there are "
            "none: raise the share of hidden entities"
        )
    return "candidate" if nil == "candidate" or (nil == "auto" and outside >= ENOUGH) else "never"


def nil_share(outside: Bools) -> float:
    """Return the smoothed share of NIL among mentions without candidates."""
    return round((int(outside.sum()) + 1) / (len(outside) + 2), 6)
