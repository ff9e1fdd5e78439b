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
    beginning: Words  # of its first letter, its first two, its first three
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


def name_prints(
    names: Sequence[str], print_of: Callable[[str], NamePrint] | None = None
) -> NamePrints:
    """Return the prints of names in normal form.

    print_of  gives that of one name, where many were met before
    """
    if print_of is not None:
        return _joined([print_of(name) for name in names])
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


@lru_cache(maxsize=1 << 13)
def known_print(name: str) -> NamePrint:
    """Return the print of a name in a text: such names occur again and again."""
    whole, squeezed, initials, beginning, words, trigrams = name_prints([name])
    return NamePrint(
        int(whole[0]), int(squeezed[0]), int(initials[0]), beginning[0], words.items,
        trigrams.items,
    )  # fmt: skip


def _joined(prints: Sequence[NamePrint]) -> NamePrints:
    return NamePrints(
        np.array([p.whole for p in prints], np.uint64),
        np.array([p.squeezed for p in prints], np.uint64),
        np.array([p.initials for p in prints], np.uint64),
        np.array([p.beginning for p in prints], np.uint64).reshape(-1, BEGINNING),
        Ragged.joined([p.words for p in prints], np.uint64),
        Ragged.joined([p.trigrams for p in prints], np.uint64),
    )


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
