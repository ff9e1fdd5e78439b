"""Counters of pages per name and per pair of entities, in hash tables of bounded size.

A full table is drained and the caller adds up the parts, so memory does not depend on the number
of keys. A table grows only for a single page with more keys than fit.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Ints, Longs
from sgtb.native import (
    MAX_NAME_WORDS,
    count_keys,
    count_pairs,
    drain_counter,
    find_names,
    hash_names,
    make_page_counter,
    set_name_bits,
)  # fmt: skip

Keys = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint32]

MAX_WORDS: int = MAX_NAME_WORDS
"""Longer names are not searched for."""
WINDOW = 8
"""Number of following links in the same paragraph that a link forms pairs with."""
_BITS_PER_NAME = 16


def name_hashes(names: Sequence[str]) -> Keys:
    """Return the 64-bit hashes of names in normal form.

    A name's hash combines the hashes of its words, so `find_names` hashes each word of a text
    once, however many names begin with it.
    """
    encoded = [name.encode() for name in names]
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    hashes = np.empty(len(names), np.uint64)
    hash_names(b"".join(encoded), offsets, hashes)
    return hashes


class NameFilter:
    """Bloom filter over the hashes of names, of at most `memory` bytes."""

    def __init__(self, names: int, memory: int) -> None:
        bits = 1 << (max(names, 64) * _BITS_PER_NAME).bit_length()
        max_bits = 1 << (memory * 8).bit_length() >> 1
        self.bits = np.zeros(max(min(bits, max_bits), 64) // 8, np.uint8)

    def add(self, hashes: Keys) -> None:
        """Add hashes."""
        set_name_bits(self.bits, hashes)


class PageCounter:
    """Number of pages per key. Kernels fill `table`, initially of at most `memory` bytes."""

    def __init__(self, memory: int) -> None:
        self.table = make_page_counter(memory)

    def drain(self) -> tuple[Keys, Counts]:
        """Return keys and counts since the last call, and clear the table."""
        n = count_keys(self.table)
        keys, counts = np.empty(n, np.uint64), np.empty(n, np.uint32)
        drain_counter(self.table, keys, counts)
        return keys, counts


class NamePageCounter(PageCounter):
    """Number of pages in which each name occurs, by the name's hash.

    The few word sequences that pass the filter without being a name get counts, too; they are
    dropped when counts are joined with names.
    """

    def __init__(self, names: NameFilter, memory: int) -> None:
        super().__init__(memory)
        self._names = names

    def add(self, text: bytes) -> Iterator[tuple[Keys, Counts]]:
        """Count the names of whole pages; yield hashes and counts whenever the table is full.

        text  words separated by single spaces; lines end with \\n, pages with \\f
        """
        at = 0
        while at < len(text):
            at = find_names(self.table, self._names.bits, text, at)
            if at < len(text):
                yield self.drain()


class PairCounter(PageCounter):
    """Number of pages on which two entities are linked in one paragraph, a few links apart."""

    def add(self, page: Longs, line: Ints, entity: Ints) -> Iterator[tuple[Keys, Counts]]:
        """Count the pairs of whole pages; yield pairs and counts whenever the table is full.

        Links are in order; entity is -1 for a link without one. A pair is
        lower entity << 32 | higher entity.
        """
        at = 0
        while at < len(page):
            at = count_pairs(self.table, page, line, entity, WINDOW, at)
            if at < len(page):
                yield self.drain()
