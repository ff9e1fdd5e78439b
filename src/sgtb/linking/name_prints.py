"""Name prints: names as numbers, so that kernels can compare them.

A name in normal form is its words. Its print holds a number for the whole, one for every word, the
sorted set of its runs of three letters, one for its initials and one for how it begins. Equal
strings have equal numbers; different strings have different ones but for a chance of 2⁻⁶⁴.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from sgtb.learn.dtypes import Words
from sgtb.ragged import Ragged

BEGINNING = 3
"""Letters that a beginning has."""
_LETTER_BITS = 21  # of a code point


class NamePrint(NamedTuple):
    """One name."""

    whole: int
    squeezed: int  # without spaces
    initials: int
    beginning: tuple[int, int, int]  # of its first letter, its first two, its first three
    words: Words  # in their order
    trigrams: Words  # sorted, each once


class NamePrints(NamedTuple):
    """Several names."""

    whole: Words
    squeezed: Words
    initials: Words
    beginning: Words  # [n, BEGINNING]
    words: Ragged
    trigrams: Ragged


@lru_cache(maxsize=1 << 15)
def string_number(text: str) -> int:
    """Return the number of a string."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def name_print(name: str) -> NamePrint:
    """Return the print of a name in normal form."""
    words = name.split()
    return NamePrint(
        string_number(name),
        string_number("".join(words)),
        string_number("".join(word[0] for word in words)),
        tuple(string_number(name[: i + 1]) for i in range(BEGINNING)),  # type: ignore[arg-type]
        np.array([string_number(word) for word in words], np.uint64),
        _trigrams(name),
    )


@lru_cache(maxsize=1 << 13)
def known_print(name: str) -> NamePrint:
    """Return the same, for names in texts: they occur again and again, titles are met once."""
    return name_print(name)


def name_prints(
    names: Sequence[str], print_of: Callable[[str], NamePrint] = name_print
) -> NamePrints:
    """Return the prints of names in normal form."""
    prints = [print_of(name) for name in names]
    return NamePrints(
        np.array([p.whole for p in prints], np.uint64),
        np.array([p.squeezed for p in prints], np.uint64),
        np.array([p.initials for p in prints], np.uint64),
        np.array([p.beginning for p in prints], np.uint64).reshape(-1, BEGINNING),
        Ragged.joined([p.words for p in prints], np.uint64),
        Ragged.joined([p.trigrams for p in prints], np.uint64),
    )


def known_prints(names: Sequence[str]) -> NamePrints:
    """Return the prints of names in texts; those of recent names are cached in packed form."""
    packed = [_packed_print(name) for name in names]
    numbers = np.frombuffer(b"".join([one.numbers for one in packed]), np.uint64)
    whole, squeezed, initials, *beginning = numbers.reshape(-1, 3 + BEGINNING).T.copy()
    return NamePrints(
        whole, squeezed, initials, np.stack(beginning, axis=1),
        _joined([one.words for one in packed]), _joined([one.trigrams for one in packed]),
    )  # fmt: skip


class _PackedPrint(NamedTuple):
    """A print as bytes, which are joined faster than arrays."""

    numbers: bytes
    words: bytes
    trigrams: bytes


@lru_cache(maxsize=1 << 13)
def _packed_print(name: str) -> _PackedPrint:
    own = known_print(name)
    numbers = np.array([own.whole, own.squeezed, own.initials, *own.beginning], np.uint64)
    return _PackedPrint(numbers.tobytes(), own.words.tobytes(), own.trigrams.tobytes())


def _joined(lists: Sequence[bytes]) -> Ragged:
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)), out=offsets[1:])
    return Ragged(offsets // 8, np.frombuffer(b"".join(lists), np.uint64))


def _trigrams(name: str) -> Words:
    padded = f" {name} ".encode("utf-32-le", "surrogatepass")
    letters = np.frombuffer(padded, np.uint32).astype(np.uint64)
    if len(letters) < 3:
        return np.zeros(0, np.uint64)
    first, second = np.uint64(2 * _LETTER_BITS), np.uint64(_LETTER_BITS)
    found: Words = np.unique((letters[:-2] << first) | (letters[1:-1] << second) | letters[2:])
    return found
