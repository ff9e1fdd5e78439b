"""Dense pairs: the pair features of a table, for all entities of a document at once.

In a search, the dot products of a candidate with the history come one after the other, and each
addition waits for the one before. All products of a document together use the processor fully, and
the search only looks them up. This pays for documents with few entities; others use the table.
"""

from copy import copy

import numpy as np

from sgtb.boosting.data.pairs import BlockPairs, TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Longs
from sgtb.native import fill_blocks

MAX_SIZE = 1 << 22
"""Largest number of values, 16 MB."""


def with_dense_pairs(problems: Problems) -> Problems:
    """Return problems with precomputed pair features; unchanged if these are too many."""
    pairs, offsets = problems.pairs, problems.entity_offsets
    if not isinstance(pairs, TablePairs) or _size(pairs, offsets) > MAX_SIZE:
        return problems
    dense = copy(problems)  # not `replace`, which would repeat all checks
    object.__setattr__(dense, "pairs", dense_pairs(pairs, offsets))
    return dense


def _size(pairs: TablePairs, entity_offsets: Longs) -> int:
    return int((np.diff(entity_offsets) ** 2).sum()) * pairs.n_features


def dense_pairs(pairs: TablePairs, entity_offsets: Longs) -> BlockPairs:
    """Return the same features, to the same bits, as blocks."""
    block = np.empty(_size(pairs, entity_offsets), np.float32)
    fill_blocks(pairs.arrays(entity_offsets), block)
    return BlockPairs(block, pairs.n_features)
