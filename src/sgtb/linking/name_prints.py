"""Name prints: names as numbers, so that kernels can compare them.

A name in normal form is its words. Its print holds a number for the whole, one for every word, the
sorted set of its runs of three letters, one for its initials and one for how it begins. Equal
strings have equal numbers; different strings have different ones but for a chance of 2⁻⁶⁴.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from sgtb.learn.dtypes import Words
from sgtb.ragged import Ragged

BEGINNING = 3
"""Letters that a beginning has."""
_LETTER_BITS = 21  # of a code point


class NamePrints(NamedTuple):
    """The prints of n names.

    whole      the whole name
    squeezed   the name without spaces
    initials   its initials
    beginning  u8[n, BEGINNING]  its first letter, its first two, its first three
    words      its words, in their order
    trigrams   its runs of three letters, sorted, each once
    """

    whole: Words
    squeezed: Words
    initials: Words
    beginning: Words
    words: Ragged
    trigrams: Ragged


@lru_cache(maxsize=1 << 15)
def string_number(text: str) -> int:
    """Return the number of a string."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def name_prints(names: Sequence[str]) -> NamePrints:
    """Return the prints of names in normal form."""
    words = [name.split() for name in names]
    beginnings = [string_number(name[: i + 1]) for name in names for i in range(BEGINNING)]
    return NamePrints(
        np.array([*map(string_number, names)], np.uint64),
        np.array([string_number("".join(own)) for own in words], np.uint64),
        np.array([string_number("".join([w[0] for w in own])) for own in words], np.uint64),
        np.array(beginnings, np.uint64).reshape(-1, BEGINNING),
        Ragged.of(([*map(string_number, own)] for own in words), np.uint64),
        _trigrams(names),
    )


class _Packed(NamedTuple):
    """The print of one name; bytes are joined faster than arrays."""

    numbers: bytes  # all but words and trigrams
    words: bytes
    trigrams: bytes


@lru_cache(maxsize=1 << 13)
def _known_print(name: str) -> _Packed:
    *numbers, words, trigrams = name_prints([name])
    packed = b"".join([one.tobytes() for one in numbers])
    return _Packed(packed, words.items.tobytes(), trigrams.items.tobytes())


def known_prints(names: Sequence[str]) -> NamePrints:
    """Return the prints of names in texts: names recur, so their prints are cached."""
    prints = [_known_print(name) for name in names]
    numbers = np.frombuffer(b"".join([one.numbers for one in prints]), np.uint64)
    whole, squeezed, initials, *beginning = numbers.reshape(-1, 3 + BEGINNING).T.copy()
    return NamePrints(
        whole, squeezed, initials, np.stack(beginning, axis=1),
        _lists([one.words for one in prints]), _lists([one.trigrams for one in prints]),
    )  # fmt: skip


def known_words(names: Sequence[str]) -> Ragged:
    """Return the words of the prints of names in texts."""
    return _lists([_known_print(name).words for name in names])


def _lists(packed: Sequence[bytes]) -> Ragged:
    offsets = np.zeros(len(packed) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, packed), np.int64, len(packed)), out=offsets[1:])
    return Ragged(offsets // 8, np.frombuffer(b"".join(packed), np.uint64))


def _trigrams(names: Sequence[str]) -> Ragged:
    """Return the runs of three letters of each name with a space before and after it, sorted."""
    padded = "".join([f" {name} " for name in names]).encode("utf-32-le", "surrogatepass")
    letters = np.frombuffer(padded, np.uint32).astype(np.uint64)
    row = np.repeat(np.arange(len(names)), [len(name) + 2 for name in names])
    inside = row[2:] == row[:-2]  # of one name
    first, second = np.uint64(2 * _LETTER_BITS), np.uint64(_LETTER_BITS)
    run = ((letters[:-2] << first) | (letters[1:-1] << second) | letters[2:])[inside]
    row = row[2:][inside]
    order = np.lexsort((run, row))
    run, row = run[order], row[order]
    new = np.ones(len(run), np.bool_)
    new[1:] = (run[1:] != run[:-1]) | (row[1:] != row[:-1])
    offsets = np.searchsorted(row[new], np.arange(len(names) + 1))
    return Ragged(offsets.astype(np.int64), run[new])
