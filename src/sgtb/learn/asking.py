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

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.dtypes import MAX_BINS, Bytes, Doubles, Ints, Longs, Masks
from sgtb.learn.forest import MASKED_DEPTH, ForestArrays

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
    value   f8[A' * 32]  leaf values; a leaf's place comes from its bit, see `_place`
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
    rule_out(forest, tree, asked, row, left)
    n_leaves = forest.leaf_value.shape[1]
    value[: len(tree), _PLACES[:n_leaves]] = forest.leaf_value[tree]
    return AskingTrees(tree, row, left, value.ravel())


def no_trees() -> AskingTrees:
    """Return what stands for trees where nobody asks."""
    return AskingTrees(
        np.zeros(0, np.int32), np.zeros((0, MAX_BINS + 1), np.int32),
        np.zeros((0, 0), np.uint32), np.zeros(0),
    )  # fmt: skip


@kernel
def mark_borders(forest: ForestArrays, trees: Ints, asked: Ints) -> None:
    """Mark the bins that questions compare each feature with."""
    for tree in trees:
        t = int64(tree)
        first = t * forest.words + forest.local_questions[t]
        for q in range(first, first + forest.global_questions[t]):
            question = forest.questions[q]
            asked[(question >> 8) & 0xFFFFFF, question & 255] = 1


@kernel
def rule_out(forest: ForestArrays, trees: Ints, asked: Ints, row: Ints, left: Masks) -> None:
    """Take from every row the leaves on the left of questions that its bin answers "right"."""
    for j in range(trees.shape[0]):
        t = int64(trees[j])
        first = t * forest.words + forest.local_questions[t]
        for q in range(first, first + forest.global_questions[t]):
            question = forest.questions[q]
            above = row[(question >> 8) & 0xFFFFFF, question & 255] + 1
            plane = (question >> 40) * 8
            ruled_out = (255 & ~(question >> 32)) << plane
            left[above, j] = np.uint32(left[above, j] & (0xFFFFFFFF ^ ruled_out))
    for feature in range(row.shape[0]):
        # What is above a border is above all lower ones.
        for r in range(row[feature, 0] + 1, row[feature, 255] + asked[feature, 255] + 1):
            for j in range(left.shape[1]):
                left[r, j] &= left[r - 1, j]


@inner
def sum_leaves(
    asking: AskingTrees, masks: Masks, bins: Bytes, first: int, step: int, lane: int, left: Masks
) -> float:
    """Return the sum of all trees for a candidate to which local answers leave `masks`.

    The bin of its global feature g is bins[first + g * step, lane]; `left` is scratch.
    """
    n, last = np.uint64(masks.shape[0]), asking.row.shape[0] - 1
    for j in range(n):
        left[j] = masks[j]
    # Four features at a time: fewer round trips of the masks to memory. Twice is as good as once.
    for g in range(0, last + 1, 4):
        g1, g2, g3 = min(g + 1, last), min(g + 2, last), min(g + 3, last)
        row0 = asking.left[asking.row[g, bins[first + g * step, lane]]]
        row1 = asking.left[asking.row[g1, bins[first + g1 * step, lane]]]
        row2 = asking.left[asking.row[g2, bins[first + g2 * step, lane]]]
        row3 = asking.left[asking.row[g3, bins[first + g3 * step, lane]]]
        for j in range(n):
            left[j] = left[j] & row0[j] & row1[j] & row2[j] & row3[j]
    # Sums of leaf values are exact in any order, and four at once need not wait for each other.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for j in range(0, left.shape[0], 4):
        a += asking.value[_place(j, left)]
        b += asking.value[_place(j + 1, left)]
        c += asking.value[_place(j + 2, left)]
        d += asking.value[_place(j + 3, left)]
    return (a + b) + (c + d)


@inner
def _place(j: int, left: Masks) -> np.uint64:
    """Return where the value of a tree's lowest leaf left is."""
    mask = int64(left[j])
    return np.uint64(j * _LEAVES + (((mask & -mask) * _SEQUENCE >> 27) & 31))


_PLACES: Longs = (np.int64(1) << np.arange(_LEAVES)) * _SEQUENCE >> 27 & 31
