"""Vocabulary: the tokens met so far, each spelt once, with what a lexicon knows of their words.

A text says most of its words again and again, and so do texts. What features see of a token is kept
in columns, by its number: its kind.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntFlag, auto
from itertools import accumulate
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Bytes, Floats, Ints
from sgtb.core.ragged import Items, Ragged
from sgtb.linking.entities.clue_hashes import clue
from sgtb.text.normalization import STOP_WORDS, normal_words

UNKNOWN = -1
"""The number of a word that a lexicon does not have."""
OUTSIDE = 0
"""The kind of what is seen beyond the ends of a sentence."""

_TOKENS, _BYTES = 1 << 16, 1 << 20
"""So many different tokens are remembered, some 20 MB, and so much of their texts."""


class Mark(IntFlag):
    """What a token may be; a number is what has a digit in it."""

    NUMBER = auto()
    CAPITAL = auto()
    DATE = auto()
    OPENING = auto()
    CLOSING = auto()
    PREPOSITION = auto()
    VERSUS = auto()


_NUMBER, _CAPITAL, _DATE_MARK = int(Mark.NUMBER), int(Mark.CAPITAL), int(Mark.DATE)
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?$")
_MARKS = {
    "(": Mark.OPENING,
    ")": Mark.CLOSING,
    **dict.fromkeys("in at from near to".split(), Mark.PREPOSITION),
    **dict.fromkeys("v vs versus beat against defeated over with".split(), Mark.VERSUS),
}

WORD = np.dtype(
    [
        ("number", np.int32), ("weight", np.float32), ("is_digit", np.bool_),
        ("is_stop", np.bool_), ("s", np.uint32), ("h", np.uint32), ("d", np.uint32),
    ]
)  # fmt: skip
"""What is known of a word: its number in the lexicon or UNKNOWN, its weight there or 0, whether it
is all digits, whether a stop word; and the hashes of clues that it is in a mention's sentence, in
the headline or in the document."""


_CLUES = {name: clue(f"{name}:") for name in ("s", "h", "d")}


class Kinds(NamedTuple):
    """What is known of tokens, by kind, and of their words.

    near   the bytes of each token as its neighbours see it: all numbers alike
    marks  what each is
    words  the words of each, by their places in `word`
    word   `WORD` of each
    """

    near: Ragged
    marks: Bytes
    words: Ragged
    word: npt.NDArray[Any]


class Vocabulary:
    """The tokens met so far; when there are too many, it begins anew. For any number of threads."""

    def __init__(self, number: Mapping[str, int], weight: Floats) -> None:
        """Begin with no token.

        number, weight  of the words of a lexicon
        """
        self._lexicon = number, weight
        self._guard = Lock()
        self._known = _KnownTokens()

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, self._lexicon

    def read(self, texts: Sequence[str]) -> tuple[Ints, Kinds]:
        """Return the kinds of tokens, and what is known of all kinds."""
        tokens = self._known
        try:
            return _kinds(texts, tokens.kind), tokens.columns
        except KeyError:
            with self._guard:
                if len(tokens.kind) >= _TOKENS or tokens.near.size >= _BYTES:
                    self._known = tokens = _KnownTokens()
                tokens.add(texts, *self._lexicon)
            return _kinds(texts, tokens.kind), tokens.columns


def _kinds(texts: Sequence[str], kind: Mapping[str, int]) -> Ints:
    return np.fromiter(map(kind.__getitem__, texts), np.int32, len(texts))


class _KnownTokens:
    """Tokens met, in columns that grow at their ends only: what was read of them stays valid."""

    def __init__(self) -> None:
        self.kind: dict[str, int] = {}
        self._place: dict[str, int] = {}
        self.near, self._near_end = _Column(np.uint8), _Column(np.int64)
        self._words, self._words_end = _Column(np.int32), _Column(np.int64)
        self._marks, self._word = _Column(np.uint8), _Column(WORD)
        for column in (self._near_end, self._words_end):
            column.extend([0])
        self._append([_OUTSIDE])

    def add(self, texts: Iterable[str], number: Mapping[str, int], weight: Floats) -> None:
        """Add the tokens that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self.kind]
        spelt = [_spelling(text) for text in new]
        words = [w for one in spelt for w in one.words if w not in self._place]
        words = [*dict.fromkeys(words)]
        column = np.zeros(len(words), WORD)
        column["number"] = [number.get(word, UNKNOWN) for word in words]
        known = column["number"] != UNKNOWN
        column["weight"][known] = weight[column["number"][known]]
        column["is_digit"] = [*map(str.isdigit, words)]
        column["is_stop"] = [*map(STOP_WORDS.__contains__, words)]
        for name, begun in _CLUES.items():
            column[name] = [clue(word, begun) for word in words]
        self._word.extend(column)
        self._place.update(zip(words, range(len(self._place), self._word.size), strict=True))
        first = self._marks.size
        self._append(spelt)
        # At last, for other threads look here first.
        self.kind.update(zip(new, range(first, self._marks.size), strict=True))

    def _append(self, spelt: Sequence["_Spelling"]) -> None:
        near = [one.near for one in spelt]
        words = [one.words for one in spelt]
        self._marks.extend([one.marks for one in spelt])
        self._near_end.extend([*accumulate(map(len, near), initial=self.near.size)][1:])
        self._words_end.extend([*accumulate(map(len, words), initial=self._words.size)][1:])
        self.near.extend(np.frombuffer(b"".join(near), np.uint8))
        self._words.extend([self._place[word] for own in words for word in own])

    @property
    def columns(self) -> Kinds:
        """All that is known by now."""
        return Kinds(
            Ragged(self._near_end.items, self.near.items), self._marks.items,
            Ragged(self._words_end.items, self._words.items), self._word.items,
        )  # fmt: skip


class _Column:
    """An array that grows at its end."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.size = 0
        self._room = np.zeros(1 << 10, dtype)

    @property
    def items(self) -> Items:
        return self._room[: self.size]

    def extend(self, items: Sequence[Any] | Items) -> None:
        size = self.size + len(items)
        if size > len(self._room):
            room = np.zeros(2 * size, self._room.dtype)
            room[: self.size] = self.items
            self._room = room
        self._room[self.size : size] = items
        self.size = size


class _Spelling(NamedTuple):
    """A token as features see it."""

    near: bytes
    marks: int
    words: tuple[str, ...]


_OUTSIDE = _Spelling(b"<>", 0, ())


def _spelling(text: str) -> _Spelling:
    low = text.lower()
    is_number = any(map(str.isdigit, low))
    near = b"0" if is_number else low.encode("utf-8", "surrogatepass")
    marks = int(_MARKS.get(low, 0))
    if is_number:
        marks |= _NUMBER | (_DATE_MARK if _DATE.match(low) else 0)
    if text[:1].isupper():
        marks |= _CAPITAL
    return _Spelling(near, marks, normal_words(text))
