"""Local answers: what trees make of a document's candidates before any history is known.

Most questions of a tree are about local features, and their answers are the same under every
history. So they are asked once for a document, all its candidates side by side in one long row
of lanes, and a search only asks the few questions about global features, for all its
hypotheses side by side:

    masks     tree 0, plane 0   | mention 0 ........ | mention 1 .... | mention 2 ........ |
              tree 0, plane 1   |                    |                |                    |
              ...
    answers           plane 0   | hypothesis 0 .... | hypothesis 1 .... | -- |   of one mention

The answers of a hypothesis begin as the masks of the mention, and questions about global features
rule out more. No lane is left free between mentions or hypotheses; a row ends with as many as make
whole vectors, and what stands there means nothing. Trees without a question about global features
are summed up at once. Sums of leaf values are exact in any order, so the scores keep their bits.
"""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import inner, int64, routine
from sgtb.learn.dtypes import Bytes, Doubles, Ints, Longs
from sgtb.learn.forest import (
    MASKED_DEPTH,
    ForestArrays,
    first_leaf,
    first_leaf_of_four,
    first_leaf_of_two,
)

_VECTOR = 32
"""Lanes of a vector register, or a multiple; loops over whole vectors have no ragged end."""


class LocalAnswers(NamedTuple):
    """One thread's workspace: N lanes of a document, H lanes of a mention under all hypotheses.

    n_trees  how many trees there are; 0: nothing is answered ahead
    asking   i4[A]     the trees that ask about global features
    bins     u1[L, N]  local features, feature by feature
    masks    u1[., N]  leaves not ruled out, `planes` rows a tree; the last rows are scratch
    score    f8[N]     the sum of all trees that ask nothing else
    globals_ u1[G, H]  global features, feature by feature
    answers  u1[.]     leaves not ruled out under a history, H lanes of each plane in a row
    leaves   u1[.]     scratch
    sums     f8[H]
    """

    n_trees: int
    asking: Ints
    bins: Bytes
    masks: Bytes
    score: Doubles
    globals_: Bytes
    answers: Bytes
    leaves: Bytes
    sums: Doubles


def local_answers(
    forest: ForestArrays, n_trees: int, n_global: int, n_candidates: int, widest: int, n_rows: int
) -> LocalAnswers:
    """Make room for documents of so many candidates, mentions of `widest`, so many hypotheses.

    Trees too deep for masks are not answered ahead.
    """
    if forest.depth > MASKED_DEPTH:
        return no_answers()
    asking = np.flatnonzero(forest.global_questions[:n_trees]).astype(np.int32)
    n, h = _whole(n_candidates), _whole(n_rows * widest)
    return LocalAnswers(
        n_trees, asking, np.zeros((forest.n_local, n), np.uint8),
        np.zeros(((len(asking) + 1) * forest.planes, n), np.uint8), np.zeros(n),
        np.zeros((n_global, h), np.uint8), np.zeros(forest.planes * h, np.uint8),
        np.zeros(max(n, h), np.uint8), np.zeros(h),
    )  # fmt: skip


def _whole(lanes: int) -> int:
    return -(-lanes // _VECTOR) * _VECTOR


def no_answers() -> LocalAnswers:
    """Return what stands for answers where none are given ahead: in training."""
    none = np.zeros((0, 0), np.uint8)
    return LocalAnswers(
        0, np.zeros(0, np.int32), none, none, np.zeros(0), none, np.zeros(0, np.uint8),
        np.zeros(0, np.uint8), np.zeros(0),
    )  # fmt: skip


@routine
def answer_locals(
    forest: ForestArrays, a: LocalAnswers, candidate_offsets: Ints, mention_blocks: Longs,
    local: Bytes, first: int, last: int,
) -> None:  # fmt: skip
    """Ask all questions about the local features of the mentions first to last - 1."""
    _line_up(forest.n_local, a, candidate_offsets, mention_blocks, local, first, last)
    n = _whole_vectors(candidate_offsets[last] - candidate_offsets[first])
    planes, spare = forest.planes, a.asking.shape[0] * forest.planes
    for j in range(n):
        a.score[j] = 0.0
    row = int64(0)
    for t in range(a.n_trees):
        asks = forest.global_questions[t] > 0
        line = row if asks else spare
        for p in range(planes):
            for j in range(n):
                a.masks[line + p, j] = 255
        start = t * forest.words
        for q in range(start, start + forest.local_questions[t]):
            _ask(forest.questions[q], a.bins, n, a.masks, line)
        if asks:
            row += planes
        else:
            _find(planes, a.masks, line, n, a.leaves)
            for j in range(n):
                a.score[j] += forest.leaf_value[t, a.leaves[j]]


@inner
def _whole_vectors(lanes: int) -> int:
    return (lanes + (_VECTOR - 1)) // _VECTOR * _VECTOR


@inner
def _line_up(
    n_local: int, a: LocalAnswers, candidate_offsets: Ints, mention_blocks: Longs, local: Bytes,
    first: int, last: int,
) -> None:  # fmt: skip
    """Lay the local bins of all mentions side by side."""
    for m in range(first, last):
        n_blocks = mention_blocks[m + 1] - mention_blocks[m]
        start, lane = mention_blocks[m] * n_local, candidate_offsets[m] - candidate_offsets[first]
        n = candidate_offsets[m + 1] - candidate_offsets[m]
        for f in range(n_local):
            for c in range(n):
                a.bins[f, lane + c] = local[start + f * n_blocks + (c >> 4), c & 15]


@routine
def add_answered(
    forest: ForestArrays, a: LocalAnswers, lane: int, n: int, n_blocks: int, rows: Longs,
    n_rows: int, globals_: Bytes, n_global: int, scores: Doubles,
) -> None:  # fmt: skip
    """Add all trees to the scores of the n candidates whose lanes begin at `lane`.

    Under history k their global bins begin at block rows[k] * n_global and their scores at block
    rows[k].
    """
    for k in range(n_rows):
        for g in range(n_global):
            for c in range(n):
                own = globals_[rows[k] * n_global + g * n_blocks + (c >> 4), c & 15]
                a.globals_[g, k * n + c] = own
    total = _whole_vectors(n_rows * n)
    for j in range(total):
        a.sums[j] = 0.0
    planes = forest.planes
    for index in range(a.asking.shape[0]):
        t = int64(a.asking[index])
        for p in range(planes):
            _repeat(a, index * planes + p, lane, n, n_rows, p * total)
        start = t * forest.words + forest.local_questions[t]
        for q in range(start, start + forest.global_questions[t]):
            _ask_history(forest.questions[q], a, total)
        _find_answered(planes, a, total)
        for j in range(n_rows * n):
            a.sums[j] += forest.leaf_value[t, a.leaves[j]]
    for k in range(n_rows):
        for c in range(n):
            scores[rows[k] + (c >> 4), c & 15] += a.sums[k * n + c] + a.score[lane + c]


@inner
def _repeat(a: LocalAnswers, line: int, lane: int, n: int, n_rows: int, at: int) -> None:
    """Begin the answers of one plane with the masks of the mention, under every history."""
    row, own, size, out = np.uint64(line), np.uint64(lane), np.uint64(n), np.uint64(at)
    for k in range(np.uint64(n_rows)):
        begin = out + k * size
        for j in range(size):
            a.answers[begin + j] = a.masks[row, own + j]


@inner
def _ask(question: int, bins: Bytes, n: int, masks: Bytes, line: int) -> None:
    """Rule out leaves of n candidates; a question is laid out as in ForestArrays."""
    feature = (question >> 8) & 0xFFFFFF
    border = np.uint8(question & 255)
    left_ruled_out = np.uint8((question >> 32) & 255)
    row = line + (question >> 40)
    for j in range(n):
        answer = np.uint8(255) if bins[feature, j] <= border else left_ruled_out
        masks[row, j] = masks[row, j] & answer


@inner
def _ask_history(question: int, a: LocalAnswers, n: int) -> None:
    """Do the same for global features, whose answers stand plane after plane."""
    feature = (question >> 8) & 0xFFFFFF
    border = np.uint8(question & 255)
    left_ruled_out = np.uint8((question >> 32) & 255)
    # Without a sign: a sum of signed numbers might be a negative index, which costs a test.
    first, row = np.uint64((question >> 40) * n), np.uint64(feature)
    for j in range(np.uint64(n)):
        answer = np.uint8(255) if a.globals_[row, j] <= border else left_ruled_out
        a.answers[first + j] = a.answers[first + j] & answer


@inner
def _find(planes: int, masks: Bytes, line: int, n: int, leaves: Bytes) -> None:
    if planes == 1:
        for j in range(n):
            leaves[j] = first_leaf(masks[line, j])
    elif planes == 2:
        for j in range(n):
            leaves[j] = first_leaf_of_two(masks[line, j], masks[line + 1, j])
    else:
        for j in range(n):
            leaves[j] = first_leaf_of_four(
                masks[line, j], masks[line + 1, j], masks[line + 2, j], masks[line + 3, j]
            )


@inner
def _find_answered(planes: int, a: LocalAnswers, n: int) -> None:
    """Write the first leaves that are left, where the planes stand one after the other."""
    size = np.uint64(n)
    two, three = np.uint64(2 * n), np.uint64(3 * n)
    if planes == 1:
        for j in range(size):
            a.leaves[j] = first_leaf(a.answers[j])
    elif planes == 2:
        for j in range(size):
            a.leaves[j] = first_leaf_of_two(a.answers[j], a.answers[size + j])
    else:
        for j in range(size):
            a.leaves[j] = first_leaf_of_four(
                a.answers[j], a.answers[size + j], a.answers[two + j], a.answers[three + j]
            )
