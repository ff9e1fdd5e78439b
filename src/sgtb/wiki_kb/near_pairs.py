"""Pairs of entities that are linked near each other: in a paragraph, a few links apart."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sgtb.kernels import ONE, ZERO, int64, kernel
from sgtb.wiki_kb.page_counter import Counts, Keys, PageCounter, Slots, count_once, has_room

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

WINDOW = 8
"""With how many of the links that follow it in its paragraph a link makes pairs."""
_WINDOW = int64(WINDOW)
_SHIFT = int64(32)


class PairCounter:
    """Counts in how many pages two entities are linked near each other."""

    def __init__(self, memory: int) -> None:
        self._counter = PageCounter(memory)

    def add(self, page: Longs, line: Ints, entity: Ints) -> Iterator[tuple[Keys, Counts]]:
        """Take the links of whole pages in order, -1 where a link has no entity.

        Yields pairs, lower entity << 32 | higher, with their counts whenever they get too many.
        """
        begins = np.flatnonzero(np.diff(page, prepend=-1))
        begins = np.append(begins, len(page)).astype(np.int64)
        at = 0
        while at < len(begins) - 1:
            done = int(count_pairs(begins, at, page, line, entity, self._counter.slots))
            if done < len(begins) - 1:
                yield self._counter.drain()
                self._counter.make_room(WINDOW * int(begins[done + 1] - begins[done]))
            at = done

    def drain(self) -> tuple[Keys, Counts]:
        """Return what is counted and not yet given back."""
        return self._counter.drain()


@kernel
def count_pairs(
    begins: Longs, first: int, page: Longs, line: Ints, entity: Ints, slots: Slots
) -> int:
    """Count the pairs of pages, from page `first` on; return the page that found no room."""
    for p in range(first, begins.shape[0] - 1):
        begin, end = begins[p], begins[p + ONE]
        if not has_room(slots, (end - begin) * _WINDOW):
            return p
        for i in range(begin, end):
            if entity[i] < ZERO:
                continue
            met = ZERO
            j = i + ONE
            while j < end and met < _WINDOW and line[j] == line[i]:
                if entity[j] >= ZERO:
                    met += ONE
                    if entity[j] != entity[i]:
                        low = int64(min(entity[i], entity[j]))
                        high = int64(max(entity[i], entity[j]))
                        count_once(slots, np.uint64((low << _SHIFT) | high), page[begin])  # type: ignore[arg-type]
                j += ONE
    return int64(begins.shape[0] - ONE)
