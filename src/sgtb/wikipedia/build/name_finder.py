"""NameFinder: finds the names of a knowledge base in running text, by their hashes.

A Bloom filter of bounded size rules out nearly every sequence of words that is no name. What
passes is counted once a page; the few that passed wrongly belong to no name in the end.

Text lies in pages: words with single spaces, lines ended by \\n, pages ended by \\f.
"""

from collections.abc import Iterator

import numpy as np

from sgtb.native import MAX_NAME_WORDS, find_names, set_name_bits
from sgtb.wikipedia.build.name_hash import Hashes
from sgtb.wikipedia.build.page_counter import Counts, Keys, PageCounter

MAX_WORDS: int = MAX_NAME_WORDS
"""Names of more words than this are not looked for."""
_BITS_A_NAME = 16


class NameFilter:
    """Says of a hash that it is no name, or that it may be one."""

    def __init__(self, names: int, memory: int) -> None:
        bits = 1 << (max(names, 64) * _BITS_A_NAME).bit_length()
        most = 1 << (memory * 8).bit_length() >> 1
        self.bits = np.zeros(max(min(bits, most), 64) // 8, np.uint8)

    def add(self, hashes: Hashes) -> None:
        """Let hashes pass from now on."""
        set_name_bits(self.bits, hashes)


class NameFinder:
    """Counts in how many pages names stand."""

    def __init__(self, names: NameFilter, memory: int) -> None:
        self._names = names
        self._counter = PageCounter(memory)

    def add(self, text: bytes) -> Iterator[tuple[Keys, Counts]]:
        """Take the text of whole pages; yield hashes and counts whenever they get too many."""
        at = 0
        while at < len(text):
            at = find_names(self._counter.table, self._names.bits, text, at)
            if at < len(text):
                yield self._counter.drain()

    def drain(self) -> tuple[Keys, Counts]:
        """Return what is counted and not yet given back."""
        return self._counter.drain()
