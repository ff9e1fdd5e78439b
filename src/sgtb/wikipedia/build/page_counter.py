"""PageCounter: in how many pages each key occurs, counted in a hash table of bounded size.

When the table is full it is drained, and the caller adds up the parts, so that the counts of any
number of keys need no more memory than the table. It grows only for a page with more keys than fit.
"""

import numpy as np
import numpy.typing as npt

from sgtb.native import count_keys, drain_counter, make_page_counter

Keys = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint32]


class PageCounter:
    """Counts pages of keys. Kernels fill `table`, of at most `memory` bytes to begin with."""

    def __init__(self, memory: int) -> None:
        self.table = make_page_counter(memory)

    def drain(self) -> tuple[Keys, Counts]:
        """Return keys and their counts since the last time, and forget them."""
        n = count_keys(self.table)
        keys, counts = np.empty(n, np.uint64), np.empty(n, np.uint32)
        drain_counter(self.table, keys, counts)
        return keys, counts
