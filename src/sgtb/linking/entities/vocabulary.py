"""Vocabulary: a cache of distinct tokens and their words, in columns.

A token is referred to by its number, its kind.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntFlag, auto
from itertools import accumulate
from struct import Struct, pack
from threading import Lock
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from sgtb.core.byte_cache import ByteCache
from sgtb.core.dtypes import Bytes, Floats, Ints
from sgtb.core.ragged import GrowingArray, Ragged
from sgtb.text.normalization import STOP_WORDS, has_digit, normal_phrase, normal_words

# Clue hashes: observations around a mention ("the next word is a number") as integers.


Hashes = npt.NDArray[np.uint32]

TABLES, LENGTHS = 5, 5
"""Distinct values in clues: share of numbers in a sentence, in quarters; words of a name."""


LOOKS = np.dtype(
    [("is_upper", np.bool_), ("length", np.int64), ("ending", np.uint32), ("shape", np.uint32)]
)
_LOOKS = Struct("=?qII")
"""Shape of a name, as array dtype and as struct."""


def clue(text: str, begun: int = 0) -> int:
    """Return the hash of a clue, or of one that begins with a clue of hash `begun`."""
    return crc32(text.encode("utf-8", "surrogatepass"), begun)  # a text may have lone surrogates


class NameClues(NamedTuple):
    """Clues of a mention's text, packed for fast concatenation."""

    name: str  # normalized
    looks: bytes  # LOOKS
    words: bytes  # hashes


def _name_clues(mention: tuple[str, tuple[str, ...]]) -> NameClues:
    """Return the clues of a mention: its text and its tokens."""
    text, tokens = mention
    name = normal_phrase(text)
    words = [token.lower() for token in tokens]
    first, last = (words[0], words[-1]) if words else ("", "")
    clues = (
        *[clue(word, _BEGUN["word"]) for word in words], clue(" ".join(words), _BEGUN["all"]),
        clue(first, _BEGUN["first"]), clue(last, _BEGUN["last"]),
        clue(last[-3:], _BEGUN["ending3"]), clue(last[-2:], _BEGUN["ending2"]),
    )  # fmt: skip
    ending, shape = clue(name[-3:], _BEGUN["ending"]), clue(_shape(text), _BEGUN["shape"])
    looks = _LOOKS.pack(text.isupper(), min(len(words), LENGTHS - 1), ending, shape)
    return NameClues(name, looks, pack(f"={len(clues)}I", *clues))


_KINDS = ("word", "all", "first", "last", "ending3", "ending2", "ending", "shape")
_BEGUN = {kind: clue(f"{kind}:") for kind in _KINDS}


name_clues: Callable[[tuple[str, tuple[str, ...]]], NameClues]
name_clues = ByteCache("name clues", 4 << 20, _name_clues).__getitem__


def _shape(text: str) -> str:
    """Return the shape of a name: X and x for letters, 0 for digits."""
    kinds = text.translate(_ASCII_SHAPES) if text.isascii() else "".join(map(_shape_of, text))
    return _RUN.sub(lambda run: 2 * run[1], kinds)


def _shape_of(c: str) -> str:
    return "0" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c


_RUN = re.compile(r"(.)\1\1+")
_ASCII_SHAPES = {code: _shape_of(chr(code)) for code in range(128)}


TOPIC_CLUES = 27


def _topic_clues(topic: str) -> bytes:
    """Return the packed clues of a document's topic, alone and combined; "": no topic."""
    own = f"topic:{topic}"
    clues = (
        own, f"{own}|",  # the second is continued by a token
        *(f"topic table:{topic}|{table}" for table in range(TABLES)),
        *(f"{own}|table:{table}" for table in range(TABLES)),
        *(f"{own}|length:{length}" for length in range(LENGTHS)),
        *(f"opens:{opens}|{table}|{topic}" for opens in (False, True) for table in range(TABLES)),
    )  # fmt: skip
    return pack(f"={TOPIC_CLUES}I", *map(clue, clues))


topic_clues: Callable[[str], bytes]
topic_clues = ByteCache("topic clues", 1 << 20, _topic_clues).__getitem__


UNKNOWN = -1  # number of an unknown word
OUTSIDE = 0  # kind of the padding around sentences

_TOKEN_BUDGET = 6 << 20
"""Bytes of tokens and their kinds; words and columns take about as much again."""


class Mark(IntFlag):
    """Properties of a token; a NUMBER has a digit."""

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
    "(": int(Mark.OPENING),
    ")": int(Mark.CLOSING),
    **dict.fromkeys("in at from near to".split(), int(Mark.PREPOSITION)),
    **dict.fromkeys("v vs versus beat against defeated over with".split(), int(Mark.VERSUS)),
}

WORD = np.dtype(
    [
        ("number", np.int32), ("weight", np.float32), ("is_digit", np.bool_),
        ("is_stop", np.bool_), ("sentence_clue", np.uint32), ("headline_clue", np.uint32),
        ("document_clue", np.uint32),
    ]
)  # fmt: skip
"""A word: its number in the lexicon or UNKNOWN, its weight or 0, whether it is all digits or a stop
word, and hashes of the clues "in the sentence", "in the headline" and "in the document"."""


_CLUES = {f"{place}_clue": clue(f"{place[0]}:") for place in ("sentence", "headline", "document")}


class Kinds(NamedTuple):
    """Data of tokens, by kind, and of their words."""

    near: Ragged  # bytes of each token as context of its neighbours: all numbers are alike
    marks: Bytes  # `Mark` flags
    words: Ragged  # words of each token, by index in `word`
    word: npt.NDArray[Any]  # dtype WORD


class Vocabulary:
    """Cache of tokens; emptied when full. Thread-safe."""

    def __init__(self, number: Mapping[str, int], weight: Floats) -> None:
        """Start empty.

        number, weight  of the words of a lexicon
        """
        self._lexicon = number, weight
        self._guard = Lock()
        self._known = _KnownTokens()

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, self._lexicon

    def read(self, texts: Sequence[str]) -> tuple[Ints, Kinds]:
        """Return the kinds of tokens, and the data of all kinds."""
        tokens = self._known
        try:
            return _kinds(texts, tokens.kind), tokens.columns
        except KeyError:
            with self._guard:
                if tokens.kind.is_full:
                    self._known = tokens = _KnownTokens()
                tokens.add(texts, *self._lexicon)
            return _kinds(texts, tokens.kind), tokens.columns


def _kinds(texts: Sequence[str], kind: Mapping[str, int]) -> Ints:
    return np.fromiter(map(kind.__getitem__, texts), np.int32, len(texts))


class _KnownTokens:
    """Tokens in columns that only grow at the end, so slices stay valid."""

    def __init__(self) -> None:
        self.kind: ByteCache[str, int] = ByteCache("tokens", _TOKEN_BUDGET)
        self._place: dict[str, int] = {}
        self.near, self._near_end = GrowingArray(np.uint8), GrowingArray(np.int64)
        self._words, self._words_end = GrowingArray(np.int32), GrowingArray(np.int64)
        self._marks, self._word = GrowingArray(np.uint8), GrowingArray(WORD)
        for column in (self._near_end, self._words_end):
            column.extend([0])
        self._append([_OUTSIDE])

    def add(self, texts: Iterable[str], number: Mapping[str, int], weight: Floats) -> None:
        """Add the tokens that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self.kind]
        spelt = [_spelling(text) for text in new]
        words = [w for *_, own in spelt for w in own if w not in self._place]
        words = [*dict.fromkeys(words)]
        column = np.zeros(len(words), WORD)
        column["number"] = [number.get(word, UNKNOWN) for word in words]
        known = column["number"] != UNKNOWN
        column["weight"][known] = weight[column["number"][known]]
        column["is_digit"] = [*map(str.isdigit, words)]
        column["is_stop"] = [*map(STOP_WORDS.__contains__, words)]
        encoded = [word.encode("utf-8", "surrogatepass") for word in words]
        for name, begun in _CLUES.items():
            column[name] = [crc32(word, begun) for word in encoded]
        self._word.extend(column)
        self._place.update(zip(words, range(len(self._place), self._word.size), strict=True))
        first = self._marks.size
        self._append(spelt)
        # Last, since other threads read it first.
        self.kind.keep_plain(dict(zip(new, range(first, self._marks.size), strict=True)))

    def _append(self, spelt: Sequence["_Spelling"]) -> None:
        near = [own for own, _, _ in spelt]
        words = [own for _, _, own in spelt]
        self._marks.extend([own for _, own, _ in spelt])
        self._near_end.extend([*accumulate(map(len, near), initial=self.near.size)][1:])
        self._words_end.extend([*accumulate(map(len, words), initial=self._words.size)][1:])
        self.near.extend(np.frombuffer(b"".join(near), np.uint8))
        self._words.extend([self._place[word] for own in words for word in own])

    @property
    def columns(self) -> Kinds:
        """The data of all kinds."""
        return Kinds(
            Ragged(self._near_end.items, self.near.items), self._marks.items,
            Ragged(self._words_end.items, self._words.items), self._word.items,
        )  # fmt: skip


_Spelling = tuple[bytes, int, tuple[str, ...]]
"""A token as features see it: its bytes as context of its neighbours, marks, words."""
_OUTSIDE: _Spelling = (b"<>", 0, ())


def _spelling(text: str) -> _Spelling:
    low = text.lower()
    marks = _MARKS.get(low, 0) | (_CAPITAL if text[:1].isupper() else 0)
    if low.isalpha() and text.isascii():  # nearly every token
        return low.encode(), marks, (low,)
    if not has_digit(low):
        return low.encode("utf-8", "surrogatepass"), marks, normal_words(text)
    return b"0", marks | _NUMBER | (_DATE_MARK if _DATE.match(low) else 0), normal_words(text)
