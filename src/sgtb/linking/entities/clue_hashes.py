"""Clue hashes: observations around a mention ("the next word is a number") as integers.

The hash of a clue is the CRC of its text. A CRC can be continued, so common prefixes are hashed
once. Clues of names and topics are cached. Clues that depend on neighbouring tokens are hashed in
the compiled core (native/contexts.cpp).
"""

import re
from functools import lru_cache
from struct import Struct, pack
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from sgtb.text.normalization import normal_phrase

Hashes = npt.NDArray[np.uint32]

_NAMES, _TOPICS = 1 << 14, 1 << 10
"""Sizes of the caches."""

TABLES, LENGTHS = 5, 5
"""Distinct values in clues: share of numbers in a sentence, in quarters; words of a name."""


LOOKS = np.dtype(
    [("is_upper", np.bool_), ("length", np.int64), ("ending", np.uint32), ("shape", np.uint32)]
)
_LOOKS = Struct("=?qII")
"""Shape of a name, as array dtype and as struct."""


def clue(text: str, begun: int = 0) -> int:
    """Return the hash of a clue, or continue the hash of a prefix."""
    return crc32(text.encode("utf-8", "surrogatepass"), begun)  # a text may have lone surrogates


class NameClues(NamedTuple):
    """Clues of a mention's text, packed for fast concatenation."""

    name: str  # normalized
    looks: bytes  # LOOKS
    words: bytes  # hashes


@lru_cache(maxsize=_NAMES)
def name_clues(text: str, tokens: tuple[str, ...]) -> NameClues:
    """Return the clues of a mention, given its tokens."""
    name = normal_phrase(text)
    words = [token.lower() for token in tokens]
    first, last = (words[0], words[-1]) if words else ("", "")
    clues = (
        *(f"word:{word}" for word in words), f"all:{' '.join(words)}", f"first:{first}",
        f"last:{last}", f"ending3:{last[-3:]}", f"ending2:{last[-2:]}",
    )  # fmt: skip
    ending, shape = clue(f"ending:{name[-3:]}"), clue(f"shape:{_shape(text)}")
    looks = _LOOKS.pack(text.isupper(), min(len(words), LENGTHS - 1), ending, shape)
    return NameClues(name, looks, pack(f"={len(clues)}I", *map(clue, clues)))


def _shape(text: str) -> str:
    """Return the shape of a name: X and x for letters, 0 for digits."""
    kinds = "".join(
        "0" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in text
    )
    return re.sub(r"(.)\1+", r"\1\1", kinds)


TOPIC_CLUES = 27


@lru_cache(maxsize=_TOPICS)
def topic_clues(topic: str) -> bytes:
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
