"""Links: what is asked of a linker, and what it answers; frozen, and plain data as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate, pairwise, repeat
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from sgtb.core.records import Record, from_columns

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


class _Packed(Record):
    """A record some of whose fields are made on first access.

    A link with its candidates and reasons is dozens of objects. Many callers read few of them, and
    objects cost time to make, to pickle, and in garbage collection.

    _made_late  the names of these fields
    _packed     what `_make` makes them from
    """

    __slots__ = ("_packed",)
    _made_late: ClassVar[tuple[str, ...]]

    if not TYPE_CHECKING:  # a class that has this seems to have every attribute

        def __getattr__(self, name: str) -> Any:
            """Make a field whose slot is empty."""
            if name not in self._made_late:
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
                )
            value = self._make(name, *self._packed)
            object.__setattr__(self, name, value)
            return value


@dataclass(frozen=True, slots=True)
class Link(_Packed):
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

    _made_late = ("candidates", "reasons")

    @staticmethod
    def _make(
        name: str, columns: "LinkColumns", candidates: tuple[int, int], reasons: tuple[int, int]
    ) -> tuple[Alternative, ...] | tuple[Reason, ...]:
        if name == "candidates":
            return columns.alternatives(*candidates)
        return columns.reasons(*reasons)

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


Card = tuple[str | None, str, str]
"""What a link says of an entity: its id, title and type."""
NIL_CARD: Card = (None, "", "")


class LinkColumns(NamedTuple):
    """N links with A candidates and R reasons, flat; also the form sent to other processes.

    answers      their entities
    confidence   f8[N], as bytes like all numbers here
    shown        i8[N]  how many candidates each of them has
    lead         f8[N]
    explained    i8[N]  how many reasons each of them has
    nil          f8[N]
    entities     those of the candidates
    probability  f8[A]
    prior        f4[A]
    names        of the reasons
    values       f8[R]
    mentions     i8[R]  as in `Reason`; -1: a group of features
    """

    starts: list[int]
    ends: list[int]
    texts: list[str]
    answers: list[Card]
    confidence: bytes
    found: Sequence[Found]
    shown: bytes
    lead: bytes
    runner_up: list[str | None]
    explained: bytes
    fixed: tuple[bool, ...]
    nil: bytes
    entities: list[Card]
    probability: bytes
    prior: bytes
    names: list[str]
    values: bytes
    mentions: bytes

    def links(self) -> tuple[Link, ...]:
        """Return the links; their candidates and reasons are made on first access."""
        n = len(self.starts)
        ids, titles, types = zip(*self.answers, strict=True) if n else ((), (), ())
        shown, explained = (
            pairwise(accumulate(_numbers(counts, "q"), initial=0))
            for counts in (self.shown, self.explained)
        )
        return from_columns(
            Link, n,
            {
                "start": self.starts, "end": self.ends, "text": self.texts, "entity": ids,
                "title": titles, "type": types, "confidence": _numbers(self.confidence, "d"),
                "found": self.found, "lead": _numbers(self.lead, "d"), "runner_up": self.runner_up,
                "fixed": self.fixed, "nil": _numbers(self.nil, "d"),
                "_packed": zip(repeat(self), shown, explained, strict=False),
            },
        )  # fmt: skip

    def alternatives(self, first: int, last: int) -> tuple[Alternative, ...]:
        """Return some of the candidates."""
        probability = _numbers(self.probability[8 * first : 8 * last], "d")
        prior = _numbers(self.prior[4 * first : 4 * last], "f")
        cards = self.entities[first:last]
        return tuple(
            Alternative(*card, *scores)  # type: ignore[arg-type]
            for card, *scores in zip(cards, probability, prior, strict=True)
        )

    def reasons(self, first: int, last: int) -> tuple[Reason, ...]:
        """Return some of the reasons."""
        if first == last:
            return ()
        mentions = _numbers(self.mentions[8 * first : 8 * last], "q")
        return from_columns(
            Reason, last - first,
            {
                "kind": ["features" if mention < 0 else "mention" for mention in mentions],
                "name": self.names[first:last],
                "value": _numbers(self.values[8 * first : 8 * last], "d"),
                "mention": [None if mention < 0 else mention for mention in mentions],
            },
        )  # fmt: skip


def joined(parts: Sequence[LinkColumns]) -> LinkColumns:
    """Return the links of a document's parts, behind each other."""
    if len(parts) == 1:
        return parts[0]
    columns: Iterable[Any] = zip(*parts, strict=True)
    behind: Any = (reduce(add, column) for column in columns)
    return LinkColumns(*behind)


def _numbers(column: bytes, kind: Literal["q", "d", "f"]) -> list[Any]:
    return memoryview(column).cast(kind).tolist()


@dataclass(frozen=True, slots=True)
class LinkedDocument(_Packed):
    """A text with its links, in the order of the text; links do not overlap."""

    text: str
    links: tuple[Link, ...]
    id: str = field(default="")

    _made_late = ("links",)

    @staticmethod
    def _make(name: str, columns: LinkColumns) -> tuple[Link, ...]:
        return columns.links()

    def __reduce__(self) -> tuple[Any, ...]:
        packed = getattr(self, "_packed", None)
        if packed is None:
            return LinkedDocument, (self.text, self.links, self.id)
        return _unpacked, (self.text, self.id, *packed[0])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the text left out: who asked for the links has it."""
        named = {"id": self.id} if self.id else {}
        return {**named, "links": [link.to_dict() for link in self.links]}


def linked(text: str, id: str, columns: LinkColumns) -> LinkedDocument:
    """Return a document whose links are made when they are asked for."""
    document = object.__new__(LinkedDocument)
    for name, value in (("text", text), ("id", id), ("_packed", (columns,))):
        object.__setattr__(document, name, value)
    return document


def _unpacked(text: str, id: str, *columns: Any) -> LinkedDocument:
    return linked(text, id, LinkColumns(*columns))


def _number(value: float) -> float | None:
    return None if value != value else round(value, 6)
