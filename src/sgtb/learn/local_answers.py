"""Local answers: what trees make of a document's candidates before any history is known.

Most questions of a tree are about local features, and their answers are the same under every
history. So they are asked once for a document, all its candidates side by side in one long row
of lanes, and a search only asks the few questions about global features, for all its
hypotheses side by side:

    masks     tree 0, plane 0   | mention 0 ........ | mention 1 .... | mention 2 ........ |
              tree 0, plane 1   |                    |                |                    |
              ...
    answers           plane 0   | hypothesis 0 .... | hypothesis 1 .... |   of one mention

A leaf is the first that neither rules out. Trees without a question about global features are
summed up at once. Sums of leaf values are exact in any order, so the scores keep their bits.
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
from sgtb.learn.lanes import LANES


class LocalAnswers(NamedTuple):
    """One thread's workspace: N lanes of a document, H lanes of a mention under all hypotheses.

    n_trees  how many trees there are; 0: nothing is answered ahead
    asking   i4[A]     the trees that ask about global features
    bins     u1[L, N]  local features, feature by feature
    masks    u1[., N]  leaves not ruled out, `planes` rows a tree; the last rows are scratch
    score    f8[N]     the sum of all trees that ask nothing else
    globals_ u1[G, H]  global features, feature by feature
    answers  u1[.]     leaves not ruled out by global features, H lanes of each plane in a row
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
    forest: ForestArrays, n_trees: int, n_global: int, n_blocks: int, widest: int, n_rows: int
) -> LocalAnswers:
    """Make room for documents of so many lane blocks, mentions of `widest`, so many hypotheses.

    Trees too deep for masks are not answered ahead.
    """
    if forest.depth > MASKED_DEPTH:
        return no_answers()
    asking = np.flatnonzero(forest.global_questions[:n_trees]).astype(np.int32)
    n, h = n_blocks * LANES, n_rows * widest * LANES
    return LocalAnswers(
        n_trees, asking, np.zeros((forest.n_local, n), np.uint8),
        np.zeros(((len(asking) + 1) * forest.planes, n), np.uint8), np.zeros(n),
        np.zeros((n_global, h), np.uint8), np.zeros(forest.planes * h, np.uint8),
        np.zeros(max(n, h), np.uint8), np.zeros(h),
    )  # fmt: skip


def no_answers() -> LocalAnswers:
    """Return what stands for answers where none are given ahead: in training."""
    none = np.zeros((0, 0), np.uint8)
    return LocalAnswers(
        0, np.zeros(0, np.int32), none, none, np.zeros(0), none, np.zeros(0, np.uint8),
        np.zeros(0, np.uint8), np.zeros(0),
    )  # fmt: skip


@routine
def answer_locals(
    forest: ForestArrays, a: LocalAnswers, mention_blocks: Longs, local: Bytes, first: int,
    last: int,
) -> None:  # fmt: skip
    """Ask all questions about the local features of the mentions first to last - 1."""
    n = _line_up(forest.n_local, a, mention_blocks, local, first, last)
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
def _line_up(
    n_local: int, a: LocalAnswers, mention_blocks: Longs, local: Bytes, first: int, last: int
) -> int:
    """Lay the local bins of all mentions side by side; return how many lanes they take."""
    begin = mention_blocks[first]
    for m in range(first, last):
        n_blocks = mention_blocks[m + 1] - mention_blocks[m]
        start, lane = mention_blocks[m] * n_local, (mention_blocks[m] - begin) * LANES
        for f in range(n_local):
            for b in range(n_blocks):
                for i in range(LANES):
                    a.bins[f, lane + b * LANES + i] = local[start + f * n_blocks + b, i]
    return int64((mention_blocks[last] - begin) * LANES)


@routine
def add_answered(
    forest: ForestArrays, a: LocalAnswers, lane: int, n_blocks: int, rows: Longs, n_rows: int,
    globals_: Bytes, n_global: int, scores: Doubles,
) -> None:  # fmt: skip
    """Add all trees to the scores of the mention whose lanes begin at `lane`.

    Under history k its global bins begin at block rows[k] * n_global and its scores at block
    rows[k].
    """
    width = n_blocks * LANES
    total = n_rows * width
    for k in range(n_rows):
        for g in range(n_global):
            for b in range(n_blocks):
                for i in range(LANES):
                    own = globals_[rows[k] * n_global + g * n_blocks + b, i]
                    a.globals_[g, k * width + b * LANES + i] = own
    for j in range(total):
        a.sums[j] = 0.0
    planes = forest.planes
    for index in range(a.asking.shape[0]):
        t = int64(a.asking[index])
        for j in range(planes * total):
            a.answers[j] = 255
        start = t * forest.words + forest.local_questions[t]
        for q in range(start, start + forest.global_questions[t]):
            _ask_history(forest.questions[q], a, total)
        for k in range(n_rows):
            _find_both(planes, a, index * planes, lane, k * width, width, total)
        for j in range(total):
            a.sums[j] += forest.leaf_value[t, a.leaves[j]]
    for k in range(n_rows):
        for b in range(n_blocks):
            for i in range(LANES):
                j = b * LANES + i
                scores[rows[k] + b, i] += a.sums[k * width + j] + a.score[lane + j]


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
def _find_both(
    planes: int, a: LocalAnswers, line: int, lane: int, at: int, n: int, total: int
) -> None:
    """Write the first leaves that neither local nor global answers rule out."""
    own, out, size = np.uint64(lane), np.uint64(at), np.uint64(n)
    p0, p1, p2, p3 = (
        np.uint64(line), np.uint64(line + 1), np.uint64(line + 2), np.uint64(line + 3)
    )  # fmt: skip
    h1, h2, h3 = np.uint64(total + at), np.uint64(2 * total + at), np.uint64(3 * total + at)
    if planes == 1:
        for j in range(size):
            a.leaves[out + j] = first_leaf(_both(a.masks[p0, own + j], a.answers[out + j]))
    elif planes == 2:
        for j in range(size):
            a.leaves[out + j] = first_leaf_of_two(
                _both(a.masks[p0, own + j], a.answers[out + j]),
                _both(a.masks[p1, own + j], a.answers[h1 + j]),
            )
    else:
        for j in range(size):
            a.leaves[out + j] = first_leaf_of_four(
                _both(a.masks[p0, own + j], a.answers[out + j]),
                _both(a.masks[p1, own + j], a.answers[h1 + j]),
                _both(a.masks[p2, own + j], a.answers[h2 + j]),
                _both(a.masks[p3, own + j], a.answers[h3 + j]),
            )


@inner
def _both(mask: np.uint8, answer: np.uint8) -> np.uint8:
    return np.uint8(mask & answer)
