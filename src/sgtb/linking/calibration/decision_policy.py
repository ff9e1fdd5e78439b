"""DecisionPolicy: calibrated probabilities, and the decision between link and NIL."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from sgtb.core.dtypes import Doubles, Ints, Longs
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.records import NIL, Document, Mention
from sgtb.core.sparse_matrix import spread
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.calibration.confidence import (
    NEVER,
    Bools,
    Confidence,
    Curve,
    check_share,
    share_out,
)

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


NO_RUNNER_UP, NIL_RUNNER_UP = -1, -2


class NilDecisions(NamedTuple):
    """Decisions for M mentions, without NIL among the candidates; see `Decisions`."""

    choice: Ints
    linked: Bools
    order: Longs
    probability: Doubles
    nil: Doubles
    runner_up: Longs
    sign: Longs


@dataclass(frozen=True)
class DecisionPolicy:
    """Calibration and NIL rule.

    threshold  links below this confidence become NIL; None: the rule decides
    """

    confidence: Confidence = field(default_factory=Confidence)
    rule: NilRule = field(default_factory=NilRule)
    threshold: float | None = None

    @property
    def nil_is_a_candidate(self) -> bool:
        """Whether the last candidate of every mention is NIL."""
        return self.rule.kind == "candidate"

    def calibrate(
        self, probability: Doubles, offsets: Longs, choice: Ints, free: Bools
    ) -> tuple[Doubles, Doubles]:
        """Return calibrated probabilities, f8[C], and those of NIL unless it is a candidate, f8[M].

        probability  f8[C]    of the search
        offsets      i8[M+1]  of each mention's candidates
        choice       i4[M]    of the search, counted within the mention
        free         b1[M]    False for fixed mentions, which are certain
        """
        sizes = np.diff(offsets)
        probability = self.confidence.probabilities(probability, offsets)
        before = probability[offsets[:-1] + choice]
        nil = self._is_nil(choice, sizes)
        chosen = np.where(free, self.confidence.of_chosen(before, sizes > 1, nil), before)
        taken = np.zeros(len(chosen))
        if not self.nil_is_a_candidate:
            taken = np.where(free, self.rule.share_of(chosen), 0.0)
        return share_out(probability, offsets, choice, chosen, taken), taken

    def decide(
        self, choice: Ints, order: Longs, probability: Doubles, taken: Doubles, runner_up: Longs,
        offsets: Longs, free: Bools,
    ) -> NilDecisions:  # fmt: skip
        """Decide between link and NIL, and remove NIL from the candidates.

        probability, taken  from `calibrate`
        order, runner_up    of the candidates by these probabilities, NIL included
        """
        sizes = np.diff(offsets)
        nil, last = self._is_nil(choice, sizes), sizes - 1
        if self.nil_is_a_candidate:
            taken = probability[offsets[1:] - 1]
            entity = order != spread(last, offsets)
            stay = np.ones(len(order), np.bool_)
            stay[offsets[1:] - 1] = False
            order, probability = order[entity], probability[stay]
            offsets = offsets - np.arange(len(offsets))
            runner_up = np.where(runner_up == last, NIL_RUNNER_UP, runner_up)
            choice = np.where(nil, order[offsets[:-1]], choice).astype(np.int32)
        linked = self.rule.links(probability[offsets[:-1] + choice], nil, self.threshold) | ~free
        against = np.where(nil, NIL_RUNNER_UP, runner_up)
        sign = np.where(nil, np.where(linked, -1, 1), np.where(linked, 1, 0))
        sign[runner_up == NO_RUNNER_UP] = 0
        return NilDecisions(
            choice, linked, order, probability, taken,
            np.where(linked, against, choice).astype(np.int64), sign.astype(np.int64),
        )  # fmt: skip

    def _is_nil(self, choice: Ints, sizes: Longs) -> Bools:
        if not self.nil_is_a_candidate:
            return np.zeros(len(choice), np.bool_)
        return np.asarray(choice == sizes - 1, np.bool_)


DEFAULT_POLICY = DecisionPolicy()
