"""PageCounter: in how many pages each key stands, counted in a hash table of bounded size.

When the table is full it is emptied to whoever adds up the parts, so that the counts of any
number of keys need no more memory than the table.

    keys   u8[size]  the key in a slot
    last   i8[size]  the page that counted it last: in a page, a key counts once
    pages  u4[size]  its pages so far; 0: the slot is free
    used   i8[1]     how many slots are taken
"""

from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from sgtb.kernels import ONE, ZERO, inner, int64

Keys = npt.NDArray[np.uint64]
Longs = npt.NDArray[np.int64]
Counts = npt.NDArray[np.uint32]

SLOT_BYTES = 20
_SPREAD = cast(int, np.uint64(0x9E3779B97F4A7C15))
_HALF = cast(int, np.uint64(32))


class Slots(NamedTuple):
    """The arrays of the table; the size is a power of two."""

    keys: Keys
    last: Longs
    pages: Counts
    used: Longs


class PageCounter:
    """Counts pages of keys. Kernels fill `slots`; pages have numbers, none of them negative."""

    def __init__(self, memory: int) -> None:
        self.slots = _empty(max(1 << 10, 1 << (memory // SLOT_BYTES).bit_length() >> 1))

    def drain(self) -> tuple[Keys, Counts]:
        """Return keys and their counts since the last time, and forget them."""
        slots = self.slots
        at = np.flatnonzero(slots.pages)
        found = slots.keys[at], slots.pages[at]
        slots.pages[at] = 0
        slots.last[at] = -1
        slots.used[0] = 0
        return found

    def make_room(self, keys: int) -> None:
        """Be able to take a page with that many keys; only when drained."""
        size = len(self.slots.keys)
        while keys > size - size // 4:
            size *= 2
        if size != len(self.slots.keys):
            self.slots = _empty(size)


def _empty(size: int) -> Slots:
    return Slots(
        np.zeros(size, np.uint64),
        np.full(size, -1, np.int64),
        np.zeros(size, np.uint32),
        np.zeros(1, np.int64),
    )


@inner
def has_room(slots: Slots, keys: int) -> bool:
    """Return whether so many keys more fit; a quarter stays free so that search stays short."""
    size = slots.keys.shape[0]
    return bool(slots.used[ZERO] + keys <= size - size // 4)


@inner
def count_once(slots: Slots, key: int, page: int) -> None:
    """Count a key of a page, unless the page has counted it already."""
    size = slots.keys.shape[0]
    spread = key * _SPREAD
    at = int64(spread >> _HALF) & (size - ONE)
    while slots.pages[at] != ZERO and slots.keys[at] != key:
        at = (at + ONE) & (size - ONE)
    if slots.pages[at] == ZERO:
        slots.keys[at] = key
        slots.used[ZERO] += ONE
    elif slots.last[at] == page:
        return
    slots.last[at] = page
    slots.pages[at] += np.uint32(1)
