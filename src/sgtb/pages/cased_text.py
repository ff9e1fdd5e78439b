"""Cased text: running text in normal form, with signs for what that form loses.

Words are separated by single spaces, as in the normal form of a name. Before a word stands CAPITAL
or DIGIT if it begins so; after it COMMA, SENTENCE or BREAK. `match_names` finds names in this form,
and without the signs it is the text that `NamePageCounter` reads.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.native import fill_word_table
from sgtb.native import match_names as _match_names
from sgtb.text.normalization import STOP_WORDS, normal_name
from sgtb.wikipedia.build.page_counters import MAX_WORDS

CAPITAL, SENTENCE, BREAK, COMMA, DIGIT = "\x01\x02\x03\x04\x05"
_SIGNS = (CAPITAL + SENTENCE + BREAK + COMMA + DIGIT).encode()
IN_LOWER_CASE, WITH_COMMA, SEARCHED = 1, 2, 4
"""How a name may be written, and whether it is searched for at all."""

_MAX_KNOWN = 1 << 18
_SHORT = 3  # letters of an abbreviation that does not end a sentence
_OPENING = frozenset("([{")
_CLOSING = ")]}\"'”’»"


class CasedWords(dict[str, str]):
    """The cased text of every piece between white space; starts anew when there are too many."""

    def __missing__(self, piece: str) -> str:
        if len(self) >= _MAX_KNOWN:
            self.clear()
        self[piece] = found = _cased(piece)
        return found

    def line(self, text: str) -> str:
        """Return a line of text."""
        return "".join(map(self.__getitem__, text.split())).rstrip(" ")


def _cased(piece: str) -> str:
    first = next((c for c in piece if c.isalnum()), "")
    if not first:
        return BREAK
    lower = first.islower() and not any(c.isupper() for c in piece)
    sign = DIGIT if first.isdigit() else "" if lower else CAPITAL
    words = f" {sign}".join(normal_name(piece).split(" "))
    return f"{BREAK if piece[0] in _OPENING else ''}{sign}{words}{_end(piece)} "


def _end(piece: str) -> str:
    """Return the sign of the punctuation that ends a piece."""
    bare = piece.rstrip(_CLOSING)
    last = bare[-1:]
    if last == ".":
        core = bare[:-1]
        short = "." in core or (len(core) <= _SHORT and core[:1].isupper())
        return "" if short else SENTENCE
    if last in "!?":
        return SENTENCE
    if last in ";:…|" or piece[-1] in ")]}":
        return BREAK
    return COMMA if last == "," else ""


def uses_alone(text: str, name: str) -> bool:
    """Return whether cased text has a name in capitals that is no part of a longer one.

    A word that the text has in lower case, too, is no name. No sign follows `name`.
    """
    if " " not in name and f" {name.lstrip(CAPITAL)} " in text:
        return False
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if _begins_name(text, at) and _ends_name(text, end):
            return True
        at = text.find(name, end)
    return False


def _begins_name(text: str, at: int) -> bool:
    """Return whether no capitalised word of the same name stands before a place."""
    if at == 0 or text[at - 1] in f"\n{BREAK}":
        return True
    if text[at - 1] != " ":
        return False
    start = max(text.rfind(" ", 0, at - 1), text.rfind("\n", 0, at - 1)) + 1
    return text[at - 2] in f"{SENTENCE}{BREAK}{COMMA}" or text[start] != CAPITAL


def _ends_name(text: str, end: int) -> bool:
    """Return whether a word ends at a place, and no capitalised one follows."""
    last, first = text[end : end + 1], text[end + 1 : end + 2]
    return last in ("", " ", "\n", SENTENCE, BREAK, COMMA) and first not in (CAPITAL, DIGIT)


def without_signs(text: bytes) -> bytes:
    """Return cased text without signs, as `NamePageCounter` reads it."""
    return text.translate(None, _SIGNS)


def name_use(name: str, normal: str) -> int:
    """Return how a name may be written in text; 0: not searched for, such as "It" and "1990"."""
    words = normal.split(" ")
    if len(words) > MAX_WORDS or len(normal) < 2:
        return 0
    if all(word in STOP_WORDS or not any(c.isalpha() for c in word) for word in words):
        return 0
    lower = IN_LOWER_CASE if name[:1].islower() and name.islower() else 0
    return SEARCHED | lower | (WITH_COMMA if "," in name else 0)


class _WordTable(NamedTuple):
    hashes: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.int32]


class NameMatches(NamedTuple):
    """Names found in pages, in order."""

    page: npt.NDArray[np.int32]  # i4[N], place of the page
    line: npt.NDArray[np.int32]  # i4[N]
    word: npt.NDArray[np.int32]  # i4[N], number of words of the line up to the end of the name
    hash: npt.NDArray[np.uint64]  # u8[N], of the name
    lower: npt.NDArray[np.uint8]  # u1[N], 1: found only because it may be written in lower case

    def first_of_page(self) -> "NameMatches":
        """Return the first match of every name on a page."""
        order = np.lexsort((self.hash, self.page))  # stable
        kept = np.sort(order[run_starts(self.page[order], self.hash[order])])
        return NameMatches._make(column[kept] for column in self)


def run_starts(*columns: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the rows that differ from the row before, and the first one."""
    new = np.ones(len(columns[0]), np.bool_)
    new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.flatnonzero(new)


class NameTable(NamedTuple):
    """Names to search for, by their hashes: flat arrays that processes share."""

    table: _WordTable  # open hash table of numbers
    uses: npt.NDArray[np.uint8]  # u1[N], how the name of each number may be written

    @classmethod
    def of(cls, hashes: npt.NDArray[np.uint64], uses: npt.NDArray[np.uint8]) -> "NameTable":
        """Return the table of distinct hashes."""
        size = 1 << (2 * len(hashes) + 1).bit_length()
        table = _WordTable(np.zeros(size, np.uint64), np.full(size, -1, np.int32))
        fill_word_table(hashes, np.zeros(len(hashes), np.uint8), *table)
        return cls(table, uses)

    @classmethod
    def mapped(cls, paths: Sequence[str]) -> "NameTable":
        """Map the arrays of a table from files."""
        hashes, numbers, uses = (np.load(path, mmap_mode="r") for path in paths)
        return cls(_WordTable(hashes, numbers), uses)

    def save(self, paths: Sequence[str]) -> None:
        """Write the arrays to files."""
        arrays = (self.table.hashes, self.table.numbers, self.uses)
        for path, array in zip(paths, arrays, strict=True):
            np.save(path, np.asarray(array))

    def match(self, text: bytes) -> NameMatches:
        """Find the names of cased text: from left to right, the longest first."""
        size = text.count(b" ") + text.count(b"\n") + text.count(b"\f") + 1
        types = (np.int32, np.int32, np.int32, np.uint64, np.uint8)
        out = NameMatches._make(np.empty(size, kind) for kind in types)
        found = _match_names(self, text, out)
        return NameMatches._make(column[:found] for column in out)
