"""Neighbours: who of some entities is linked with whom, either way."""

import numpy as np

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.dtypes import Ints, Longs
from sgtb.linking.sparse import Sparse
from sgtb.ragged import Ragged

_SPREAD = 0x9E3779B1
"""Multiplying spreads bits; the product with a number of 31 bits is one of 63."""


def neighbours(number: Ints, linked: Ragged) -> Sparse:
    """Return the links among entities by row, each a one, given the numbers each is linked with.

    Most links lead elsewhere, and numbers may be as large as a knowledge base: a hash table of
    the entities at hand tells who is here.
    """
    n = len(number)
    table = np.full(1 << (8 * n).bit_length(), -1, np.int32)  # most places empty: few collide
    here = np.zeros(len(linked.items), np.int32)
    degree = np.zeros(n + 1, np.int64)
    find_rows(number, linked.offsets, linked.items, table, here, degree)
    starts = np.cumsum(degree) - degree
    unsorted, columns = np.zeros((2, int(degree.sum())), np.int32)
    offsets = np.zeros(n + 1, np.int64)
    join_links(linked.offsets, here, starts, unsorted, starts.copy(), columns, offsets)
    columns = columns[: offsets[-1]].copy()
    return Sparse(offsets, columns, np.ones(len(columns), np.float32), n)


@kernel
def find_rows(
    number: Ints, offsets: Longs, linked: Ints, table: Ints, here: Ints, degree: Longs
) -> None:
    """Write the row of every linked number, -1: not here; count the links of each row."""
    for r in range(number.shape[0]):
        table[_slot(number[r], number, table)] = r
    for r in range(number.shape[0]):
        for i in range(offsets[r], offsets[r + 1]):
            target = table[_slot(linked[i], number, table)]
            here[i] = target
            if target >= 0:
                degree[r] += 1
                degree[target] += 1


@inner
def _slot(wanted: np.int32, number: Ints, table: Ints) -> int:
    """Return the place of a number in the table, or the empty one where it would be."""
    mask = table.shape[0] - 1
    at: int = (int64(wanted) * _SPREAD >> 16) & mask
    while table[at] >= 0 and number[table[at]] != wanted:
        at = (at + 1) & mask
    return at


@kernel
def join_links(
    link_offsets: Longs, here: Ints, starts: Longs, unsorted: Ints, ends: Longs, columns: Ints,
    offsets: Longs,
) -> None:  # fmt: skip
    """Write the neighbours of each row in ascending order, each once.

    Links are gathered both ways. Then every row, one after the other, enters itself in the lists
    of its neighbours: that sorts them.
    """
    n = offsets.shape[0] - 1
    for r in range(n):
        for i in range(link_offsets[r], link_offsets[r + 1]):
            target = here[i]
            if target >= 0:
                unsorted[ends[r]] = target
                ends[r] += 1
                unsorted[ends[target]] = r
                ends[target] += 1
    for r in range(n):
        ends[r] = starts[r]
    for r in range(n):
        for i in range(starts[r], starts[r + 1]):
            other = unsorted[i]
            end = ends[other]
            if end == starts[other] or columns[end - 1] != r:
                columns[end] = r
                ends[other] = end + 1
    at = 0
    for r in range(n):
        for i in range(starts[r], ends[r]):
            columns[at] = columns[i]
            at += 1
        offsets[r + 1] = at
