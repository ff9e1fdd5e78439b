"""Links: requests and answers of a linker."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate, pairwise, repeat
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from sgtb.core.errors import RequestError
from sgtb.core.records import Document, Record, from_columns

if TYPE_CHECKING:
    from sgtb.linking.link_export import FrameLibrary

_SHOWN = 60  # characters of a text in its representation

Found = Literal[
    "given", "exact", "variant", "longer name", "abbreviation", "acronym", "training",
    "similar name", "nothing",
]  # fmt: skip
"""How the candidates of a mention were found: given by the document, by the exact name, by a
variant of a name, by a longer name of the same person, by the long form that the text defines, as
an acronym of another mention, by a name annotated in training, by a similarly spelt name, not at
all."""


@dataclass(frozen=True, slots=True)
class Span(Record):
    """A mention given by the caller.

    start, end  code points
    fixed       id of its entity; None: to be decided
    candidates  ids of its candidates; None: looked up in the knowledge base
    """

    start: int
    end: int
    fixed: str | None = None
    candidates: tuple[str, ...] | None = None


SpanLike = Span | tuple[int, int]
"""A span, or its start and end. A spaCy `Span` is accepted, too."""


@dataclass(frozen=True, slots=True)
class Request(Record):
    """A text to be linked.

    spans  its mentions; None: detected. Pairs of start and end and spaCy spans become `Span`
    id     copied to the answer
    """

    text: str
    spans: tuple[Span, ...] | None = None
    id: str = ""

    if TYPE_CHECKING:  # the generated constructor accepts more than the field holds

        def __init__(
            self, text: str, spans: Iterable[SpanLike | Any] | None = None, id: str = ""
        ) -> None: ...

    def __post_init__(self) -> None:
        if isinstance(self.spans, tuple | list):
            object.__setattr__(self, "spans", tuple(map(_span, self.spans)))


def _span(given: Any) -> Any:
    """Return a span from any accepted form; others are returned unchanged and refused later."""
    if isinstance(given, Span):
        return given
    if isinstance(given, tuple | list) and len(given) == 2:
        return Span(*given)
    if hasattr(given, "start_char") and hasattr(given, "end_char"):
        return Span(given.start_char, given.end_char)
    return given


Linkable = str | Request | Document | None
"""None is a missing value of a column, which has no links. A spaCy `Doc` is accepted, too."""


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN or a missing value of pandas."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def as_request(given: Any) -> Request | Document:
    """Return what is linked: a request, or a document as it is.

    Missing values are empty texts. The entities of a spaCy Doc are its spans, unless no component
    has set any.
    """
    if isinstance(given, Request | Document):
        return given
    if isinstance(given, str):
        return Request(given)
    if is_missing(given):
        return Request("")
    if _is_spacy_doc(given):
        return Request(given.text, tuple(given.ents) if given.has_annotation("ENT_IOB") else None)
    raise RequestError(
        f"only a text, a Request, a Document or a spaCy Doc can be linked, not {given!r:.80}"
    )


def check_many(documents: Iterable[Any], caller: str) -> None:
    """Raise for a single document, whose characters would be linked one by one."""
    if isinstance(documents, str | bytes | Request | Document) or _is_spacy_doc(documents):
        raise RequestError(
            f"{caller} takes a list or another iterable of documents; use `link` for one document"
        )


def _is_spacy_doc(given: object) -> bool:
    return hasattr(given, "ents") and hasattr(given, "has_annotation")


@dataclass(frozen=True, slots=True)
class Alternative(Record):
    """A candidate of a mention.

    probability  given the decisions at all other mentions
    prior        of the name; NaN for given candidates
    """

    entity: str
    title: str
    type: str
    probability: float
    prior: float


@dataclass(frozen=True, slots=True)
class Reason(Record):
    """A part of the score difference between the chosen candidate and the runner-up.

    kind     "features": a feature group of the mention; "mention": another mention
    name     key of the group, or text of the other mention
    value    the reasons of a link sum to its `lead`
    mention  index of the other mention among the links
    """

    kind: Literal["features", "mention"]
    name: str
    value: float
    mention: int | None = None


class _Packed(Record):
    """A record with fields that are made on first access.

    A link has dozens of objects, of which most callers read few; they cost time to make and pickle.

    _lazy_fields  names of these fields
    _packed       arguments of `_make`
    """

    __slots__ = ("_packed",)
    _lazy_fields: ClassVar[tuple[str, ...]]

    if not TYPE_CHECKING:  # type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            """Make a lazy field."""
            if name not in self._lazy_fields:
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
                )
            value = self._make(name, *self._packed)
            object.__setattr__(self, name, value)
            return value


@dataclass(frozen=True, slots=True, repr=False)
class Link(_Packed):
    """A mention and its entity.

    entity      id; None: NIL, not in the knowledge base
    confidence  probability that the answer is right, also for NIL
    candidates  likeliest first, with the chosen one
    lead        score difference to the runner-up; NaN without one
    runner_up   id of the candidate that reasons compare with, or "NIL"; None: none
    reasons     strongest first; empty if not requested or without a runner-up
    fixed       whether the caller gave the entity
    nil         probability of NIL
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

    _lazy_fields = ("candidates", "reasons")

    @staticmethod
    def _make(
        name: str, columns: "LinkColumns", candidates: tuple[int, int], reasons: tuple[int, int]
    ) -> tuple[Alternative, ...] | tuple[Reason, ...]:
        is_other = name == "candidates"
        return columns.alternatives(*candidates) if is_other else columns.reasons(*reasons)

    def __repr__(self) -> str:
        own = "" if self.entity == self.title else f" ({self.entity})"
        answer = "NIL" if self.entity is None else f"{self.title}{own}"
        return f"<Link {self.text!r} [{self.start}:{self.end}] {answer}, {self.confidence:.0%}>"

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def to_span(self, doc: Any) -> Any:
        """Return the mention as a `Span` of a spaCy `Doc` of the same text, with type and id."""
        from sgtb.linking.link_export import spacy_span

        return spacy_span(self, doc)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; NaN becomes None."""
        return {
            "start": self.start, "end": self.end, "text": self.text,
            "entity": self.entity, "title": self.title, "type": self.type,
            "confidence": _number(self.confidence), "nil": _number(self.nil),
            "found": self.found, "fixed": self.fixed,
            "candidates": [
                {
                    "entity": other.entity, "title": other.title, "type": other.type,
                    "probability": round(other.probability, 6), "prior": _number(other.prior),
                }
                for other in self.candidates
            ],
            "runner_up": self.runner_up,
            "lead": _number(self.lead),
            "reasons": [
                {
                    "kind": reason.kind, "name": reason.name, "value": round(reason.value, 6),
                    "mention": reason.mention,
                }
                for reason in self.reasons
            ],
        }  # fmt: skip


Card = tuple[str | None, str, str]  # id, title and type of an entity
NIL_CARD: Card = (None, "", "")


class LinkColumns(NamedTuple):
    """N links with A candidates and R reasons in columns; numbers as bytes, for fast pickling."""

    starts: list[int]
    ends: list[int]
    texts: list[str]
    answers: list[Card]  # entities of the links
    confidence: bytes  # f8[N]
    found: Sequence[Found]
    shown: bytes  # i8[N], number of candidates
    lead: bytes  # f8[N]
    runner_up: list[str | None]
    explained: bytes  # i8[N], number of reasons
    fixed: tuple[bool, ...]
    nil: bytes  # f8[N]
    entities: list[Card]  # of the candidates
    probability: bytes  # f8[A]
    prior: bytes  # f4[A]
    names: list[str]  # of the reasons
    values: bytes  # f8[R]
    mentions: bytes  # i8[R], as in `Reason`; -1: a feature group

    def links(self) -> tuple[Link, ...]:
        """Return the links; candidates and reasons are made on first access."""
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
        """Return candidates `first` to `last` - 1."""
        probability = _numbers(self.probability[8 * first : 8 * last], "d")
        prior = _numbers(self.prior[4 * first : 4 * last], "f")
        cards = self.entities[first:last]
        return tuple(
            Alternative(*card, *scores)  # type: ignore[arg-type]
            for card, *scores in zip(cards, probability, prior, strict=True)
        )

    def reasons(self, first: int, last: int) -> tuple[Reason, ...]:
        """Return reasons `first` to `last` - 1."""
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
    """Concatenate the links of a document's chunks."""
    if len(parts) == 1:
        return parts[0]
    columns: Any = (reduce(add, column) for column in zip(*parts, strict=True))
    return LinkColumns(*columns)


def _numbers(column: bytes, kind: Literal["q", "d", "f"]) -> list[Any]:
    return memoryview(column).cast(kind).tolist()


@dataclass(frozen=True, slots=True, repr=False)
class LinkedDocument(_Packed):
    """A text with its links, in text order, without overlaps."""

    text: str
    links: tuple[Link, ...]
    id: str = field(default="")

    _lazy_fields = ("links",)

    @staticmethod
    def _make(name: str, columns: LinkColumns) -> tuple[Link, ...]:
        return columns.links()

    @property
    def columns(self) -> LinkColumns:
        """The links in columns; only of a document that a linker returned."""
        columns: LinkColumns = getattr(self, "_packed")[0]  # noqa: B009 - a slot of the base
        return columns

    def __reduce__(self) -> tuple[Any, ...]:
        packed = getattr(self, "_packed", None)
        if packed is None:
            return LinkedDocument, (self.text, self.links, self.id)
        return _unpacked, (self.text, self.id, *packed[0])

    def __repr__(self) -> str:
        named = f" {self.id!r}" if self.id else ""
        text = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}…"
        n = len(self.links)
        return f"<LinkedDocument{named} {text!r}, {n:,} link{'' if n == 1 else 's'}>"

    def _repr_html_(self) -> str:
        """Return the text with its links marked, for notebooks."""
        from sgtb.linking.link_export import marked_html

        return marked_html(self)

    def to_dict(self, text: bool = True) -> dict[str, Any]:
        """Return plain data, which `sgtb train` reads as an annotated document."""
        named = {"id": self.id} if self.id else {}
        read = {"text": self.text} if text else {}
        return {**named, **read, "links": [link.to_dict() for link in self.links]}

    def to_json(self) -> str:
        """Return `to_dict` as JSON on one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def to_frame(self, library: "FrameLibrary | None" = None) -> Any:
        """Return a data frame with a row per link.

        library  "pandas" or "polars"; None: the one that is installed, pandas if both are
        """
        from sgtb.linking.link_export import link_frame

        return link_frame(self, library)

    def to_displacy(self) -> dict[str, Any]:
        """Return the input of `spacy.displacy.render(..., style="ent", manual=True)`."""
        from sgtb.linking.link_export import displacy_input

        return displacy_input(self)

    def to_spans(self, doc: Any) -> list[Any]:
        """Return the links as spans of a spaCy `Doc` of the same text."""
        return [link.to_span(doc) for link in self.links]


def linked(text: str, id: str, columns: LinkColumns) -> LinkedDocument:
    """Return a document whose links are made on first access."""
    document = object.__new__(LinkedDocument)
    for name, value in (("text", text), ("id", id), ("_packed", (columns,))):
        object.__setattr__(document, name, value)
    return document


def _unpacked(text: str, id: str, *columns: Any) -> LinkedDocument:
    return linked(text, id, LinkColumns(*columns))


def _number(value: float) -> float | None:
    return None if value != value else round(value, 6)
