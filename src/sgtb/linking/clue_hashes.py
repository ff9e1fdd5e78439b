"""Clue hashes: small observations around a mention ("the next word is a number") as integers.

The hash of a clue is the CRC of its text. A CRC can be continued: what many clues begin with is
hashed once, and the clues of a name or of a topic are remembered, for both come again. What
depends on a mention's neighbours is hashed by kernels.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from struct import Struct, pack
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.dtypes import Bools, Longs
from sgtb.ragged import Ragged
from sgtb.text.normalize import normal_phrase

Hashes = npt.NDArray[np.uint32]

_NAMES, _TOPICS = 1 << 14, 1 << 10
"""How many are remembered."""

SENTENCES, TABLES, LENGTHS = 4, 5, 5
"""What clues tell apart: the first sentences; how much of a sentence is numbers, in quarters; of
how many words a name is."""


LOOKS = np.dtype(
    [("is_upper", np.bool_), ("length", np.int64), ("ending", np.uint32), ("shape", np.uint32)]
)
_LOOKS = Struct("=?qII")
"""How a name looks, in an array and by itself."""


def clue(text: str, begun: int = 0) -> int:
    """Return the hash of a clue, or of what follows a beginning already hashed."""
    return crc32(text.encode("utf-8", "surrogatepass"), begun)  # a text may have lone surrogates


class NameClues(NamedTuple):
    """What a mention tells by itself; packed, for all mentions are looked at together."""

    name: str  # its normal form
    looks: bytes  # LOOKS
    words: bytes  # hashes


@lru_cache(maxsize=_NAMES)
def name_clues(text: str, tokens: tuple[str, ...]) -> NameClues:
    """Return the clues of a mention, given its tokens."""
    name = normal_phrase(text)
    words = [token.lower() for token in tokens]
    first, last = (words[0], words[-1]) if words else ("", "")
    told = (
        *(f"word:{word}" for word in words), f"all:{' '.join(words)}", f"first:{first}",
        f"last:{last}", f"ending3:{last[-3:]}", f"ending2:{last[-2:]}",
    )  # fmt: skip
    ending, shape = clue(f"ending:{name[-3:]}"), clue(f"shape:{_shape(text)}")
    looks = _LOOKS.pack(text.isupper(), min(len(words), LENGTHS - 1), ending, shape)
    return NameClues(name, looks, pack(f"={len(told)}I", *map(clue, told)))


def _shape(text: str) -> str:
    """Return the outline of a name: Xx for capitals and small letters, 0 for digits."""
    kinds = "".join(
        "0" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in text
    )
    return re.sub(r"(.)\1+", r"\1\1", kinds)


@lru_cache(maxsize=_TOPICS)
def topic_clues(topic: str) -> tuple[int, ...]:
    """Return what the topic of a document tells, by itself and with something else; "": none."""
    own = f"topic:{topic}"
    return tuple(
        map(
            clue,
            (
                own, f"{own}|",  # something else is to follow
                *(f"topic table:{topic}|{table}" for table in range(TABLES)),
                *(f"{own}|table:{table}" for table in range(TABLES)),
                *(f"{own}|length:{length}" for length in range(LENGTHS)),
                *(
                    f"opens:{opens}|{table}|{topic}"
                    for opens in (False, True)
                    for table in range(TABLES)
                ),
            ),
        )
    )  # fmt: skip


_TOPIC_BAR, _WITH_TABLE, _TABLE, _LENGTH, _OPENS, _TOPIC_CLUES = 1, 2, 7, 12, 17, 27
"""Where they stand there, and how many there are."""


def _hashes(*texts: str) -> Hashes:
    return np.array([clue(text) for text in texts], np.uint32)


_ALWAYS, _BEFORE, _AFTER, _BETWEEN, _BEFORE2, _AFTER2, _SECOND_BEFORE, _SECOND_AFTER = _hashes(
    "always", "before:", "after:", "between:", "before2:", "after2:", "second before:",
    "second after:",
)  # fmt: skip
_IS_DATED = _hashes("dated:False", "dated:True")
_IS_BRACKETED = _hashes("bracketed:False", "bracketed:True")
_IS_UPPER = _hashes("upper:False", "upper:True")
_IS_OPENING = _hashes("opens:False", "opens:True")
_OF_SENTENCE = _hashes(*(f"sentence:{number}" for number in range(SENTENCES)))
_OF_TABLE = _hashes(*(f"table:{table}" for table in range(TABLES)))
_OF_LENGTH = _hashes(*(f"length:{length}" for length in range(LENGTHS)))

_PLACE_CLUES, _TAG_CLUES = 14, 21
"""How many there are of a mention; those to its tag without what its name tells."""


class Sights(NamedTuple):
    """What the clues of mentions are made of, one row per mention.

    topic     of the mention's document, by number
    sides     i8[M, 4]  the tokens around it: second before, before, after, second after
    sentence  its number in the document
    table     how much of the sentence is numbers, in quarters
    names     what the names tell, without endings and shapes
    """

    topic: Longs
    sides: Longs
    sentence: Longs
    table: Longs
    length: Longs
    is_dated: Bools
    is_bracketed: Bools
    is_upper: Bools
    is_opening: Bools
    ending: Hashes
    shape: Hashes
    names: Ragged


def mention_clues(sights: Sights, tokens: Ragged, topics: Sequence[str]) -> tuple[Ragged, Ragged]:
    """Return clues to the meanings of mentions, and to their tags.

    tokens  the bytes of tokens as their neighbours see them
    topics  a word each, or ""
    """
    n = len(sights.topic)
    offsets = sights.names.offsets + _TAG_CLUES * np.arange(n + 1)
    place_clues = np.zeros((n, _PLACE_CLUES), np.uint32)
    tag_clues = np.zeros(int(offsets[-1]), np.uint32)
    told = np.array([topic_clues(topic) for topic in topics], np.uint32)
    told = told.reshape(len(topics), _TOPIC_CLUES)
    hash_clues(sights, tokens, told, place_clues, offsets, tag_clues)
    place_offsets = _PLACE_CLUES * np.arange(n + 1)
    return Ragged(place_offsets, place_clues.ravel()), Ragged(offsets, tag_clues)


@kernel
def hash_clues(
    sights: Sights, tokens: Ragged, topics: Hashes, place_clues: Hashes, tag_offsets: Longs,
    tag_clues: Hashes,
) -> None:  # fmt: skip
    """Write the clues of all mentions, in the order that models were trained with."""
    for m in range(sights.topic.shape[0]):
        topic, out = topics[sights.topic[m]], place_clues[m]
        before2, before = sights.sides[m, 0], sights.sides[m, 1]
        after, after2 = sights.sides[m, 2], sights.sides[m, 3]
        table, length = sights.table[m], sights.length[m]
        dated, opening = int64(sights.is_dated[m]), int64(sights.is_opening[m])
        out[0] = _ALWAYS
        out[1] = topic[0]
        out[2] = with_token(_BEFORE, tokens, before)
        out[3] = with_token(_AFTER, tokens, after)
        out[4] = _IS_DATED[dated]
        out[5] = _IS_BRACKETED[int64(sights.is_bracketed[m])]
        out[6] = with_token(_bar(with_token(_BETWEEN, tokens, before)), tokens, after)
        out[7] = with_token(_bar(with_token(_BEFORE2, tokens, before2)), tokens, before)
        out[8] = with_token(_bar(with_token(_AFTER2, tokens, after)), tokens, after2)
        out[9] = sights.ending[m]
        out[10] = _IS_UPPER[int64(sights.is_upper[m])]
        out[11] = _OF_SENTENCE[min(sights.sentence[m], SENTENCES - 1)]
        out[12] = _OF_TABLE[table]
        out[13] = topic[_WITH_TABLE + table]
        at = tag_offsets[m]
        tag_clues[at] = _ALWAYS
        for i in range(sights.names.offsets[m], sights.names.offsets[m + 1]):
            at += 1
            tag_clues[at] = sights.names.items[i]
        tag_clues[at + 1], tag_clues[at + 2] = out[2], out[3]
        tag_clues[at + 3], tag_clues[at + 4], tag_clues[at + 5] = out[6], out[7], out[8]
        tag_clues[at + 6] = with_token(_SECOND_BEFORE, tokens, before2)
        tag_clues[at + 7] = with_token(_SECOND_AFTER, tokens, after2)
        tag_clues[at + 8] = sights.shape[m]
        tag_clues[at + 9] = _OF_LENGTH[length]
        tag_clues[at + 10] = with_token(_bar(_OF_LENGTH[length]), tokens, before)
        tag_clues[at + 11] = topic[0]
        tag_clues[at + 12] = with_token(topic[_TOPIC_BAR], tokens, before)
        tag_clues[at + 13] = with_token(_bar(topic[_TOPIC_BAR]), tokens, after)
        tag_clues[at + 14] = topic[_TABLE + table]
        tag_clues[at + 15] = topic[_LENGTH + length]
        tag_clues[at + 16] = out[4]
        tag_clues[at + 17] = out[11]
        tag_clues[at + 18] = out[12]
        tag_clues[at + 19] = _IS_OPENING[opening]
        tag_clues[at + 20] = topic[_OPENS + TABLES * opening + table]


_FULL, _BYTE, _EIGHT = np.uint32(0xFFFFFFFF), np.uint32(0xFF), np.uint32(8)
_STEP = np.array([crc32(bytes([byte]), 0xFFFFFFFF) ^ 0xFFFFFFFF for byte in range(256)], np.uint32)


@inner
def with_token(begun: np.uint32, tokens: Ragged, token: int) -> np.uint32:
    """Return the hash of a clue begun that ends with a token."""
    crc = begun ^ _FULL
    for i in range(tokens.offsets[token], tokens.offsets[token + 1]):
        crc = _STEP[(crc ^ np.uint32(tokens.items[i])) & _BYTE] ^ (crc >> _EIGHT)
    return np.uint32(crc ^ _FULL)


@inner
def _bar(begun: np.uint32) -> np.uint32:
    """Return the hash of a clue begun with a bar behind it."""
    crc = begun ^ _FULL
    return np.uint32(_STEP[(crc ^ np.uint32(124)) & _BYTE] ^ (crc >> _EIGHT) ^ _FULL)
