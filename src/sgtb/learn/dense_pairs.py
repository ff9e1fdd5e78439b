"""Dense pairs: the pair features of a table, for all entities of a document at once.

A search asks for the pairs of a candidate and all that was decided before, step by step, and one
dot product after the other is mostly waiting: each addition waits for the one before. All products
of a document together keep the processor busy, and a search then only looks them up. It pays where
a document has few entities; the table is for all others.
"""

from copy import copy

import numpy as np

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.dtypes import Floats, Ints, Longs
from sgtb.learn.pairs import BlockPairs, PairArrays, TablePairs
from sgtb.learn.problems import Problems

MOST = 1 << 22
"""Values that may be kept, 16 MB of them."""


def with_dense_pairs(problems: Problems) -> Problems:
    """Return the problems with all pair features at hand; unchanged where these are too many."""
    pairs, offsets = problems.pairs, problems.entity_offsets
    if not isinstance(pairs, TablePairs) or _size(pairs, offsets) > MOST:
        return problems
    dense = copy(problems)  # not replace: it would check everything once more
    object.__setattr__(dense, "pairs", dense_pairs(pairs, offsets))
    return dense


def _size(pairs: TablePairs, entity_offsets: Longs) -> int:
    return int((np.diff(entity_offsets) ** 2).sum()) * pairs.n_features


def dense_pairs(pairs: TablePairs, entity_offsets: Longs) -> BlockPairs:
    """Return the same features, to the same bits, as blocks."""
    arrays = pairs.arrays(entity_offsets)
    most = int(np.diff(entity_offsets).max(initial=0))
    block = np.zeros(_size(pairs, entity_offsets), np.float32)
    fill_blocks(
        arrays, np.zeros((pairs.table.vectors.shape[1], most), np.float32),
        np.zeros(most, np.float32), np.full(pairs.table.n_rows, -1, np.int32), block,
    )  # fmt: skip
    return BlockPairs(block, pairs.n_features)


@kernel
def fill_blocks(
    pairs: PairArrays, gathered: Floats, line: Floats, place: Ints, out: Floats
) -> None:
    """Write the block of every document.

    gathered, line  scratch: the vectors of a document side by side, the products with one of them
    place           scratch, -1: where a document has the entity of a row
    """
    start = int64(0)
    for d in range(pairs.entity_offsets.shape[0] - 1):
        base = pairs.entity_offsets[d]
        n = pairs.entity_offsets[d + 1] - base
        for i in range(n):
            row = int64(pairs.row[base + i])
            place[row] = i
            for k in range(pairs.vectors.shape[1]):
                gathered[k, i] = pairs.vectors[row, k]
        for a in range(n):
            for s in range(pairs.space_offsets.shape[0] - 1):
                _multiply(pairs, s, a, n, gathered, line)
                _write(line, a, n, start, pairs.n_features, s, out)
            _look_up(pairs, int64(pairs.row[base + a]), a, n, place, start, out)
        for i in range(n):
            place[pairs.row[base + i]] = -1
        start += n * n * pairs.n_features


@inner
def _multiply(pairs: PairArrays, s: int, a: int, n: int, gathered: Floats, line: Floats) -> None:
    """Write the products of entity a and those from a on; each sum keeps the table's order."""
    for i in range(a, n):
        line[i] = np.float32(0.0)
    begin, end = pairs.space_offsets[s], pairs.space_offsets[s + 1]
    in_fours = begin + ((end - begin) >> 2 << 2)
    for k in range(begin, in_fours, 4):
        v0, v1, v2, v3 = gathered[k, a], gathered[k + 1, a], gathered[k + 2, a], gathered[k + 3, a]
        g0, g1, g2, g3 = gathered[k], gathered[k + 1], gathered[k + 2], gathered[k + 3]
        for i in range(np.uint64(a), np.uint64(n)):
            total = line[i] + v0 * g0[i]
            total += v1 * g1[i]
            total += v2 * g2[i]
            line[i] = total + v3 * g3[i]
    for k in range(in_fours, end):
        v0 = gathered[k, a]
        g0 = gathered[k]
        for i in range(np.uint64(a), np.uint64(n)):
            line[i] += v0 * g0[i]


@inner
def _write(line: Floats, a: int, n: int, start: int, width: int, s: int, out: Floats) -> None:
    for i in range(a, n):
        out[start + (a * n + i) * width + s] = line[i]
        out[start + (i * n + a) * width + s] = line[i]


@inner
def _look_up(
    pairs: PairArrays, row: int, a: int, n: int, place: Ints, start: int, out: Floats
) -> None:
    """Write the links of a row; they stand under the lower row of two."""
    width = pairs.n_features
    n_spaces = pairs.space_offsets.shape[0] - 1
    for r in range(width - n_spaces):
        for k in range(pairs.link_offsets[r, row], pairs.link_offsets[r, row + 1]):
            i = int64(place[pairs.link_targets[k]])
            if i >= 0:
                out[start + (a * n + i) * width + n_spaces + r] = pairs.link_counts[k]
                out[start + (i * n + a) * width + n_spaces + r] = pairs.link_counts[k]
