"""Answers: decided problems as links, with probabilities, alternatives and reasons."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

import numpy as np

from sgtb.kb.entity import TYPES
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.learn.contributions import Contribution, Contributions
from sgtb.learn.dtypes import Doubles, Ints, Longs
from sgtb.learn.estimator import StructuredGradientBoosting
from sgtb.learn.problems import Problems
from sgtb.linking.choices import Choices
from sgtb.linking.confidence import Bools
from sgtb.linking.links import Alternative, Found, Link, Reason
from sgtb.linking.parts import Part
from sgtb.linking.segments import group_of, spread
from sgtb.linking.shortlist import Shortlist
from sgtb.linking.trust import NIL_RIVAL, NO_RIVAL, PLAIN, Trust
from sgtb.linking.workbench import Layout
from sgtb.records import NIL, Mention

MARGIN = 4.0
"""What scores that much less is hopeless, at odds of 1 to 55: what it would do to later decisions
is not followed up. Reasons are exact all the same."""
NEGLIGIBLE = 1e-12
"""Reasons that change a score by no more are left out: they are rounding errors."""
_REMEMBERED = 1 << 16


class Card(NamedTuple):
    """What a link says of an entity."""

    id: str
    title: str
    type: str


class Cards:
    """The cards of a knowledge base's entities, kept once they were read."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._known: dict[int, Card] = {}

    def forget(self) -> None:
        """Drop what was read."""
        self._known = {}

    def __getitem__(self, number: int) -> Card:
        card = self._known.get(number)
        if card is None:
            kb = self._kb
            type_ = TYPES[kb.rows["type"][number]]
            card = Card(kb.id_of(number), kb.title_of(number), type_)
            if len(self._known) >= _REMEMBERED:
                self._known = {}
            self._known[number] = card
        return card


@dataclass(frozen=True)
class Decided:
    """Decided mentions, flat; NIL is none of the candidates.

    choice       i4[M]  the chosen candidate, counted within its mention; for NIL, the likeliest
    linked       b1[M]  whether it is the answer; else NIL is
    order        i4[C]  per mention its candidates, likeliest first, counted within it
    probability  f8[C]
    nil          f8[M]  the probability of NIL
    rival        i8[M]  the runner-up, counted within the mention; -1: there is none; -2: NIL
    asked        i8[K]  the mentions that have reasons
    sign         i8[M]  1: these reasons speak for the answer, -1: against it, 0: of neither
    reasons      of the mentions asked, in their order; None: not asked for
    """

    choice: Ints
    linked: Bools
    order: Longs
    probability: Doubles
    nil: Doubles
    rival: Longs
    asked: Longs
    sign: Longs
    reasons: Contributions | None


def decide(
    problems: Problems,
    system: StructuredGradientBoosting,
    clamp: Ints,
    reasons: bool,
    trust: Trust = PLAIN,
) -> Decided:
    """Search, weigh the alternatives, and ask for reasons.

    trust  what the model knows about its decisions; says whether NIL is the last candidate
    """
    decoding = system.decode(problems, clamp=clamp)
    other = system.alternatives(problems, decoding, clamp, MARGIN)
    offsets = problems.candidate_offsets.astype(np.int64)
    sizes = np.diff(offsets)
    mention = np.repeat(np.arange(len(sizes)), sizes)
    choice, free = decoding.choices, clamp < 0
    probability, taken = trust.weigh(other.probability, offsets, choice, free)
    # Equals in probability are told apart by score, where exp made them equal, then by entity.
    order = np.lexsort((problems.entity, -other.score, -probability, mention))
    order -= np.repeat(offsets[:-1], sizes)
    rival = _rivals(order, offsets, choice)
    asked = np.flatnonzero((rival >= 0) & free)
    told = system.contributions(problems, decoding, asked, rival[asked], clamp) if reasons else None
    rival[~free] = NO_RIVAL
    judged = trust.judge(choice, order, probability, taken, rival, offsets, free)
    return Decided(*judged[:6], asked, judged.sign, told)


def widened(decided: Decided, shortlist: Shortlist, choices: Choices) -> Decided:
    """Return what was decided among the candidates on a shortlist, counted among all of them.

    Those not searched come last, the better first by the ranker, and have no probability.
    """
    offsets = choices.candidate_offsets.astype(np.int64)
    searched = shortlist.choices.candidate_offsets.astype(np.int64)
    probability = np.zeros(choices.n_candidates)
    probability[shortlist.rows] = decided.probability
    # A candidate's place in the order: that of the search, and behind it what the ranker says.
    place = np.full(choices.n_candidates, np.inf)
    ordered = shortlist.rows[decided.order + spread(searched[:-1], searched)]
    place[ordered] = np.arange(len(ordered))
    order = np.lexsort((choices.entity, -shortlist.below, place, group_of(offsets)))

    def among_all(chosen: Longs) -> Longs:
        rows = np.minimum(searched[:-1] + chosen, len(shortlist.rows) - 1)
        among: Longs = shortlist.rows[rows] - offsets[:-1]
        return among

    if not len(shortlist.rows):
        return decided
    return replace(
        decided,
        choice=among_all(decided.choice.astype(np.int64)).astype(np.int32),
        order=order - spread(offsets[:-1], offsets),
        probability=probability,
        rival=np.where(decided.rival >= 0, among_all(decided.rival), decided.rival),
    )


def _rivals(order: Longs, offsets: Longs, choice: Ints) -> Longs:
    """Return the likeliest candidate of each mention that was not chosen, -1 where none is left."""
    first = order[np.minimum(offsets[:-1], len(order) - 1)] if len(order) else offsets[:-1]
    several = np.diff(offsets) > 1
    second = np.full(len(choice), -1, np.int64)
    second[several] = order[offsets[:-1][several] + 1]
    return np.where(several, np.where(first == choice, second, first), -1)


class _Flat(NamedTuple):
    """Layout and decision as lists: an item of an array at a time takes far longer to get."""

    offsets: list[int]  # of each mention's candidates
    number: list[int]  # of each candidate, in the knowledge base
    prior: list[float]
    order: list[int]
    probability: list[float]
    choice: list[int]
    rival: list[int]
    linked: list[bool]
    nil: list[float]


def _flat(layout: Layout, decided: Decided) -> _Flat:
    choices = layout.choices
    return _Flat(
        choices.candidate_offsets.tolist(), layout.facts.number[choices.entity].tolist(),
        choices.prior.tolist(), decided.order.tolist(), decided.probability.tolist(),
        decided.choice.tolist(), decided.rival.tolist(), decided.linked.tolist(),
        decided.nil.tolist(),
    )  # fmt: skip


class Answers:
    """Turns decided mentions into links."""

    def __init__(
        self, cards: Cards, groups: Sequence[str], n_candidates: int, nothing: float = 0.0
    ) -> None:
        self._cards, self._n_candidates, self._nothing = cards, n_candidates, nothing
        self._names = tuple(dict.fromkeys(groups))
        self._group = np.array([self._names.index(group) for group in groups], np.int64)

    def showing(self, n_candidates: int) -> "Answers":
        """Return the same with another number of candidates."""
        other = copy(self)
        other._n_candidates = n_candidates
        return other

    def links(
        self, parts: Sequence[Part], layout: Layout, decided: Decided
    ) -> list[tuple[Link, ...]]:
        """Return the links of each part, those of mentions without candidates included."""
        choices, flat = layout.choices, _flat(layout, decided)
        question = dict(zip(decided.asked.tolist(), count(), strict=False))
        signs = decided.sign.tolist()
        borders = choices.mention_offsets.tolist()
        found = iter(layout.found)
        no_reasons: tuple[Reason, ...] = ()
        result = []
        for part, first, last in zip(parts, borders, borders[1:], strict=False):
            row_of = {id(choices.mentions[m]): m for m in range(first, last)}
            rows = [row_of.get(id(mention), -1) for mention in part.document.mentions]
            places = [i for i, m in enumerate(rows) if m >= 0]
            links = []
            for mention, m, fixed in zip(part.document.mentions, rows, part.fixed, strict=True):
                how = next(found)
                if m < 0:
                    links.append(_nothing(mention, how, self._nothing))
                    continue
                lead, reasons = float("nan"), no_reasons
                if decided.reasons is not None and signs[m]:
                    told = _signed(decided.reasons[question[m]], signs[m])
                    lead, reasons = told.total, self._reasons(told, part, places)
                links.append(self._link(flat, m, mention, how, fixed, lead, reasons))
            result.append(tuple(links))
        return result

    def _link(
        self, flat: _Flat, m: int, mention: Mention, how: Found, fixed: bool, lead: float,
        reasons: tuple[Reason, ...],
    ) -> Link:  # fmt: skip
        cards = self._cards
        first, last = flat.offsets[m], flat.offsets[m + 1]
        shown = flat.order[first : min(last, first + self._n_candidates)]
        chosen = flat.choice[m]
        if chosen not in shown:
            shown[-1] = chosen
        number, probability, prior = flat.number, flat.probability, flat.prior
        alternatives = tuple(
            Alternative(*cards[number[first + c]], probability[first + c], prior[first + c])
            for c in shown
        )
        rival, nil = flat.rival[m], flat.nil[m]
        against = cards[number[first + rival]].id if rival >= 0 else _NO_ENTITY[rival]
        entity, title, type_ = cards[number[first + chosen]] if flat.linked[m] else _NIL_CARD
        return Link(
            mention.start, mention.end, mention.text, entity, title, type_,
            probability[first + chosen] if flat.linked[m] else nil, how, alternatives, lead,
            against, reasons, fixed, nil,
        )  # fmt: skip

    def _reasons(self, told: Contribution, part: Part, places: Sequence[int]) -> tuple[Reason, ...]:
        """Return groups of features and other mentions, strongest first."""
        by_group = np.bincount(self._group, told.local, len(self._names))
        reasons = [
            Reason("features", name, float(value))
            for name, value in zip(self._names, by_group, strict=True)
        ]
        reasons += [
            Reason("mention", part.document.mentions[i].text, float(value), part.first + i)
            for i, value in zip(places, told.mentions, strict=True)
        ]
        kept = [reason for reason in reasons if abs(reason.value) > NEGLIGIBLE]
        return tuple(sorted(kept, key=lambda reason: -abs(reason.value)))


_NIL_CARD: tuple[str | None, str, str] = (None, "", "")
_NO_ENTITY = {NO_RIVAL: None, NIL_RIVAL: NIL}


def _nothing(mention: Mention, how: Found, share: float) -> Link:
    """Return the answer to a mention without candidates; such are NIL in that share of cases."""
    return Link(mention.start, mention.end, mention.text, *_NIL_CARD, share, how, nil=share)


def _signed(told: Contribution, sign: int) -> Contribution:
    return told if sign > 0 else Contribution(-told.local, -told.mentions, -told.total)
