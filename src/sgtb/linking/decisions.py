"""Decisions: search, calibrated probabilities, and the policy of link or NIL."""

from dataclasses import dataclass, field, replace

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.boosting.explain.contributions import Contributions
from sgtb.core.dtypes import Bools, Doubles, Ints, Longs
from sgtb.core.sparse_matrix import spread
from sgtb.linking.calibration.confidence import Confidence, NilRule, share_out
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.problem_packing import Shortlist
from sgtb.native import merge_orders, order_candidates

MARGIN = 4.0
"""Candidates that score this much less, odds of 1 to 55, are not followed into later decisions.
Reasons stay exact."""
NO_RUNNER_UP, NIL_RUNNER_UP = -1, -2


@dataclass(frozen=True)
class Decisions:
    """Decisions on M mentions, flat; NIL is none of the candidates.

    choice       i4[M]  the chosen candidate, counted within its mention; for NIL, the likeliest
    linked       b1[M]  whether it is the answer; otherwise NIL
    order        i4[C]  candidates of each mention, likeliest first, counted within it
    probability  f8[C]
    nil          f8[M]  probability of NIL
    runner_up    i8[M]  counted within the mention; NO_RUNNER_UP or NIL_RUNNER_UP
    sign         i8[M]  1: reasons support the answer, -1: they oppose it, 0: neither
    explained    i8[K]  the mentions that have reasons
    reasons      of these mentions, in their order; None: not wanted
    """

    choice: Ints
    linked: Bools
    order: Longs
    probability: Doubles
    nil: Doubles
    runner_up: Longs
    sign: Longs
    explained: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    reasons: Contributions | None = None


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
    ) -> Decisions:  # fmt: skip
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
        return Decisions(
            choice=choice,
            linked=linked,
            order=order,
            probability=probability,
            nil=taken,
            runner_up=np.where(linked, against, choice).astype(np.int64),
            sign=sign.astype(np.int64),
        )

    def _is_nil(self, choice: Ints, sizes: Longs) -> Bools:
        if not self.nil_is_a_candidate:
            return np.zeros(len(choice), np.bool_)
        return np.asarray(choice == sizes - 1, np.bool_)


DEFAULT_POLICY = DecisionPolicy()


def decide(
    problems: Problems,
    system: StructuredGradientBoosting,
    clamp: Ints,
    reasons: bool,
    policy: DecisionPolicy = DEFAULT_POLICY,
) -> Decisions:
    """Search, calibrate probabilities, decide between link and NIL, and explain."""
    decoding = system.decode(problems, clamp=clamp)
    other = system.counterfactuals(problems, decoding, clamp, MARGIN)
    offsets = problems.candidate_offsets.astype(np.int64)
    choice, free = decoding.choices, clamp < 0
    probability, taken = policy.calibrate(other.probability, offsets, choice, free)
    order = np.zeros(len(probability), np.int64)
    order_candidates(offsets, probability, other.score, problems.entity, order)
    runner_up = _runner_ups(order, offsets, choice)
    explained = np.flatnonzero((runner_up >= 0) & free)
    contributions = (
        system.contributions(problems, decoding, explained, runner_up[explained], clamp)
        if reasons
        else None
    )
    runner_up[~free] = NO_RUNNER_UP
    decided = policy.decide(choice, order, probability, taken, runner_up, offsets, free)
    return replace(decided, explained=explained, reasons=contributions)


def with_unsearched(
    decided: Decisions, shortlist: Shortlist, candidates: CandidateTable
) -> Decisions:
    """Extend decisions on a shortlist to all candidates.

    Those not searched come last, in the order of the ranker, with probability 0.
    """
    offsets = candidates.candidate_offsets.astype(np.int64)
    searched = shortlist.candidates.candidate_offsets.astype(np.int64)
    probability = np.zeros(candidates.n_candidates)
    probability[shortlist.rows] = decided.probability
    order = np.zeros(candidates.n_candidates, np.int64)
    merge_orders(
        decided.order, searched, shortlist.rows, offsets, shortlist.below, candidates.entity, order
    )

    def among_all(chosen: Longs) -> Longs:
        # Without a candidate the row is arbitrary and not used.
        rows = np.clip(searched[:-1] + chosen, 0, len(shortlist.rows) - 1)
        among: Longs = shortlist.rows[rows] - offsets[:-1]
        return among

    if not len(shortlist.rows):
        return decided
    return replace(
        decided,
        choice=among_all(decided.choice.astype(np.int64)).astype(np.int32),
        order=order,
        probability=probability,
        runner_up=np.where(decided.runner_up >= 0, among_all(decided.runner_up), decided.runner_up),
    )


def _runner_ups(order: Longs, offsets: Longs, choice: Ints) -> Longs:
    """Return the likeliest candidate of each mention that was not chosen; -1: none."""
    first = order[np.minimum(offsets[:-1], len(order) - 1)] if len(order) else offsets[:-1]
    several = np.diff(offsets) > 1
    second = np.full(len(choice), -1, np.int64)
    second[several] = order[offsets[:-1][several] + 1]
    return np.where(several, np.where(first == choice, second, first), -1)
