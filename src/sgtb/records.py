"""Records: the documents, mentions and tokens that cross the edges between parts, frozen."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

NIL = "NIL"
"""The gold of a mention that was looked at and means nothing in the knowledge base."""


class Record:
    """A frozen dataclass with slots; goes to another process by its fields.

    That takes a quarter of the time of what dataclasses do by themselves, and documents and links
    go through pipes by the thousand.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        kind: Any = type(self)
        return kind, _fields(kind)(self)


@cache
def _fields(kind: Any) -> "attrgetter[Any]":
    return attrgetter(*kind.__slots__)


class Token(NamedTuple):
    """A word of a document, and where it stands in its text: text[start:end], code points.

    A tuple, for a document has hundreds of them and a tuple is made in half the time.
    """

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mention(Record):
    """A name in a document.

    start, end   its code points in the document's text
    first, stop  its tokens, `stop` not included
    text         the name as it stands there
    gold         the id of the entity meant; NIL: outside the knowledge base; None: not annotated
    title        the title that the annotation gives, where it gives one
    type         the annotated type. For reports only: what links must not look at it
    candidates   entity ids that the document brings along; None: it brings none
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

    sentences  per sentence its first token and the one after its last
    split      "train", "dev", "test" or "" where the corpus has no splits
    """

    id: str
    text: str
    tokens: tuple[Token, ...]
    sentences: tuple[tuple[int, int], ...]
    mentions: tuple[Mention, ...]
    split: str = ""

    def in_kb(self) -> Iterator[Mention]:
        """Yield the mentions whose annotation names an entity."""
        return (mention for mention in self.mentions if mention.in_kb)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pack the tokens: most are what stands in the text, and their places say it all."""
        text, tokens = self.text, self.tokens
        words = [word for word, _, _ in tokens]
        places = array("q", [place for _, start, end in tokens for place in (start, end)])
        told = None if words == [text[a:b] for _, a, b in tokens] else words
        return _document, (self.id, text, told, places, self.sentences, self.mentions, self.split)


def _document(
    id: str, text: str, words: list[str] | None, places: "array[int]", sentences: Any,
    mentions: Any, split: str,
) -> Document:  # fmt: skip
    starts, ends = places[::2], places[1::2]
    if words is None:
        words = [text[a:b] for a, b in zip(starts, ends, strict=True)]
    tokens = tuple(map(Token, words, starts, ends))
    return Document(id, text, tokens, sentences, mentions, split)
