"""Records: documents, mentions and tokens, the frozen objects of the public interfaces."""

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeVar, overload

NIL = "NIL"  # the gold of a mention annotated as outside of the knowledge base


class Record:
    """Base of frozen dataclasses with slots; pickled by its fields.

    This takes a quarter of the time of the default, and workers exchange thousands of records.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        kind: Any = type(self)
        return kind, _fields(kind)(self)


@cache
def _fields(kind: Any) -> "attrgetter[Any]":
    return attrgetter(*kind.__slots__)


R = TypeVar("R", bound=Record)


def from_columns(kind: type[R], n: int, columns: Mapping[str, Iterable[Any]]) -> tuple[R, ...]:
    """Return n records from columns, without `__post_init__`, in half the time of constructors."""
    records: tuple[R, ...] = tuple(map(object.__new__, repeat(kind, n)))
    for name, column in columns.items():
        deque(map(getattr(kind, name).__set__, records, column), 0)
    return records


class Token(NamedTuple):
    """A word of a document, and its span text[start:end] in code points."""

    text: str
    start: int
    end: int


class Tokens(Sequence[Token]):
    """The tokens of a text in columns, with the fields of `Token`; tokens are created on access.

    A document has hundreds of them, and columns are cheap to pickle and to garbage-collect.
    """

    __slots__ = ("ends", "starts", "texts")

    texts: tuple[str, ...]
    starts: "array[int]"
    ends: "array[int]"

    def __init__(self, texts: Iterable[str], starts: Iterable[int], ends: Iterable[int]) -> None:
        self.texts = tuple(texts)
        self.starts = array("q", starts)
        self.ends = array("q", ends)

    @classmethod
    def of(cls, tokens: Iterable[Token]) -> "Tokens":
        """Pack tokens."""
        texts, starts, ends = zip(*tokens, strict=True) if (tokens := [*tokens]) else ((), (), ())
        return cls(texts, starts, ends)

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, at: int) -> Token: ...
    @overload
    def __getitem__(self, at: slice) -> "Tokens": ...
    def __getitem__(self, at: int | slice) -> "Token | Tokens":
        if isinstance(at, slice):
            return Tokens(self.texts[at], self.starts[at], self.ends[at])
        return Token(self.texts[at], self.starts[at], self.ends[at])

    def __iter__(self) -> Iterator[Token]:
        return map(Token, self.texts, self.starts, self.ends)

    def __eq__(self, other: object) -> bool:
        """Compare with other tokens, or with a tuple of them."""
        if isinstance(other, Tokens):
            return (self.texts, self.starts, self.ends) == (other.texts, other.starts, other.ends)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokens, (self.texts, self.starts, self.ends)


@dataclass(frozen=True, slots=True)
class Mention(Record):
    """A name in a document.

    start, end   its code points in the document's text
    first, stop  its tokens, `stop` not included
    text         the name as written
    gold         the id of the entity meant; NIL: outside the knowledge base; None: not annotated
    title        the title that the annotation gives, where it gives one
    type         the annotated type; for reports only, never a feature
    candidates   entity ids given by the document; None: not given
    """

    start: int
    end: int
    first: int
    stop: int
    text: str
    gold: str | None = None
    title: str | None = None
    type: str | None = None
    candidates: tuple[str, ...] | None = None

    @property
    def in_kb(self) -> bool:
        """Whether the annotation names an entity."""
        return self.gold is not None and self.gold != NIL


@dataclass(frozen=True, slots=True)
class Document(Record):
    """A text with its tokens, sentences and mentions.

    tokens     any sequence of tokens; stored in columns
    sentences  per sentence its first token and the one after its last
    split      "train", "dev", "test", or "" without splits
    """

    id: str
    text: str
    tokens: Tokens
    sentences: tuple[tuple[int, int], ...]
    mentions: tuple[Mention, ...]
    split: str = ""

    def __post_init__(self) -> None:
        given: Any = self.tokens
        if not isinstance(given, Tokens):
            object.__setattr__(self, "tokens", Tokens.of(given))

    def in_kb(self) -> Iterator[Mention]:
        """Yield the mentions whose annotation names an entity."""
        return (mention for mention in self.mentions if mention.in_kb)

    def part(self, mentions: tuple[int, int], tokens: tuple[int, int]) -> "Document":
        """Return some mentions with the tokens around them; offsets in the text stay."""
        kept = self.mentions[slice(*mentions)]
        # Two mentions may touch the same token, so that a part may need one of its neighbour's.
        begin = min(tokens[0], *(mention.first for mention in kept))
        stop = max(tokens[1], *(mention.stop for mention in kept))
        opening = bisect_right(self.sentences, begin, key=itemgetter(1))
        closing = bisect_left(self.sentences, stop, key=itemgetter(0))
        lines = tuple(
            (max(a, begin) - begin, min(b, stop) - begin)
            for a, b in self.sentences[opening:closing]
        )
        shifted = tuple(replace(m, first=m.first - begin, stop=m.stop - begin) for m in kept)
        return replace(self, tokens=self.tokens[begin:stop], sentences=lines, mentions=shifted)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (_packed(self),)


@dataclass(frozen=True, slots=True)
class UnannotatedDocument:
    """Pickles a document without its gold, titles and types."""

    document: Document

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (_packed(self.document, annotated=False),)


_END = "\0"
_PLACES = attrgetter("start", "end", "first", "stop")


def _packed(document: Document, annotated: bool = True) -> tuple[Any, ...]:
    """Return a document as a few strings and arrays, which pickle fast; equal lists once."""
    tokens, mentions = document.tokens, document.mentions
    places = array("q", chain.from_iterable(map(_PLACES, mentions)))
    lists = [None if (ids := m.candidates) is None else tuple(ids) for m in mentions]
    number: dict[tuple[str, ...] | None, int] = {}
    numbers = [number.setdefault(ids, len(number)) for ids in lists]
    annotations = [(m.gold, m.title, m.type) for m in mentions] if annotated else None
    return (
        document.id, document.text, document.split, document.sentences,
        _joined(tokens.texts), (tokens.starts + tokens.ends).tobytes(),
        _joined([mention.text for mention in mentions]), places.tobytes(), annotations,
        _joined([id_ for ids in number if ids for id_ in ids]),
        [-1 if ids is None else len(ids) for ids in number], numbers,
    )  # fmt: skip


def _unpacked(packed: tuple[Any, ...]) -> Document:
    (
        id_, text, split, sentences, words, word_places, names, name_places, annotations, ids,
        sizes, numbers,
    ) = packed  # fmt: skip
    places = array("q", word_places)
    n = len(places) // 2
    tokens = Tokens(_parted(words), places[:n], places[n:])
    ids = _parted(ids)
    lists: list[tuple[str, ...] | None] = []
    at = 0
    for size in sizes:
        lists.append(None if size < 0 else ids[at : at + size])
        at += max(size, 0)
    place = memoryview(name_places).cast("q").tolist()
    gold, title, type_ = zip(*annotations, strict=True) if annotations else (repeat(None),) * 3
    mentions = from_columns(
        Mention, len(numbers),
        {
            "start": place[0::4], "end": place[1::4], "first": place[2::4], "stop": place[3::4],
            "text": _parted(names), "gold": gold, "title": title, "type": type_,
            "candidates": [lists[number] for number in numbers],
        },
    )  # fmt: skip
    return Document(
        id=id_, text=text, tokens=tokens, sentences=sentences, mentions=mentions, split=split
    )


def _joined(texts: Sequence[str]) -> Any:
    """Return strings joined to one, which pickles fast; unchanged if they contain the separator."""
    try:
        joined = _END.join(texts)
    except TypeError:  # ids that are not strings; the linker raises the error
        return tuple(texts)
    return joined if joined.count(_END) == len(texts) - 1 else tuple(texts)


def _parted(joined: Any) -> tuple[str, ...]:
    return tuple(joined.split(_END)) if isinstance(joined, str) else joined
