"""Asking trees: those with questions about global features, ready for any history.

What a history answers to a tree depends on the bins of its global features alone. So there is a
row for every feature and every bin that makes a difference, with the leaves that all its answers
leave to each tree; a history brings one row per feature, and a candidate brings the leaves that
its local features leave:

                      tree 0     tree 1     tree 2    ...
    candidate       1011...    0110...    1111...          u4, a leaf is a bit
    feature 0 = 17  1111...    0111...    1111...
    feature 1 = 3   0011...    1111...    1111...
    all together    0011...    0110...    1111...          the lowest bit is where a walk would end

A hypothesis has few candidates but there are hundreds of trees, and it is along these that the
loops run.
"""

from typing import NamedTuple

import numpy as np

from sgtb.boosting.trees.forest import MASKED_DEPTH, ForestArrays
from sgtb.core.dtypes import MAX_BINS, Doubles, Ints, Longs, Masks
from sgtb.native import mark_borders, rule_out_rows

MOST = 1 << 22
"""Answers that may be kept, 16 MB of them."""

_LEAVES = 32
_WHOLE = 8
"""Trees of a vector register; rows have no ragged end, and the trees that fill them say nothing."""

# A power of two times this number has another five bits at the top for each of the 32 powers: a
# lowest bit becomes a place without a search. (De Bruijn's sequence.)
_SEQUENCE = 0x077CB531


class AskingTrees(NamedTuple):
    """A trees that ask about global features, filled up to whole vectors.

    tree    i4[A]       their numbers
    row     i4[G, 256]  the row of each bin of a feature
    left    u4[., A']   rows of leaves that answers leave
    value   f8[A' * 32]  leaf values; a leaf's place comes from its bit, see `_PLACES`
    """

    tree: Ints
    row: Ints
    left: Masks
    value: Doubles


def asking_trees(forest: ForestArrays, n_trees: int, n_global: int) -> AskingTrees | None:
    """Find them among the first trees; None where trees are too deep for masks, or too many."""
    if forest.depth > MASKED_DEPTH:
        return None
    tree = np.flatnonzero(forest.global_questions[:n_trees]).astype(np.int32)
    n = -(-len(tree) // _WHOLE) * _WHOLE
    asked = np.zeros((n_global, MAX_BINS + 1), np.int32)
    mark_borders(forest, tree, asked)
    # A bin stands above the borders before it; every feature begins with the bin above none.
    above = np.cumsum(asked, axis=1, dtype=np.int32)
    sizes = above[:, -1] + 1
    row = above - asked + (np.cumsum(sizes, dtype=np.int32) - sizes)[:, None]
    if int(sizes.sum()) * n > MOST:
        return None
    left = np.full((int(sizes.sum()), n), 0xFFFFFFFF, np.uint32)
    value = np.zeros((n, _LEAVES))
    rule_out_rows(forest, tree, asked, row, left)
    n_leaves = forest.leaf_value.shape[1]
    value[: len(tree), _PLACES[:n_leaves]] = forest.leaf_value[tree]
    return AskingTrees(tree, row, left, value.ravel())


def no_trees() -> AskingTrees:
    """Return an empty table."""
    return AskingTrees(
        np.zeros(0, np.int32), np.zeros((0, MAX_BINS + 1), np.int32),
        np.zeros((0, 0), np.uint32), np.zeros(0),
    )  # fmt: skip


_PLACES: Longs = (np.int64(1) << np.arange(_LEAVES)) * _SEQUENCE >> 27 & 31
