"""Lexicon: the tags and character references of wikitext, as tables that kernels can read.

What a kernel needs to know of the world beside a page's bytes stands here: which tags have
contents of their own, what `&eacute;` means, which letters are lower case.
"""

import sys
from collections.abc import Iterable
from functools import cache
from html.entities import html5
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.kernels import int64, kernel, routine

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]

# What a tag is to a reader of plain text. From DROP on, a tag's contents are not, or not on
# their own terms, part of the text around it; they end at the first closing tag. From REF on,
# they are wikitext.
UNKNOWN, REMOVED, SPACE, BREAK, DROP, NOWIKI, PRE, REF, CAPTIONS, UNSEEN = range(10)

_TAGS = {
    SPACE: "br",
    BREAK: "blockquote caption center dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p poem references "
    "table tbody td th tr ul",
    DROP: "categorytree ce chem graph hiero inputbox mapframe math score source syntaxhighlight "
    "templatedata templatestyles timeline",
    NOWIKI: "nowiki",
    PRE: "pre",
    REF: "ref",
    CAPTIONS: "gallery imagemap",
    UNSEEN: "includeonly",
}

LONGEST_NAME = 32  # bytes; no tag and no character has a longer name
REPLACEMENT = 0xFFFD
_CODE_POINTS = sys.maxunicode + 1
_LETTERS = 0x20000  # no lower-case letter has a code point beyond
_FOLD = int64(32)  # the bit that tells small letters of ASCII from capitals
_HASH, _SEMICOLON, _X = b"#;x"


class Names(NamedTuple):
    """A hash table of names: `slots` holds a name's number + 1, or 0."""

    slots: Longs
    letters: Bytes  # all names, one after the other
    ends: Longs  # name k ends here in `letters`; it starts where name k - 1 ends


class Lexicon(NamedTuple):
    """All tables."""

    tags: Names
    tag_kinds: Longs
    characters: Names
    shown: Bytes  # what the names of `characters` stand for, one after the other
    shown_ends: Longs
    windows: Longs  # code points meant by &#128; to &#159;
    lower: Bytes  # by code point: 1 where it is a lower-case letter


@cache
def lexicon() -> Lexicon:
    """Return the tables, made once."""
    kinds = {name: kind for kind, names in _TAGS.items() for name in names.split()}
    tags = sorted(kinds)
    characters = sorted(name[:-1] for name in html5 if name.endswith(";"))
    windows = [ord(bytes([byte]).decode("cp1252", "replace")) for byte in range(128, 160)]
    return Lexicon(
        _names(tags),
        np.array([kinds[name] for name in tags], np.int64),
        _names(characters),
        *_joined(html5[f"{name};"] for name in characters),
        np.array(windows, np.int64),
        np.array([chr(point).islower() for point in range(_LETTERS)], np.uint8),
    )


def _joined(texts: Iterable[str]) -> tuple[Bytes, Longs]:
    encoded = [text.encode() for text in texts]
    return (
        np.frombuffer(b"".join(encoded), np.uint8),
        np.cumsum([len(text) for text in encoded], dtype=np.int64),
    )


def _names(names: list[str]) -> Names:
    letters, ends = _joined(names)
    slots = np.zeros(1 << (2 * len(names)).bit_length(), np.int64)
    _fill(letters, ends, slots)
    return Names(slots, letters, ends)


_SPREAD, _MASK = int64(31), int64(0xFFFFFFF)


@kernel
def _fill(letters: Bytes, ends: Longs, slots: Longs) -> None:
    begin = int64(0)
    for number in range(ends.shape[0]):
        digest = int64(0)
        for k in range(begin, ends[number]):
            digest = (digest * _SPREAD + int64(letters[k])) & _MASK
        slot = digest & int64(slots.shape[0] - 1)
        while slots[slot] != 0:
            slot = (slot + 1) & int64(slots.shape[0] - 1)
        slots[slot] = number + 1
        begin = ends[number]


@routine
def tag_number(names: Names, source: Bytes, begin: int, end: int) -> int:
    """Return the number of the tag source[begin:end], in capitals or not, or -1."""
    return _number(names, source, begin, end, _FOLD)


@routine
def _number(names: Names, source: Bytes, begin: int, end: int, fold: int) -> int:
    digest = int64(0)
    for k in range(begin, end):
        digest = (digest * _SPREAD + _folded(int64(source[k]), fold)) & _MASK
    slot = digest & int64(names.slots.shape[0] - 1)
    while names.slots[slot] != 0:
        number = int64(names.slots[slot] - 1)
        start = names.ends[number - 1] if number > 0 else int64(0)
        same = names.ends[number] - start == end - begin
        k = int64(0)
        while same and k < end - begin:
            same = _folded(int64(source[begin + k]), fold) == int64(names.letters[start + k])
            k += 1
        if same:
            return number
        slot = (slot + 1) & int64(names.slots.shape[0] - 1)
    return int64(-1)


@routine
def _folded(letter: int, fold: int) -> int:
    return letter | fold if 65 <= letter <= 90 else letter


@routine
def small(letter: int) -> int:
    """Return an ASCII capital as a small letter, any other byte as it is."""
    return _folded(int64(letter), _FOLD)


@routine
def is_alphanumeric(letter: int) -> bool:
    """Tell whether a byte is an ASCII letter or digit."""
    return 48 <= letter <= 57 or 65 <= letter <= 90 or 97 <= letter <= 122


@routine
def character_reference(lexicon: Lexicon, source: Bytes, at: int) -> tuple[int, int, int]:
    """Read `&name;`, `&#10;` or `&#xA;` at `at` of a source with more bytes than any has.

    Return its end, its number in `shown` or -1, and its code point or -1. An end of -1: there
    is none, the `&` is just that.
    """
    k = at + 1
    if source[k] != _HASH:
        while k - at <= LONGEST_NAME and is_alphanumeric(source[k]):
            k += 1
        number = int64(-1)
        if source[k] == _SEMICOLON:
            number = _number(lexicon.characters, source, at + 1, k, int64(0))
        return (k + 1 if number >= 0 else int64(-1)), number, int64(-1)
    k += 1
    base = int64(10)
    if small(source[k]) == _X:
        base = int64(16)
        k += 1
    first, point = k, int64(0)
    while k - first < 12 and is_alphanumeric(source[k]):
        letter = small(source[k])
        digit = letter - 48 if letter < 97 else letter - 87
        if digit >= base:
            break
        point = min(point * base + digit, int64(_CODE_POINTS))
        k += 1
    if k == first or source[k] != _SEMICOLON:
        return int64(-1), int64(-1), int64(-1)
    if 128 <= point < 160:
        point = lexicon.windows[point - 128]
    if point == 0 or point >= _CODE_POINTS or 0xD800 <= point < 0xE000:
        point = int64(REPLACEMENT)
    return k + 1, int64(-1), point
