"""Confidence: calibration of the search's probabilities, and the NIL rule that reads them.

Both are fitted in `training.calibrator`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from sgtb.core.dtypes import Bools, Doubles, Ints, Longs
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.records import NIL, Document, Mention
from sgtb.core.sparse_matrix import group_sum, spread
from sgtb.kb.knowledge_base import KnowledgeBase

Kind = Literal["plain", "temperature", "isotonic"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MAX_POINTS = 1000
"""Maximum number of points of a curve."""
_WARMEST = 100.0


def check_share(name: str, value: object) -> None:
    """Raise unless a value is a number from 0 to 1."""
    if not number(value) or not 0 <= value <= 1:  # type: ignore[operator]
        raise SettingsError(f"{name} must be a number from 0 to 1, not {value!r:.80}")


def number(value: object) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def no_more(given: dict[str, Any], what: str) -> None:
    """Raise if any keys are left."""
    if given:
        raise SettingsError(f"{sorted(given)[0]!r:.80} is unknown to {what}")


@dataclass(frozen=True)
class Curve:
    """A monotonic, piecewise linear function on [0, 1], constant beyond its end points."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.x) == len(self.y) <= MAX_POINTS:
            raise SettingsError(
                f"a curve has 1 to {MAX_POINTS} points, not {len(self.x)} and {len(self.y)}"
            )
        for value in (*self.x, *self.y):
            check_share("a curve's point", value)
        steps = np.diff(self.y)
        if (np.diff(self.x) <= 0).any() or ((steps < 0).any() and (steps > 0).any()):
            raise SettingsError("a curve's points are not in order, or it both rises and falls")

    def __call__(self, x: Doubles) -> Doubles:
        """Return the values at x."""
        return np.asarray(np.interp(x, self.x, self.y), np.float64)

    def to_dict(self) -> dict[str, list[float]]:
        """Return plain data."""
        return {"x": list(self.x), "y": list(self.y)}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "Curve":
        """Return the curve from plain data."""
        x, y = given.pop("x"), given.pop("y")
        no_more(given, "a curve")
        if not isinstance(x, list) or not isinstance(y, list):
            raise SettingsError("the points of a curve are no lists")
        return cls(tuple(x), tuple(y))


SAME = Curve((0.0, 1.0), (0.0, 1.0))
NEVER = Curve((0.0,), (0.0,))


@dataclass(frozen=True)
class Confidence:
    """Calibration of probabilities.

    kind         plain: unchanged. temperature: to the power of 1 / temperature, normalized.
                 isotonic: the probability of the chosen candidate is mapped by a curve
    temperature  above 1 if the search is overconfident
    single       confidence for a single candidate, to which the search gives 1
    entity       isotonic: curve for entities chosen among several candidates
    nil          isotonic: curve for the NIL candidate
    """

    kind: Kind = "plain"
    temperature: float = 1.0
    single: float = 1.0
    entity: Curve = field(default=SAME)
    nil: Curve = field(default=SAME)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SettingsError(f"there is no confidence {self.kind!r}, only {', '.join(KINDS)}")
        warm = number(self.temperature) and 1 / _WARMEST <= self.temperature <= _WARMEST
        if not warm:
            raise SettingsError(
                f"temperature must lie between {1 / _WARMEST} and {_WARMEST:.0f}, not "
                f"{self.temperature!r}"
            )
        check_share("single", self.single)
        for name in ("entity", "nil"):
            if getattr(self, name).y[0] > getattr(self, name).y[-1]:
                raise SettingsError(f"the curve {name} of a confidence falls")

    def probabilities(self, probability: Doubles, offsets: Longs) -> Doubles:
        """Scale the probabilities of all candidates by temperature.

        offsets  i8[M+1]  the candidates of each mention
        """
        if self.kind != "temperature":
            return probability
        warmed = probability ** (1 / self.temperature)
        return np.asarray(warmed / spread(group_sum(warmed, offsets), offsets), np.float64)

    def of_chosen(self, probability: Doubles, several: Bools, nil: Bools) -> Doubles:
        """Return the confidence of the chosen candidates of M mentions.

        probability  f8[M]  from `probabilities`
        several      b1[M]  whether there were other candidates
        nil          b1[M]  whether NIL is chosen
        """
        if self.kind == "isotonic":
            probability = np.where(nil, self.nil(probability), self.entity(probability))
        return np.where(several, probability, self.single)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "kind": self.kind, "temperature": self.temperature, "single": self.single,
            "entity": self.entity.to_dict(), "nil": self.nil.to_dict(),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "Confidence":
        """Return the calibration from plain data; unknown keys are errors."""
        entity, nil = (Curve.from_dict(given.pop(name)) for name in ("entity", "nil"))
        return cls(**given, entity=entity, nil=nil)


def share_out(
    probability: Doubles, offsets: Longs, choice: Ints, chosen: Doubles, taken: Doubles
) -> Doubles:
    """Rescale the probabilities of all candidates to calibrated ones of the chosen.

    The others keep their proportions and share the rest, but none exceeds the chosen one. What
    remains is the probability that the right entity is not among the candidates.

    chosen  f8[M]  calibrated probability of each mention's choice
    taken   f8[M]  probability of NIL
    """
    places = offsets[:-1] + choice
    before = probability[places]
    rest = np.ones(len(before))
    some = before < 1
    rest[some] = np.maximum(1 - chosen[some] - taken[some], 0) / (1 - before[some])
    some = before > 0
    rest[some] = np.minimum(rest[some], chosen[some] / before[some])
    result: Doubles = probability * spread(rest, offsets)
    behind = probability <= spread(before, offsets)  # guards against rounding
    result = np.where(behind, np.minimum(result, spread(chosen, offsets)), result)
    result[places] = chosen
    return result


# The NIL rule: when a mention has no entity in the knowledge base.


NilKind = Literal["never", "threshold", "candidate"]
NIL_KINDS: tuple[str, ...] = get_args(NilKind)


@dataclass(frozen=True)
class NilRule:
    """When a mention with candidates is NIL.

    kind       never; threshold: below a confidence; candidate: NIL is a candidate in the search
    threshold  minimum confidence of links
    shares     share of NIL by the confidence in the best candidate, falling; not used if NIL is a
               candidate
    no_candidates  share of NIL among mentions without candidates: the confidence in that answer;
               0 if unknown
    """

    kind: NilKind = "never"
    threshold: float = 0.0
    shares: Curve = field(default=NEVER)
    no_candidates: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in NIL_KINDS:
            raise SettingsError(f"there is no NIL rule {self.kind!r}, only {', '.join(NIL_KINDS)}")
        check_share("the NIL threshold", self.threshold)
        check_share("no_candidates", self.no_candidates)
        if self.shares.y[0] < self.shares.y[-1]:
            raise SettingsError("the share of NIL rises with the confidence in a link")

    def share_of(self, confidence: Doubles) -> Doubles:
        """Return the probability of NIL, given the confidence in the best candidate."""
        return np.minimum(self.shares(confidence), 1 - confidence)

    def links(self, confidence: Doubles, nil: Bools, threshold: float | None = None) -> Bools:
        """Return which mentions are linked.

        confidence  f8[M]  in the best entity
        nil         b1[M]  whether the search chose NIL
        threshold   replaces the rule; 0 links always
        """
        if threshold is not None:
            return np.asarray(confidence >= threshold, np.bool_)
        if self.kind == "never":
            return np.ones(len(confidence), np.bool_)
        return np.asarray((confidence >= self.threshold) & ~nil, np.bool_)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "kind": self.kind, "threshold": self.threshold, "shares": self.shares.to_dict(),
            "nothing": self.no_candidates,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "NilRule":
        """Return the rule from plain data; unknown keys are errors."""
        shares = Curve.from_dict(given.pop("shares"))
        no_candidates = given.pop("nothing", 0.0)
        return cls(**given, shares=shares, no_candidates=no_candidates)


def choose_threshold(confidence: Doubles, right: Bools, precision: float) -> float:
    """Return the lowest threshold with the wanted precision, or that with the highest.

    confidence  f8[K]  of K links
    right       b1[K]  whether they are right
    """
    check_share("the precision wanted", precision)
    levels, right_above, above = _from_each_level(confidence, right)
    reached = right_above / above
    enough = np.flatnonzero(reached >= precision)
    return float(levels[enough[0] if len(enough) else reached.argmax()])


def best_threshold(confidence: Doubles, right: Bools, outside: Bools) -> float:
    """Return the threshold with most right answers, NIL included; the lowest of equals.

    outside  b1[K]  whether NIL is the right answer
    """
    levels, right_above, above = _from_each_level(confidence, right)
    order = np.argsort(confidence, kind="stable")
    nil_below = np.append(0, np.cumsum(outside[order]))[len(confidence) - above]
    right_answers = right_above + nil_below
    most = int(right_answers.argmax())
    return 0.0 if right_answers[most] == right_answers[0] else float(levels[most])


def _from_each_level(confidence: Doubles, right: Bools) -> tuple[Doubles, Doubles, Any]:
    """Return the distinct confidences and, at or above each, the right links and all links."""
    if not len(confidence) or len(confidence) != len(right):
        raise ProblemsError(
            f"a threshold needs links to be chosen by; there are {len(confidence)} confidences "
            f"and {len(right)} answers"
        )
    order = np.argsort(confidence, kind="stable")
    levels, first = np.unique(confidence[order], return_index=True)
    sums = np.append(0, np.cumsum(right[order]))
    return levels, sums[-1] - sums[first], len(confidence) - first


def unknown_as_nil(kb: KnowledgeBase, documents: Iterable[Document]) -> list[Document]:
    """Replace gold that is not in the knowledge base by NIL."""

    def known(mention: Mention) -> Mention:
        lacking = mention.in_kb and kb.number(mention.gold or "") is None
        return replace(mention, gold=NIL) if lacking else mention

    return [replace(d, mentions=tuple(map(known, d.mentions))) for d in documents]
