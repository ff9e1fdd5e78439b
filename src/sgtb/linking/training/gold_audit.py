"""Gold audit: coverage of annotated entities by a knowledge base, with suggestions."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sgtb.core.records import Document, Mention
from sgtb.kb import KnowledgeBase
from sgtb.kb.fuzzy_index import SCORES
from sgtb.kb.knowledge_base import TOP
from sgtb.linking.training.gold import GoldFinder, titles_in

LISTED = 20  # unknown entities listed at most, the most frequent first
_SUGGESTED = 3
_EDITS, _NEARLY = SCORES.index("edit_similarity"), 0.7  # least similarity of nearly equal names


class Suggestion(NamedTuple):
    """A similar entity of the knowledge base, and why it is suggested."""

    id: str
    title: str
    why: str


@dataclass(frozen=True)
class UnknownEntity:
    """An annotated entity that the knowledge base lacks."""

    gold: str
    title: str | None
    mentions: int  # number of annotations
    suggestions: tuple[Suggestion, ...]


@dataclass(frozen=True)
class GoldReport:
    """Coverage of annotated entities by a knowledge base."""

    linked: int  # mentions annotated with an entity
    known: int  # those with a known entity
    recalled: int  # those with the entity among the candidates
    without: int  # known ones without any candidates
    ambiguity: float  # mean number of candidates of the known ones
    entities: int  # number of unknown entities, of which the first are listed
    unknown: tuple[UnknownEntity, ...]

    @property
    def recall(self) -> float:
        """Share of known mentions with the entity among the candidates; NaN without any."""
        return self.recalled / self.known if self.known else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        unknown = [
            {**asdict(entity), "suggestions": [s._asdict() for s in entity.suggestions]}
            for entity in self.unknown
        ]
        recall, ambiguity = (
            None if value != value else round(value, digits)
            for value, digits in ((self.recall, 6), (self.ambiguity, 3))
        )
        return {**asdict(self), "unknown": unknown, "recall": recall, "ambiguity": ambiguity}


class GoldAudit:
    """Collects documents one at a time."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._finder = GoldFinder(kb)
        self._counts: Counter[str] = Counter()
        self._first: dict[str, Mention] = {}
        self._times: Counter[str] = Counter()

    def add(self, document: Document) -> None:
        """Count the mentions of a document."""
        known = []
        for mention in document.in_kb():
            gold = mention.gold or ""
            id_ = self._finder.find(gold, mention.title)
            if id_ is not None:
                known.append((mention.text, self._kb.number(id_)))
            else:
                self._times[gold] += 1
                self._first.setdefault(gold, mention)
        lists = self._kb.candidate_lists([text for text, _ in known], TOP)
        for i, (_, number) in enumerate(known):
            listed = lists.entity[lists.offsets[i] : lists.offsets[i + 1]]
            self._counts.update(
                known=1, recalled=number in listed, without=not len(listed), candidates=len(listed)
            )

    def report(self) -> GoldReport:
        """Return the report so far."""
        often = sorted(self._times, key=lambda gold: (-self._times[gold], gold))
        counts, known = self._counts, self._counts["known"]
        return GoldReport(
            linked=known + self._times.total(),
            known=known,
            recalled=counts["recalled"],
            without=counts["without"],
            ambiguity=counts["candidates"] / known if known else float("nan"),
            entities=len(often),
            unknown=tuple(self._entity(gold) for gold in often[:LISTED]),
        )

    def _entity(self, gold: str) -> UnknownEntity:
        first = self._first[gold]
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
