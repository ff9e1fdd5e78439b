"""DecisionPolicy: calibrated probabilities, and the decision between link and NIL."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Doubles, Ints, Longs
from sgtb.core.segments import spread
from sgtb.linking.calibration.confidence import Bools, Confidence, share_out
from sgtb.linking.calibration.nil_rule import NilRule

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
