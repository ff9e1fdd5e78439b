"""TreeMasks: the leaves that global features leave in each tree, tabulated by bin.

The effect of a history on a tree depends on the bins of its global features alone. The table has
a row for every feature and every interval between its splits, with the leaves that a value there
can still reach in each tree. A history contributes one row per feature, and a candidate the leaves
that its local features leave:

                      tree 0     tree 1     tree 2    ...
    candidate       1011...    0110...    1111...          u4, a leaf is a bit
    feature 0 = 17  1111...    0111...    1111...
    feature 1 = 3   0011...    1111...    1111...
    conjunction     0011...    0110...    1111...          the lowest bit is the leaf of a walk

Loops run along the trees: a hypothesis has few candidates, but there are hundreds of trees.
"""

from typing import NamedTuple

import numpy as np

from sgtb.boosting.trees.forest import MASKED_DEPTH, ForestArrays
from sgtb.core.dtypes import MAX_BINS, Doubles, Ints, Longs, Masks
from sgtb.native import fill_masks, mark_split_bins

MAX_SIZE = 1 << 22
"""Largest number of masks, 16 MB."""

_LEAVES = 32
_WIDTH = 8
"""Trees per vector register; rows are padded to a multiple of it."""

# De Bruijn sequence: a power of two times this number has a different value in its five top bits
# for each of the 32 powers, so the lowest set bit becomes a place without a search.
_SEQUENCE = 0x077CB531
_PLACES: Longs = (np.int64(1) << np.arange(_LEAVES)) * _SEQUENCE >> 27 & 31


class TreeMasks(NamedTuple):
    """The A trees that test global features, padded to A' of whole vectors.

    tree    i4[A]        their numbers
    row     i4[G, 256]   the row of each bin of a feature
    mask    u4[., A']    leaves that can still be reached
    value   f8[A' * 32]  leaf values, each at the place of its bit in `_PLACES`
    """

    tree: Ints
    row: Ints
    mask: Masks
    value: Doubles

    @classmethod
    def of(cls, forest: ForestArrays, n_trees: int, n_global: int) -> "TreeMasks | None":
        """Tabulate the first trees; None if trees are too deep or the table too large."""
        if forest.depth > MASKED_DEPTH:
            return None
        tree = np.flatnonzero(forest.global_splits[:n_trees]).astype(np.int32)
        n = -(-len(tree) // _WIDTH) * _WIDTH
        is_split = np.zeros((n_global, MAX_BINS + 1), np.int32)
        mark_split_bins(forest, tree, is_split)
        # A bin is above the splits before it; every feature begins with the bin above none.
        above = np.cumsum(is_split, axis=1, dtype=np.int32)
        sizes = above[:, -1] + 1
        row = above - is_split + (np.cumsum(sizes, dtype=np.int32) - sizes)[:, None]
        if int(sizes.sum()) * n > MAX_SIZE:
            return None
        mask = np.full((int(sizes.sum()), n), 0xFFFFFFFF, np.uint32)
        value = np.zeros((n, _LEAVES))
        fill_masks(forest, tree, is_split, row, mask)
        n_leaves = forest.leaf_value.shape[1]
        value[: len(tree), _PLACES[:n_leaves]] = forest.leaf_value[tree]
        return cls(tree, row, mask, value.ravel())

    @classmethod
    def empty(cls) -> "TreeMasks":
        """Return an empty table."""
        return cls(
            np.zeros(0, np.int32), np.zeros((0, MAX_BINS + 1), np.int32),
            np.zeros((0, 0), np.uint32), np.zeros(0),
        )  # fmt: skip
