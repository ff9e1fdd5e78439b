"""Links: what is asked of a linker, and what it answers; frozen, and plain data as JSON."""

from dataclasses import dataclass, field
from typing import Any, Literal

from sgtb.records import Record

Found = Literal["given", "exact", "longer name", "acronym", "near name", "nothing"]
"""How the candidates of a mention were found: brought along by the document, by its very name, by
a longer name of the same person, as an acronym, by a name spelt nearly so, not at all."""


@dataclass(frozen=True, slots=True)
class Span(Record):
    """A mention given by the caller.

    start, end  its code points in the text
    fixed       the id of the entity it certainly means; None: to be decided
    candidates  the ids of the entities it may mean; None: those that the knowledge base has
    """

    start: int
    end: int
    fixed: str | None = None
    candidates: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Request(Record):
    """A text to be linked.

    spans  its mentions; None: they are to be found
    id     whatever the caller knows it by; the answer carries it
    """

    text: str
    spans: tuple[Span, ...] | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class Alternative(Record):
    """A candidate of a mention.

    probability  that it is meant, all other mentions decided as they were
    prior        of the name alone; NaN where the candidates were given
    """

    entity: str
    title: str
    type: str
    probability: float
    prior: float


@dataclass(frozen=True, slots=True)
class Reason(Record):
    """A part of the score difference between the chosen candidate and the runner-up.

    kind     "features": a group of features of the mention itself; "mention": another mention
    name     the group, or the other mention's text
    value    what it adds; all reasons of a link add up to its `lead`
    mention  the place of the other mention among the document's links
    """

    kind: Literal["features", "mention"]
    name: str
    value: float
    mention: int | None = None


@dataclass(frozen=True, slots=True)
class Link(Record):
    """A mention and the entity it means.

    entity      the id; None: nothing in the knowledge base, which is called NIL
    confidence  the probability that this answer is right, NIL included
    candidates  likeliest first, the chosen one included; as many as were asked for
    lead        by how much the score is above that of the runner-up; NaN without one
    runner_up   the id of the candidate that reasons compare with, or "NIL"; None: there is none
    reasons     strongest first; empty where none were asked for or nothing competed
    fixed       whether the caller said so
    nil         the probability of NIL, as far as the model can tell it from other errors
    """

    start: int
    end: int
    text: str
    entity: str | None
    title: str
    type: str
    confidence: float
    found: Found
    candidates: tuple[Alternative, ...] = ()
    lead: float = float("nan")
    runner_up: str | None = None
    reasons: tuple[Reason, ...] = ()
    fixed: bool = False
    nil: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; what is not a number is None."""
        return {
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "entity": self.entity,
            "title": self.title,
            "type": self.type,
            "confidence": _number(self.confidence),
            "nil": _number(self.nil),
            "found": self.found,
            "fixed": self.fixed,
            "candidates": [
                {
                    "entity": other.entity,
                    "title": other.title,
                    "type": other.type,
                    "probability": round(other.probability, 6),
                    "prior": _number(other.prior),
                }
                for other in self.candidates
            ],
            "runner_up": self.runner_up,
            "lead": _number(self.lead),
            "reasons": [
                {
                    "kind": reason.kind,
                    "name": reason.name,
                    "value": round(reason.value, 6),
                    "mention": reason.mention,
                }
                for reason in self.reasons
            ],
        }


@dataclass(frozen=True, slots=True)
class LinkedDocument(Record):
    """A text with its links, in the order of the text; links do not overlap."""

    text: str
    links: tuple[Link, ...]
    id: str = field(default="")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the text left out: who asked for the links has it."""
        named = {"id": self.id} if self.id else {}
        return {**named, "links": [link.to_dict() for link in self.links]}


def _number(value: float) -> float | None:
    return None if value != value else round(value, 6)
