"""Decisions: search, calibrated probabilities, and link or NIL."""

from dataclasses import dataclass, replace

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.boosting.explain.contributions import Contributions
from sgtb.core.dtypes import Doubles, Ints, Longs
from sgtb.linking.calibration.confidence import Bools
from sgtb.linking.calibration.decision_policy import DEFAULT_POLICY, NO_RUNNER_UP, DecisionPolicy
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.problem_packing import Shortlist
from sgtb.native import merge_orders, order_candidates

MARGIN = 4.0
"""Candidates that score this much less, odds of 1 to 55, are not followed into later decisions.
Reasons stay exact."""


@dataclass(frozen=True)
class Decisions:
    """Decisions mentions, flat; NIL is none of the candidates.

    choice       i4[M]  the chosen candidate, counted within its mention; for NIL, the likeliest
    linked       b1[M]  whether it is the answer; otherwise NIL
    order        i4[C]  candidates of each mention, likeliest first, counted within it
    probability  f8[C]
    nil          f8[M]  probability of NIL
    runner_up    i8[M]  counted within the mention; NO_RUNNER_UP or NIL_RUNNER_UP
    explained    i8[K]  the mentions that have reasons
    sign         i8[M]  1: reasons support the answer, -1: they oppose it, 0: neither
    reasons      of these mentions, in their order; None: not wanted
    """

    choice: Ints
    linked: Bools
    order: Longs
    probability: Doubles
    nil: Doubles
    runner_up: Longs
    explained: Longs
    sign: Longs
    reasons: Contributions | None


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
    outcome = policy.decide(choice, order, probability, taken, runner_up, offsets, free)
    return Decisions(*outcome[:6], explained, outcome.sign, contributions)


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
