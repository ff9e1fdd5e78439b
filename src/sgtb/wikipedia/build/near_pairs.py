"""Pairs of entities that are linked near each other: in a paragraph, a few links apart."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sgtb.native import count_pairs
from sgtb.wikipedia.build.page_counter import Counts, Keys, PageCounter

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

WINDOW = 8
"""With how many of the links that follow it in its paragraph a link makes pairs."""


class PairCounter:
    """Counts in how many pages two entities are linked near each other."""

    def __init__(self, memory: int) -> None:
        self._counter = PageCounter(memory)

    def add(self, page: Longs, line: Ints, entity: Ints) -> Iterator[tuple[Keys, Counts]]:
        """Take the links of whole pages in order, -1 where a link has no entity.

        Yields pairs, lower entity << 32 | higher, with their counts whenever they get too many.
        """
        at = 0
        while at < len(page):
            at = count_pairs(self._counter.table, page, line, entity, WINDOW, at)
            if at < len(page):
                yield self._counter.drain()

    def drain(self) -> tuple[Keys, Counts]:
        """Return what is counted and not yet given back."""
        return self._counter.drain()
