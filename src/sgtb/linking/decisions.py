"""Decisions: search, calibrated probabilities, and the policy of link or NIL."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.boosting.explain.contributions import Contributions
from sgtb.core.dtypes import Bools, Doubles, Ints, Longs
from sgtb.core.sparse_matrix import group_of, spread
from sgtb.linking.calibration.confidence import (
    LINK,
    NIL_OUTCOME,
    Confidence,
    NilRule,
    certain,
    searched,
    share_out,
)
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.problem_packing import Shortlist
from sgtb.native import merge_orders

MARGIN = 4.0
"""Candidates that score this much less, odds of 1 to 55, are not followed into later decisions.
Reasons stay exact."""
LIKELY_NIL = 0.25
"""Probability from which reasons may compare a link with NIL instead of another entity."""
NO_RUNNER_UP, NIL_RUNNER_UP = -1, -2


@dataclass(frozen=True)
class Decisions:
    """Decisions on M mentions, flat; NIL is none of the candidates."""

    choice: Ints  # i4[M], the chosen candidate, counted within its mention; for NIL, the likeliest
    linked: Bools  # b1[M], whether it is the answer; otherwise NIL
    order: Longs  # i4[C], candidates of each mention, likeliest first, counted within it
    probability: Doubles  # f8[C]
    nil: Doubles  # f8[M], probability of NIL
    runner_up: Longs  # i8[M], counted within the mention; NO_RUNNER_UP or NIL_RUNNER_UP
    sign: Longs  # i8[M], 1: reasons support the answer, -1: they oppose it, 0: neither
    explained: Longs  # i8[K], the mentions that have reasons
    reasons: Contributions | None  # of these mentions, in their order; None: not wanted


class Judged(NamedTuple):
    """What is likeliest for M mentions, by calibrated probabilities."""

    entity: Ints  # i4[M], the best entity, counted within the mention
    chose_nil: Bools  # b1[M], whether the search chose NIL
    link: Doubles  # f8[M], probability of the best entity
    nil: Doubles  # f8[M], probability of NIL


@dataclass(frozen=True)
class DecisionPolicy:
    """Calibration and NIL rule."""

    confidence: Confidence = field(default_factory=Confidence)
    rule: NilRule = field(default_factory=NilRule)
    threshold: float | None = None  # links below this confidence become NIL; None: the rule decides
    score_column: int | None = None  # of the ranker's score among the features; None: no ranker

    @property
    def nil_is_a_candidate(self) -> bool:
        """Whether the last candidate of every mention is NIL."""
        return self.rule.kind == "candidate"


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
    last, with_nil = np.diff(offsets) - 1, policy.nil_is_a_candidate
    choice, free = decoding.choices, clamp < 0
    score = None if policy.score_column is None else problems.local[:, policy.score_column]
    entity, signs = searched(other.probability, offsets, choice, score, with_nil)
    outcomes = certain(free, policy.confidence.outcomes(signs, with_nil))
    probability = share_out(other.probability, offsets, entity, outcomes, with_nil)
    chose_nil = np.asarray(with_nil & (choice == last), np.bool_)
    judged = Judged(entity, chose_nil, outcomes[:, LINK], outcomes[:, NIL_OUTCOME])
    order = _likeliest_first(offsets, probability, other.score, problems.entity)
    runner_up = _runner_ups(order, offsets, choice)
    if with_nil:
        runner_up = runner_ups_before_nil(runner_up, judged, order, offsets)
    explained = np.flatnonzero((runner_up >= 0) & free)
    contributions = None
    if reasons:
        contributions = system.contributions(
            problems, decoding, explained, runner_up[explained], clamp
        )
    runner_up[~free] = NO_RUNNER_UP
    if with_nil:  # NIL is none of the candidates from here on
        order = order[order != spread(last, offsets)]
        probability = np.delete(probability, offsets[1:] - 1)
        runner_up = np.where(runner_up == last, NIL_RUNNER_UP, runner_up)
    linked = policy.rule.links(judged.link, judged.nil, policy.threshold) | ~free
    against = np.where(chose_nil, NIL_RUNNER_UP, runner_up)
    # Reasons compare the choice of the search with its runner-up.
    against_nil = np.where(runner_up == NIL_RUNNER_UP, -1, 0)
    sign = np.where(linked == chose_nil, np.where(chose_nil, -1, against_nil), 1)
    sign[runner_up == NO_RUNNER_UP] = 0
    return Decisions(
        choice=entity,
        linked=linked,
        order=order,
        probability=probability,
        nil=judged.nil,
        runner_up=np.where(linked, against, entity).astype(np.int64),
        sign=sign.astype(np.int64),
        explained=explained,
        reasons=contributions,
    )


def runner_ups_before_nil(runner_up: Longs, judged: Judged, order: Longs, offsets: Longs) -> Longs:
    """Replace NIL by the best other entity where NIL is unlikely, or the others are likelier."""
    size, first = np.diff(offsets), order[offsets[:-1]]
    second, entity = runner_up == size - 1, ~judged.chose_nil & (first == judged.entity)
    others = 1.0 - judged.link - judged.nil
    unlikely = judged.nil < np.maximum(others, LIKELY_NIL)
    replaced = np.flatnonzero(second & entity & (size > 2) & unlikely)
    changed = runner_up.copy()
    changed[replaced] = order[offsets[replaced] + 2]
    return changed


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


def _likeliest_first(offsets: Longs, probability: Doubles, score: Doubles, entity: Ints) -> Longs:
    """Return the order of each mention's candidates, counted within it.

    Equals in probability are ordered by score, where exp made them equal, then by entity.
    """
    order: Longs = np.lexsort((entity, -score, -probability, group_of(offsets)))
    return order - spread(offsets[:-1], offsets)


def _runner_ups(order: Longs, offsets: Longs, choice: Ints) -> Longs:
    """Return the likeliest candidate of each mention that was not chosen; -1: none."""
    first = order[np.minimum(offsets[:-1], len(order) - 1)] if len(order) else offsets[:-1]
    several = np.diff(offsets) > 1
    second = np.full(len(choice), -1, np.int64)
    second[several] = order[offsets[:-1][several] + 1]
    return np.where(several, np.where(first == choice, second, first), -1)
