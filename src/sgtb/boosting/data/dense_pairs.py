"""Dense pairs: the pair features of a table, for all entities of a document at once.

A search asks for the pairs of a candidate and all that was decided before, step by step, and one
dot product after the other is mostly waiting: each addition waits for the one before. All products
of a document together keep the processor busy, and a search then only looks them up. It pays where
a document has few entities; the table is for all others.
"""

from copy import copy

import numpy as np

from sgtb.boosting.data.pairs import BlockPairs, TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Longs
from sgtb.native import fill_blocks

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
    block = np.empty(_size(pairs, entity_offsets), np.float32)
    fill_blocks(pairs.arrays(entity_offsets), block)
    return BlockPairs(block, pairs.n_features)
