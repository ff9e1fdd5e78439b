"""Gold audit: coverage of annotated entities by a knowledge base, with suggestions."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sgtb.core.records import Document, Mention
from sgtb.kb import KnowledgeBase
from sgtb.kb.fuzzy_index import SCORES
from sgtb.kb.knowledge_base import TOP
from sgtb.linking.training.gold import GoldFinder, titles_in

LISTED = 20
"""Unknown entities listed at most, the most frequent first."""
_SUGGESTED = 3
_EDITS, _NEARLY = SCORES.index("edit_similarity"), 0.7
"""Least similarity of nearly equal names."""


class Suggestion(NamedTuple):
    """A similar entity of the knowledge base, and why it is suggested."""

    id: str
    title: str
    why: str


@dataclass(frozen=True)
class UnknownEntity:
    """An annotated entity that the knowledge base lacks.

    mentions  number of annotations
    """

    gold: str
    title: str | None
    mentions: int
    suggestions: tuple[Suggestion, ...]


@dataclass(frozen=True)
class GoldReport:
    """Coverage of annotated entities by a knowledge base.

    linked     mentions annotated with an entity
    known      those with a known entity
    recalled   those with the entity among the candidates
    without    known ones without any candidates
    ambiguity  mean number of candidates of the known ones
    entities   number of unknown entities, of which the first are listed
    """

    linked: int
    known: int
    recalled: int
    without: int
    ambiguity: float
    entities: int
    unknown: tuple[UnknownEntity, ...]

    @property
    def recall(self) -> float:
        """Share of known mentions with the entity among the candidates; NaN without any."""
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
    """Collects documents one at a time."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._finder = GoldFinder(kb)
        self._linked = self._known = self._recalled = self._without = self._candidates = 0
        self._unknown: dict[str, Mention] = {}
        self._times: dict[str, int] = {}

    def add(self, document: Document) -> None:
        """Count the mentions of a document."""
        resolved = [(mention, self._find(mention)) for mention in document.in_kb()]
        self._linked += len(resolved)
        known = [(mention, id_) for mention, id_ in resolved if id_ is not None]
        self._known += len(known)
        numbers = [self._kb.number(id_) for _, id_ in known]
        lists = self._kb.candidate_lists([mention.text for mention, _ in known], TOP)
        for i, number in enumerate(numbers):
            listed = lists.entity[lists.offsets[i] : lists.offsets[i + 1]]
            self._candidates += len(listed)
            self._without += len(listed) == 0
            self._recalled += number in listed

    def report(self) -> GoldReport:
        """Return the report so far."""
        often = sorted(self._times, key=lambda gold: (-self._times[gold], gold))
        return GoldReport(
            self._linked,
            self._known,
            self._recalled,
            self._without,
            self._candidates / self._known if self._known else float("nan"),
            len(often),
            tuple(self._entity(gold) for gold in often[:LISTED]),
        )

    def _find(self, mention: Mention) -> str | None:
        gold = mention.gold
        assert gold is not None
        id_ = self._finder.find(gold, mention.title)
        if id_ is None:
            self._times[gold] = self._times.get(gold, 0) + 1
            self._unknown.setdefault(gold, mention)
        return id_

    def _entity(self, gold: str) -> UnknownEntity:
        first = self._unknown[gold]
        found: dict[str, Suggestion] = {}
        for why, names in self._names(first):
            for name in names:
                for candidate in self._kb.candidates(name, _SUGGESTED):
                    found.setdefault(candidate.id, Suggestion(candidate.id, candidate.title, why))
            if found:  # the nearest names only
                break
        suggestions = tuple(found.values())[:_SUGGESTED]
        return UnknownEntity(gold, first.title, self._times[gold], suggestions)

    def _names(self, mention: Mention) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield possible names of the entity, the nearest first."""
        titles = titles_in(mention.gold or "", mention.title)
        yield "has this name", titles
        similar = self._kb.similar_names(titles, _SUGGESTED)
        near = zip(similar.names, similar.scores[:, _EDITS].tolist(), strict=True)
        yield "has nearly this name", [name for name, score in near if score >= _NEARLY]
        yield "has the name of the mention", (mention.text,)
