"""Local answers: what trees make of a document's candidates before any history is known.

Most questions of a tree are about local features, and their answers are the same under every
history. So they are asked once, all candidates of a document side by side in one long row of
lanes, and several documents at a time, for a short row is not worth the trouble:

    planes    plane 0   | mention 0 ........ | mention 1 .... | mention 2 ........ | -- |
              plane 1   |                    |                |                    |    |

No lane is left free between mentions; the row ends with as many as make whole vectors, and what
stands there means nothing. Trees without a question about global features are summed up at once.
For all others the leaves that are left are kept, candidate by candidate, and a search only looks
up what a history leaves of them. Sums of leaf values are exact in any order, so the scores keep
their bits.
"""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import ZERO, inner, int64, routine
from sgtb.learn.asking import AskingTrees, no_trees, sum_leaves
from sgtb.learn.dtypes import Bytes, Doubles, Ints, Longs, Masks
from sgtb.learn.forest import (
    ForestArrays,
    first_leaf,
    first_leaf_of_four,
    first_leaf_of_two,
)

_VECTOR = 32
"""Lanes of a vector register, or a multiple; loops over whole vectors have no ragged end."""
_AT_ONCE = 256
"""Lanes to fill with documents: with more of them, what is kept would leave the caches."""
_TREES = 8
"""Trees of which masks are turned at a time, from one tree's lanes to one lane's trees."""


_LOOK_BACK = 32
"""So many histories of a beam are compared with the next: in a wide one, all would be too many."""


class LocalAnswers(NamedTuple):
    """One thread's workspace: N lanes.

    n_trees  how many trees there are; 0: nothing is answered ahead
    asking             the trees that ask about global features
    lane     i8[D]     where the lanes of a document begin
    bins     u1[L, N]  local features, feature by feature
    planes   u1[., N]  scratch: leaves of one tree that are not ruled out
    leaves   u1[N]     scratch
    words    u4[8, N]  scratch: these leaves of some trees, a word for all planes
    score    f8[N]     the sum of all trees that ask about local features alone
    masks    u4[N, .]  leaves of the asking trees that are not ruled out
    left     u4[.]     scratch: those of one candidate under a history
    """

    n_trees: int
    asking: AskingTrees
    lane: Longs
    bins: Bytes
    planes: Bytes
    leaves: Bytes
    words: Masks
    score: Doubles
    masks: Masks
    left: Masks


def local_answers(
    forest: ForestArrays, n_trees: int, asking: AskingTrees | None, n_documents: int, n_lanes: int
) -> LocalAnswers:
    """Make room for so many documents, of so many lanes at most.

    Without asking trees, nothing is answered ahead.
    """
    if asking is None:
        return no_answers()
    room = max(n_lanes, _AT_ONCE)
    return _workspace(n_trees, asking, forest.n_local, forest.planes, n_documents, room)


def no_answers() -> LocalAnswers:
    """Return what stands for answers where none are given ahead: in training."""
    return _workspace(0, no_trees(), 0, 0, 0, 0)


def _workspace(
    n_trees: int, asking: AskingTrees, n_local: int, n_planes: int, n_documents: int, n_lanes: int
) -> LocalAnswers:
    n, n_asking = -(-n_lanes // _VECTOR) * _VECTOR, asking.left.shape[1]
    return LocalAnswers(
        n_trees, asking, np.zeros(n_documents, np.int64), np.zeros((n_local, n), np.uint8),
        np.zeros((n_planes, n), np.uint8), np.zeros(n, np.uint8), np.zeros((_TREES, n), np.uint32),
        np.zeros(n), np.zeros((n, n_asking), np.uint32), np.zeros(n_asking, np.uint32),
    )  # fmt: skip


@routine
def answer_locals(
    forest: ForestArrays, a: LocalAnswers, mention_offsets: Ints, candidate_offsets: Ints,
    mention_blocks: Longs, local: Bytes, documents: Ints, begin: int,
) -> int:  # fmt: skip
    """Ask all questions about the local features of documents[begin:].

    Those of as many as there is room for; return where the others begin.
    """
    lane, i = ZERO, begin
    while i < documents.shape[0]:
        d = int64(documents[i])
        first, last = int64(mention_offsets[d]), int64(mention_offsets[d + 1])
        if not room_for(a, lane, candidate_offsets[last] - candidate_offsets[first]):
            break
        a.lane[d] = lane
        for m in range(first, last):
            n_blocks = mention_blocks[m + 1] - mention_blocks[m]
            start, n = (
                mention_blocks[m] * forest.n_local,
                candidate_offsets[m + 1] - candidate_offsets[m],
            )
            line_up(a, lane, local, start, n_blocks, ZERO, int64(n))
            lane += n
        i += 1
    ask_lanes(forest, a, lane)
    return i


@inner
def room_for(a: LocalAnswers, lane: int, n: int) -> bool:
    """Return whether n more lanes fit in; a single document always does."""
    fits: bool = lane + n <= a.score.shape[0]
    return fits


@inner
def line_up(
    a: LocalAnswers, lane: int, local: Bytes, start: int, n_blocks: int, first: int, last: int
) -> None:
    """Put a mention's candidates first to last - 1, whose bins begin at block `start`, in lanes."""
    for f in range(a.bins.shape[0]):
        for c in range(first, last):
            a.bins[f, lane + c - first] = local[start + f * n_blocks + (c >> 4), c & 15]


@routine
def ask_lanes(forest: ForestArrays, a: LocalAnswers, n_candidates: int) -> None:
    """Ask all questions about the local features of the first lanes."""
    n = _whole_vectors(n_candidates)
    for j in range(n):
        a.score[j] = 0.0
    column = int64(0)
    for t in range(a.n_trees):
        for p in range(forest.planes):
            for j in range(n):
                a.planes[p, j] = 255
        start = t * forest.words
        for q in range(start, start + forest.local_questions[t]):
            _ask(forest.questions[q], a.bins, n, a.planes)
        if forest.global_questions[t] == 0:
            _find(forest.planes, a.planes, n, a.leaves)
            for j in range(n):
                a.score[j] += forest.leaf_value[t, a.leaves[j]]
            continue
        _join_planes(forest.planes, a, n, column % _TREES)
        column += 1
        if column % _TREES == 0:
            _keep(a, n_candidates, column - _TREES)
    if column % _TREES > 0:  # what is kept beyond the last tree means nothing
        _keep(a, n_candidates, column // _TREES * _TREES)


@inner
def _whole_vectors(lanes: int) -> int:
    return (lanes + (_VECTOR - 1)) // _VECTOR * _VECTOR


@routine
def add_answered(
    a: LocalAnswers, lane: int, n: int, n_blocks: int, rows: Longs, n_rows: int, globals_: Bytes,
    n_global: int, scores: Doubles,
) -> None:  # fmt: skip
    """Write the scores of the n candidates whose lanes begin at `lane`: the sums of all trees.

    Under history k their global bins begin at block rows[k] * n_global and their scores at block
    rows[k].
    """
    for c in range(n):
        block, i = c >> 4, c & 15
        masks = a.masks[lane + c]
        for k in range(n_rows):
            first = rows[k] * n_global + block
            # Histories of one beam agree on most decisions, and often on all bins.
            twin = max(ZERO, k - _LOOK_BACK)
            while twin < k and not _same_bins(
                globals_, rows[twin] * n_global + block, first, n_global, n_blocks, i
            ):
                twin += 1
            if twin < k:
                scores[rows[k] + block, i] = scores[rows[twin] + block, i]
                continue
            total = sum_leaves(a.asking, masks, globals_, first, n_blocks, i, a.left)
            scores[rows[k] + block, i] = total + a.score[lane + c]


@inner
def _same_bins(bins: Bytes, one: int, other: int, n: int, step: int, lane: int) -> bool:
    g = 0
    while g < n and bins[one + g * step, lane] == bins[other + g * step, lane]:
        g += 1
    return g == n


@inner
def _ask(question: int, bins: Bytes, n: int, planes: Bytes) -> None:
    """Rule out leaves of n candidates; a question is laid out as in ForestArrays."""
    feature = (question >> 8) & 0xFFFFFF
    border = np.uint8(question & 255)
    left_ruled_out = np.uint8((question >> 32) & 255)
    row = question >> 40
    for j in range(n):
        answer = np.uint8(255) if bins[feature, j] <= border else left_ruled_out
        planes[row, j] = planes[row, j] & answer


@inner
def _join_planes(n_planes: int, a: LocalAnswers, n: int, line: int) -> None:
    """Write the leaves left of a tree, all planes of a candidate in one word."""
    words = a.words[line]
    if n_planes == 4:
        for j in range(n):
            low = int64(a.planes[0, j]) | int64(a.planes[1, j]) << 8
            high = int64(a.planes[2, j]) | int64(a.planes[3, j]) << 8
            words[j] = np.uint32(low | high << 16)
    elif n_planes == 2:
        for j in range(n):
            words[j] = np.uint32(int64(a.planes[0, j]) | int64(a.planes[1, j]) << 8)
    else:
        for j in range(n):
            words[j] = a.planes[0, j]


@inner
def _keep(a: LocalAnswers, n: int, column: int) -> None:
    """Write the words of some trees candidate by candidate."""
    for j in range(n):
        masks = a.masks[j]
        for k in range(_TREES):
            masks[column + k] = a.words[k, j]


@inner
def _find(n_planes: int, planes: Bytes, n: int, leaves: Bytes) -> None:
    if n_planes == 1:
        for j in range(n):
            leaves[j] = first_leaf(planes[0, j])
    elif n_planes == 2:
        for j in range(n):
            leaves[j] = first_leaf_of_two(planes[0, j], planes[1, j])
    else:
        for j in range(n):
            leaves[j] = first_leaf_of_four(planes[0, j], planes[1, j], planes[2, j], planes[3, j])
