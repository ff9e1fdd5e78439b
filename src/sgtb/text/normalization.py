"""Normal forms of names and words, for comparison, counting and lookup."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from sgtb.core.byte_cache import ByteCache

_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"[0-9]")
_POSSESSIVE = re.compile(r"['’]s\b")
_SILENT = str.maketrans("", "", ".'’")
_ASCII_WORDS = "".join(
    c.lower() if c.isalnum() or c == "\n" else " " for c in map(chr, range(128))
).encode()
_ASCII_WORDS = _ASCII_WORDS.ljust(256)  # translation of each byte; line ends stay

STOP_WORDS = frozenset(
    "the a an of in on at to and or for by with from is was were be been as it its he she his her "
    "they their that this which who said will has have had not but i".split()
)
"""Words without topical content."""
SMALL_WORDS = frozenset(
    "a an and at by for from in of on or the to with de del der des di du e et la las le les los "
    "und van von y".split()
)
"""Words that an acronym may skip."""


def normal_words(text: str) -> tuple[str, ...]:
    """Return the words of a text: no case, no diacritics, no punctuation, no possessive.

    Full stops and apostrophes do not separate words: "U.S." is one word.
    """
    if text.isascii():
        if text.isalpha():  # nearly every token
            return (text.lower(),)
        plain = _POSSESSIVE.sub("", text) if "'" in text else text
        return tuple(plain.encode().translate(_ASCII_WORDS, b".'").decode().split())
    plain = unicodedata.normalize("NFKD", _POSSESSIVE.sub("", text))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return tuple(_WORD.findall(plain.translate(_SILENT).lower()))


def word_lists(texts: Iterable[str]) -> list[Sequence[str]]:
    """Return the `normal_words` of each text; those of ASCII texts are found together."""
    texts = [*texts]
    plain = "\n".join([text if text.isascii() and "\n" not in text else "" for text in texts])
    plain = _POSSESSIVE.sub("", plain) if "'" in plain else plain
    lines = plain.encode().translate(_ASCII_WORDS, b".'").decode().split("\n")
    return [line.split() or normal_words(text) for line, text in zip(lines, texts, strict=False)]


normal_phrase: Callable[[str], str] = ByteCache[str, str](
    "normal phrases", 2 << 20, lambda text: " ".join(normal_words(text))
).__getitem__
"""Return the words of a text, as `normal_words` has them, with single spaces."""


def has_digit(text: str) -> bool:
    """Return whether a text has a digit of any script."""
    return bool(_DIGIT.search(text)) if text.isascii() else any(map(str.isdigit, text))


def normal_name(text: str) -> str:
    """Return the normal form of a name: its words with single spaces.

    A knowledge base counts and looks up names in this form, in any script: without case,
    compatibility forms (NFKC), diacritics, points, apostrophes, punctuation, possessives. A name
    of punctuation only keeps it: "!!!" is a band. In the normal form of running text a name is a
    sequence of words.
    """
    form: str | None = name_table().normal(text)
    return _any_names[text] if form is None else form


def _any_name(text: str) -> str:
    """Return the normal form of a name of any characters."""
    plain = _NAME_POSSESSIVE.sub("", text) if "'" in text or "’" in text else text
    if words := _folded(plain).split():
        return " ".join(words)
    shown = unicodedata.normalize("NFKC", text).casefold()
    kept = " ".join("".join(c for c in shown if c.isprintable()).split())
    # Case folding can turn a Greek mark into a letter; then there are words after all.
    return kept if kept == text else normal_name(kept)


_any_names = ByteCache("normal names", 2 << 20, _any_name)


def normal_lines(text: str) -> str:
    """Return the normal forms of the lines of a text, each with a line end."""
    forms: str | None = name_table().normal_lines(text, _any_name)
    return forms or "".join(f"{_any_name(line)}\n" for line in text.split("\n"))


def title_key(title: str) -> str:
    """Return a key that is equal for the titles that two wikis give to one page.

    These may differ in case, points, commas and hyphens: "Real Madrid C.F." and "Real Madrid CF".
    A title of one word is its own key: "Arm" and "ARM" are two pages.
    """
    words = title.casefold().replace(".", "").translate(_TITLE_SPACES).split()
    return " ".join(words) if len(words) > 1 else title


def spells(letters: str, name: str) -> bool:
    """Return whether the initials of a name spell some letters; small words may be skipped."""
    reached = {0}  # numbers of letters spelt so far
    for word in name.split():
        spelt = {at + 1 for at in reached if letters[at : at + 1] == word[0]}
        reached = spelt | reached if word in SMALL_WORDS else spelt
    return len(letters) in reached


_TITLE_SPACES = str.maketrans(dict.fromkeys("-‐‑–—,", " "))
_NAME_POSSESSIVE = re.compile(r"['’](?:(?<=\w.)|(?<=\w .))[sS]\b")

# Letters without a Unicode decomposition, as written without them on the keyboard.
_PLAIN_LETTERS = dict(
    pair.split("=") for pair in "ø=o ł=l đ=d ð=d ħ=h ı=i ŧ=t ß=ss æ=ae œ=oe þ=th ŋ=ng".split()
)
# Marks that modify a letter: accents, Hebrew and Arabic points, Cyrillic titla. Marks of other
# scripts, such as Devanagari vowels, act as letters and stay.
_MODIFYING = (
    (0x300, 0x36F), (0x483, 0x489), (0x591, 0x5C7), (0x610, 0x61A), (0x64B, 0x65F),
    (0x670, 0x670), (0x6D6, 0x6ED), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF),
    (0xFE00, 0xFE2F),
)  # fmt: skip
_JOINING = frozenset(".'’‘ʼʻ`´·")


def _fold(char: str, category: str) -> str | None:
    """Return the replacement of a character; None: removed."""
    if char in _JOINING or category == "Cf" or "\u02b0" <= char <= "\u02ff":
        return None
    if category[0] == "M":
        return None if any(low <= ord(char) <= high for low, high in _MODIFYING) else char
    if category[0] not in "LN":
        return " "
    lower = char.casefold()
    return _PLAIN_LETTERS.get(lower, lower)


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).translate(_FOLDED)
    return unicodedata.normalize("NFC", folded)


# Translation table of characters in names, filled on first use.
_FOLDED: ByteCache[int, str | None] = ByteCache(
    "folded characters", 2 << 20, lambda code: _fold(chr(code), unicodedata.category(chr(code)))
)
_PLAIN_CODES = (0, 0x590, 0x1E00, 0x20D0)
"""Ranges of Latin, Greek and Cyrillic letters, Armenian, and punctuation: what replaces one of
their characters does not depend on its neighbours."""


@cache
def name_table() -> Any:
    """Return the table of characters with which kernels make the normal form of names."""
    from sgtb.native import name_forms

    chars = [
        chr(c) for first, end in (_PLAIN_CODES[:2], _PLAIN_CODES[2:]) for c in range(first, end)
    ]
    folded = [_folded(char).encode() for char in chars]
    offsets = np.cumsum([0, *map(len, folded)], dtype=np.int32)
    words = np.array([char.isalnum() or char == "_" for char in chars])
    return name_forms(np.array(_PLAIN_CODES, np.int32), offsets, b"".join(folded), words)
