"""Confidence: calibrated probabilities of what a search decided, and the NIL rule.

There are three outcomes for a mention: its best entity is right, nothing in the knowledge base is
meant (NIL), or another entity is right. A multinomial logistic regression gives their probabilities
from a few signs of the search. It is fitted in `training.calibrator`.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from sgtb.core.dtypes import Bools, Doubles, Floats, Ints, Longs
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.sparse_matrix import exp, group_max, group_sum, log, spread, tanh

SIGNS = ("constant", "lead", "lead over NIL", "NIL chosen", "ranker score")
"""A 1; the difference of the best entity's log probability to that of the next entity, and to that
of NIL; whether the search chose NIL; the ranker's score of the best entity."""
LINK, NIL_OUTCOME, OTHER = range(3)  # outcomes: the best entity, NIL, another entity
_LEAST = 1e-9  # probabilities are clipped to this before logarithms
_STEEP = 4.0  # leads saturate at this, softly: beyond, more of it says nothing about another domain
_STEEP_SCORE = 8.0
_LARGEST_WEIGHT = 1e3


def is_number(value: object) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def check_share(name: str, value: object) -> None:
    """Raise unless a value is a number from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:  # type: ignore[operator]
        raise SettingsError(f"{name} must be a number from 0 to 1, not {value!r:.80}")


def searched(
    probability: Doubles, offsets: Longs, choice: Ints, score: Floats | None, with_nil: bool
) -> tuple[Ints, Doubles]:
    """Return the best entities, counted within mentions, and their signs: i4[M], f8[M, len(SIGNS)].

    The best entity is the choice of the search; where that is NIL, the likeliest.

    probability  f8[C]    of the search
    offsets      i8[M+1]  of each mention's candidates; with NIL, it is the last
    choice       i4[M]    of the search, counted within the mention
    score        f4[C]    of the ranker; None: there is none
    """
    sizes, first = np.diff(offsets), offsets[:-1]
    logs = log(np.maximum(probability, _LEAST))
    entities = logs.copy()
    nil = np.zeros(len(sizes), np.bool_)
    if with_nil:
        entities[offsets[1:] - 1] = -np.inf
        nil = np.asarray(choice == sizes - 1, np.bool_)
    entity = np.where(nil, _first_best(entities, offsets), choice)
    own = logs[first + entity]
    entities[first + entity] = -np.inf
    lead = own - group_max(entities, offsets)  # infinite for a single entity
    over_nil = own - logs[offsets[1:] - 1] if with_nil else np.zeros(len(sizes))
    signs = np.stack(
        [
            np.ones(len(sizes)), _saturated(lead, _STEEP), _saturated(over_nil, _STEEP), nil,
            np.zeros(len(sizes)) if score is None
            else _saturated(score[first + entity].astype(np.float64), _STEEP_SCORE),
        ],
        axis=1,
    )  # fmt: skip
    return entity.astype(np.int32), signs


def _saturated(value: Doubles, limit: float) -> Doubles:
    return limit * tanh(value / limit)


def _first_best(values: Doubles, offsets: Longs) -> Longs:
    """Return the first highest value of each group, counted within it."""
    best = values == spread(group_max(values, offsets), offsets)
    rows = np.flatnonzero(best)
    group = np.searchsorted(offsets, rows, side="right") - 1
    _, firsts = np.unique(group, return_index=True)
    return np.asarray(rows[firsts] - offsets[:-1], np.int64)


@dataclass(frozen=True)
class Confidence:
    """Weights of the signs for a right link and for NIL; those of another entity are 0.

    The defaults are those of the corpora at hand with half the slopes: less confidence than any of
    them allows.
    """

    link: tuple[float, ...] = (0.5, 1.0, 0.0, -0.25, 0.05)
    nil: tuple[float, ...] = (-0.25, 1.0, -0.75, 0.5, 0.0)

    def __post_init__(self) -> None:
        for name, weights in asdict(self).items():
            fits = isinstance(weights, tuple) and len(weights) == len(SIGNS)
            if not fits or not all(is_number(w) and abs(w) <= _LARGEST_WEIGHT for w in weights):
                raise SettingsError(
                    f"the confidence weights {name} must be {len(SIGNS)} numbers up to "
                    f"{_LARGEST_WEIGHT:.0f}, not {weights!r:.80}"
                )

    def outcomes(self, signs: Doubles, with_nil: bool) -> Doubles:
        """Return the probabilities of the outcomes: f8[M, 3]."""
        scores = np.zeros((len(signs), 3))
        # Column by column: the last bit of a matrix product depends on the number of rows.
        scores[:, LINK] = sum(map(np.multiply, signs.T, self.link))
        scores[:, NIL_OUTCOME] = sum(map(np.multiply, signs.T, self.nil)) if with_nil else -np.inf
        odds = exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True), np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"link": list(self.link), "nil": list(self.nil)}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "Confidence":
        """Return the confidence from plain data; unknown keys are errors."""
        return cls(**{name: tuple(weights) for name, weights in given.items()})


def share_out(
    probability: Doubles, offsets: Longs, entity: Ints, outcomes: Doubles, with_nil: bool
) -> Doubles:
    """Return calibrated probabilities of all candidates, f8[C].

    The other entities share theirs in the proportions of the search, but none exceeds the best one.
    What remains is the probability that the right entity is not among the candidates.
    """
    best = offsets[:-1] + entity
    others: Doubles = probability.copy()
    others[best] = 0.0
    if with_nil:
        others[offsets[1:] - 1] = 0.0
    total = group_sum(others, offsets)
    scale = np.divide(outcomes[:, OTHER], total, out=np.zeros(len(total)), where=total > 0)
    result = np.minimum(others * spread(scale, offsets), spread(outcomes[:, LINK], offsets))
    result[best] = outcomes[:, LINK]
    if with_nil:
        result[offsets[1:] - 1] = outcomes[:, NIL_OUTCOME]
    return np.asarray(result, np.float64)


def certain(free: Bools, outcomes: Doubles) -> Doubles:
    """Return outcomes in which mentions that are not free are certainly right."""
    return np.where(free[:, None], outcomes, np.array([1.0, 0.0, 0.0]))


# The NIL rule: when a mention has no entity in the knowledge base.


NilKind = Literal["never", "candidate"]
NIL_KINDS: tuple[str, ...] = get_args(NilKind)
UNKNOWN = 0.5  # confidence in NIL without candidates where nothing is known about it


@dataclass(frozen=True)
class NilRule:
    """When a mention with candidates is NIL.

    kind       never; candidate: NIL is a candidate in the search, and the answer where it is
               likelier than the best entity
    odds       how many times likelier it must be
    threshold  minimum confidence of links
    no_candidates  share of NIL among mentions without candidates: the confidence in that answer
    """

    kind: NilKind = "never"
    odds: float = 1.0
    threshold: float = 0.0
    no_candidates: float = UNKNOWN

    def __post_init__(self) -> None:
        if self.kind not in NIL_KINDS:
            raise SettingsError(f"there is no NIL rule {self.kind!r}, only {', '.join(NIL_KINDS)}")
        if not is_number(self.odds) or self.odds < 1:
            raise SettingsError(f"the odds of NIL must be at least 1, not {self.odds!r:.80}")
        check_share("the NIL threshold", self.threshold)
        check_share("no_candidates", self.no_candidates)

    def links(self, link: Doubles, nil: Doubles, threshold: float | None = None) -> Bools:
        """Return which mentions are linked.

        link, nil  f8[M]  probabilities of the best entity and of NIL
        threshold  replaces the rule; 0 links always
        """
        if threshold is not None:
            return np.asarray(link >= threshold, np.bool_)
        likelier = nil > self.odds * link if self.kind == "candidate" else link < 0
        return np.asarray((link >= self.threshold) & ~likelier, np.bool_)


def least_odds(link: Doubles, nil: Doubles, right: Bools, most_lost: int) -> float:
    """Return the least odds of NIL, from 1 up, that lose at most so many right links."""
    ratio = np.sort(nil[right] / np.maximum(link[right], 1e-12))[::-1]
    return float(max(1.0, ratio[most_lost])) if most_lost < len(ratio) else 1.0


def choose_threshold(confidence: Doubles, right: Bools, precision: float) -> float:
    """Return the lowest threshold with the wanted precision, or that with the highest.

    confidence  f8[K]  of K links
    right       b1[K]  whether they are right
    """
    check_share("the precision wanted", precision)
    if not len(confidence) or len(confidence) != len(right):
        raise ProblemsError(
            f"a threshold needs links to be chosen by; there are {len(confidence)} confidences "
            f"and {len(right)} answers"
        )
    order = np.argsort(confidence, kind="stable")
    levels, first = np.unique(confidence[order], return_index=True)
    sums = np.append(0, np.cumsum(right[order]))
    reached = (sums[-1] - sums[first]) / (len(confidence) - first)
    enough = np.flatnonzero(reached >= precision)
    return float(levels[enough[0] if len(enough) else reached.argmax()])
