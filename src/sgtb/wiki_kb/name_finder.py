"""NameFinder: finds the names of a knowledge base in running text, by their hashes.

A filter of bits, of bounded size, says of nearly every row of words that it is no name. What
passes is counted once a page; the few that passed wrongly belong to no name in the end.

Text lies in pages: words with single spaces, lines ended by \\n, pages ended by \\f.
"""

from collections.abc import Iterator

import numpy as np

from sgtb.kernels import NO, ONE, YES, ZERO, inner, int64, kernel
from sgtb.wiki_kb.name_hash import SPACE, START, Bytes, Hashes, Longs, with_byte, with_word
from sgtb.wiki_kb.page_counter import Counts, Keys, PageCounter, Slots, count_once, has_room

MAX_WORDS = 6
"""Names of more words than this are not looked for."""
_MAX_WORDS = int64(MAX_WORDS)
_LINE, _PAGE = int64(0x0A), int64(0x0C)
_BITS_A_NAME = 16
_PROBES = 3
_HIGH = 31


class NameFilter:
    """Says of a hash that it is no name, or that it may be one."""

    def __init__(self, names: int, memory: int) -> None:
        bits = 1 << (max(names, 64) * _BITS_A_NAME).bit_length()
        most = 1 << (memory * 8).bit_length() >> 1
        self.bits = np.zeros(max(min(bits, most), 64) // 8, np.uint8)

    def add(self, hashes: Hashes) -> None:
        """Let hashes pass from now on."""
        set_bits(self.bits, hashes)


class NameFinder:
    """Counts in how many pages names stand."""

    def __init__(self, names: NameFilter, memory: int) -> None:
        self._names = names
        self._counter = PageCounter(memory)
        self._pages = 0

    def add(self, text: bytes) -> Iterator[tuple[Keys, Counts]]:
        """Take the text of whole pages; yield hashes and counts whenever they get too many."""
        flat = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(flat == _PAGE)
        at = page = 0
        begun, words = np.zeros(MAX_WORDS, np.uint64), np.zeros(1, np.int64)
        bits = self._names.bits
        while page < len(ends):
            first = self._pages + page
            page += int(find_names(flat, at, first, bits, self._counter.slots, begun, words))
            at = int(ends[page - 1]) + 1 if page else 0
            if page < len(ends):
                yield self._counter.drain()
                self._counter.make_room(int(words[0]) * MAX_WORDS)
        self._pages += len(ends)

    def drain(self) -> tuple[Keys, Counts]:
        """Return what is counted and not yet given back."""
        return self._counter.drain()


@inner
def bit_of(bits: Bytes, key: int, probe: int) -> int:
    """Return the bit of a hash that is looked at in a probe: double hashing."""
    low = int64(key & np.uint64(0x7FFFFFFF))
    high = int64(key >> np.uint64(33))
    mask = bits.shape[0] * int64(8) - ONE
    return int64((low + (high << int64(8)) + probe * (high | ONE)) & mask)


@inner
def may_be_name(bits: Bytes, key: int) -> bool:
    """Return NO where a hash is surely that of no name."""
    for probe in range(_PROBES):
        bit = bit_of(bits, key, int64(probe))
        if not (bits[bit >> int64(3)] >> (bit & int64(7))) & ONE:
            return NO
    return YES


@kernel
def set_bits(bits: Bytes, hashes: Hashes) -> None:
    """Set the bits of hashes."""
    for i in range(hashes.shape[0]):
        for probe in range(_PROBES):
            bit = bit_of(bits, hashes[i], int64(probe))
            bits[bit >> int64(3)] |= np.uint8(ONE << (bit & int64(7)))


@inner
def count_words(flat: Bytes, at: int) -> int:
    """Return how many words the page at `at` has, or a few more."""
    words = ONE
    while at < flat.shape[0] and flat[at] != _PAGE:
        if flat[at] == SPACE or flat[at] == _LINE:
            words += ONE
        at += ONE
    return words


@kernel
def find_names(
    flat: Bytes, at: int, page: int, bits: Bytes, slots: Slots, begun: Hashes, words: Longs
) -> int:
    """Count the names of pages, from the page at `at` on; return how many pages found room.

    begun  u8[MAX_WORDS], a ring: the rows of words that end at this word, by where they begin
    words  i8[1]: how many words the page has that found no room
    """
    done = ZERO
    while at < flat.shape[0]:
        words[ZERO] = count_words(flat, at)
        if not has_room(slots, words[ZERO] * _MAX_WORDS):
            return done
        word, size, row = START, ZERO, ZERO
        while at < flat.shape[0]:
            byte = flat[at]
            at += ONE
            if byte != SPACE and byte != _LINE and byte != _PAGE:
                word = with_byte(word, byte)
                size += ONE
                continue
            if size:
                begun[row % _MAX_WORDS] = START
                row += ONE
                for i in range(min(row, _MAX_WORDS)):
                    begun[i] = with_word(begun[i], word)
                    if may_be_name(bits, begun[i]):
                        count_once(slots, begun[i], page + done)
                word, size = START, ZERO
            if byte == _LINE:
                row = ZERO
            elif byte == _PAGE:
                break
        done += ONE
    return done
