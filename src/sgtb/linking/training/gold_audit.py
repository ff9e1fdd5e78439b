"""Gold audit: annotations held against a knowledge base, and what it has instead of the unknown."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sgtb.core.errors import MissingExtraError
from sgtb.core.records import Document, Mention
from sgtb.kb import KnowledgeBase
from sgtb.kb.knowledge_base import TOP
from sgtb.linking.training.gold import GoldFinder, titles_in

if TYPE_CHECKING:
    from sgtb.linking.candidates.fuzzy_names import FuzzyNames

LISTED = 20
"""How many unknown entities are listed at most, those met most often first."""
_SUGGESTED = 3


class Suggestion(NamedTuple):
    """An entity of the knowledge base that may have been meant; `why`: what brought it up."""

    id: str
    title: str
    why: str


@dataclass(frozen=True)
class UnknownEntity:
    """An entity that annotations name and the knowledge base lacks.

    mentions  how many name it
    """

    gold: str
    title: str | None
    mentions: int
    suggestions: tuple[Suggestion, ...]


@dataclass(frozen=True)
class GoldReport:
    """What a knowledge base knows of the entities that annotations name.

    linked     mentions whose annotation names an entity
    known      those of them whose entity is there
    recalled   those of them whose entity is among the candidates of their name
    without    known ones whose name has no candidates at all
    ambiguity  the mean number of candidates of the known ones
    entities   how many unknown entities there are; the first are listed
    near       whether names spelt nearly so were looked for: that needs the extra `fuzzy`
    """

    linked: int
    known: int
    recalled: int
    without: int
    ambiguity: float
    entities: int
    unknown: tuple[UnknownEntity, ...]
    near: bool

    @property
    def recall(self) -> float:
        """The share of known mentions whose entity is a candidate; NaN of none."""
        return self.recalled / self.known if self.known else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        fields = asdict(self)
        fields["unknown"] = [
            {**asdict(entity), "suggestions": [s._asdict() for s in entity.suggestions]}
            for entity in self.unknown
        ]
        fields["recall"] = None if self.recall != self.recall else round(self.recall, 6)
        fields["ambiguity"] = None if self.ambiguity != self.ambiguity else round(self.ambiguity, 3)
        return fields


class GoldAudit:
    """Takes documents one at a time, and reports at last."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._finder = GoldFinder(kb)
        self._linked = self._known = self._recalled = self._without = self._candidates = 0
        self._unknown: dict[str, Mention] = {}
        self._times: dict[str, int] = {}

    def add(self, document: Document) -> None:
        """Look at the mentions of a document."""
        asked = [(mention, self._find(mention)) for mention in document.in_kb()]
        self._linked += len(asked)
        known = [(mention, id_) for mention, id_ in asked if id_ is not None]
        self._known += len(known)
        numbers = [self._kb.number(id_) for _, id_ in known]
        lists = self._kb.candidate_lists([mention.text for mention, _ in known], TOP)
        for i, number in enumerate(numbers):
            listed = lists.entity[lists.offsets[i] : lists.offsets[i + 1]]
            self._candidates += len(listed)
            self._without += len(listed) == 0
            self._recalled += number in listed

    def report(self) -> GoldReport:
        """Return what was found so far."""
        often = sorted(self._times, key=lambda gold: (-self._times[gold], gold))
        near = _near_names(self._kb) if often else None
        return GoldReport(
            self._linked,
            self._known,
            self._recalled,
            self._without,
            self._candidates / self._known if self._known else float("nan"),
            len(often),
            tuple(self._entity(gold, near) for gold in often[:LISTED]),
            near is not None,
        )

    def _find(self, mention: Mention) -> str | None:
        gold = mention.gold
        assert gold is not None
        id_ = self._finder.find(gold, mention.title)
        if id_ is None:
            self._times[gold] = self._times.get(gold, 0) + 1
            self._unknown.setdefault(gold, mention)
        return id_

    def _entity(self, gold: str, near: "FuzzyNames | None") -> UnknownEntity:
        first = self._unknown[gold]
        found: dict[str, Suggestion] = {}
        for why, names in self._names(first, near):
            for name in names:
                for candidate in self._kb.candidates(name, _SUGGESTED):
                    found.setdefault(candidate.id, Suggestion(candidate.id, candidate.title, why))
            if found:  # what is nearer leaves no room for what is farther
                break
        suggestions = tuple(found.values())[:_SUGGESTED]
        return UnknownEntity(gold, first.title, self._times[gold], suggestions)

    def _names(
        self, mention: Mention, near: "FuzzyNames | None"
    ) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield names that may be those of the entity, the nearest first."""
        titles = titles_in(mention.gold or "", mention.title)
        yield "has this name", titles
        if near is not None:
            yield "has nearly this name", [n.name for title in titles for n in near.nearest(title)]
        yield "has the name of the mention", (mention.text,)


def _near_names(kb: KnowledgeBase) -> "FuzzyNames | None":
    # Not at the top: most corpora do not need it.
    from sgtb.linking.candidates.fuzzy_names import FuzzyNames

    try:
        return FuzzyNames(kb)
    except MissingExtraError:
        return None
