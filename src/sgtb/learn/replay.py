"""The replay: the best sequence of a document decided once more, and what else it might have been.

A decoding keeps the choices of its best sequence y, not the scores that led to them. A replay
goes through the decisions in their order again, with y_1:t-1 as the only history, and answers
two questions at every step t:

    weigh_candidates   F(x_t, c, y_1:t-1) of all candidates c of the step's mention
    reconsider         by how much F(x_t, y_t, y_1:t-1) changes with a rival in the history

Pooling adds the same numbers in the same order as the search does, so the factors have the
search's bits, and sums of leaf values are exact: nothing here is an approximation.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.errors import ProblemsError
from sgtb.kernels import ONE, ZERO, inner, int64, routine
from sgtb.learn.asking import AskingTrees
from sgtb.learn.beam import SearchArrays
from sgtb.learn.crew import Crew
from sgtb.learn.decoder import Decoding, search_arrays
from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.learn.forest import MASKED_DEPTH, ForestArrays, add_trees, masks
from sgtb.learn.lanes import LANES
from sgtb.learn.local_answers import (
    LocalAnswers,
    ask_lanes,
    line_up,
    local_answers,
    room_for,
)
from sgtb.learn.plan import SearchPlan
from sgtb.learn.pooling import Pool, bin_pool, pool, pool_candidates
from sgtb.learn.problems import Problems
from sgtb.learn.rivals import Lineup, Rivals, find_leaf, join, lineup, rivals
from sgtb.learn.routes import routes


class Replay(NamedTuple):
    """One thread's workspace: T steps, F features.

    pool, rows, bins, allowed  scratch of `weigh_candidates`
    score       f8[., 16]  its answer: F of the candidates of the step's mention, in lanes
    candidates  u1[., F]   and their rows, on bins
    chosen                 the entities decided on, first decision first
    rivals                 what else might have been decided
    answers                what trees make of the choices before any history is known, step by step
    """

    pool: Pool
    rows: Longs
    bins: Bytes
    allowed: Bytes
    score: Doubles
    candidates: Bytes
    chosen: Lineup
    rivals: Rivals
    answers: LocalAnswers


class Script(NamedTuple):
    """What is replayed: the search's view of the documents, and their best sequences.

    choices    i4[M]
    direction  i1[D]
    n_trees
    """

    search: SearchArrays
    choices: Ints
    direction: npt.NDArray[np.int8]
    n_trees: int


def script(
    problems: Problems, local: Bytes, global_thresholds: Floats, forest: ForestArrays,
    n_trees: int, plan: SearchPlan, decoding: Decoding, clamp: Ints | None,
) -> Script:  # fmt: skip
    """Bundle what a replay reads, after a look at whether it fits together."""
    fixed = np.full(problems.n_mentions, -1, np.int32) if clamp is None else clamp
    _check(problems, plan, decoding, fixed)
    visits = routes(problems, problems.sizes > 0, fixed)
    s = search_arrays(problems, local, global_thresholds, forest, plan, visits, fixed, 1)
    return Script(s, decoding.choices, decoding.direction, n_trees)


def replay_all(
    play: Script, crew: Crew, n_rivals: Longs, asking: AskingTrees | None,
    run: Callable[[Ints, Replay], None],
) -> None:  # fmt: skip
    """Have `run` replay all documents, in shares; n_rivals i8[D] is how many each may have.

    asking  what `asking_trees` gives for the trees; without, rivals take longer to reconsider
    """
    s = play.search
    steps = np.diff(s.step_offsets).astype(np.int64)
    candidates = np.diff(s.candidate_offsets[s.mention_offsets])
    widest = int(np.diff(s.candidate_offsets).max(initial=0))

    def work(documents: Ints) -> None:
        most = int(steps[documents].max()), widest, int(n_rivals[documents].max())
        run(documents, _replay(s, *most, play.n_trees, asking))

    if len(steps):
        shares = crew.shares(candidates * (steps + 16))
        crew.run([lambda share=share: work(share) for share in shares])  # type: ignore[misc]


@routine
def answer_choices(play: Script, r: Replay, documents: Ints, begin: int) -> int:
    """Ask the choices of documents[begin:] what histories have no say in.

    Those of as many as there is room for; return where the others begin.
    """
    s = play.search
    lane, i = ZERO, begin
    while r.answers.n_trees > 0 and i < documents.shape[0]:
        d = int64(documents[i])
        first, last = s.step_offsets[d], s.step_offsets[d + 1]
        if not room_for(r.answers, lane, last - first):
            break
        r.answers.lane[d] = lane
        for step in range(first, last):
            mention = int64(s.mention[int64(play.direction[d]), step])
            n_blocks = s.mention_blocks[mention + 1] - s.mention_blocks[mention]
            start, choice = s.mention_blocks[mention] * s.n_local, int64(play.choices[mention])
            line_up(r.answers, lane, s.local, start, n_blocks, choice, choice + 1)
            lane += 1
        i += 1
    ask_lanes(s.forest, r.answers, lane)
    return i


@routine
def weigh_candidates(play: Script, r: Replay, d: int, step: int, mention: int) -> None:
    """Write F of all candidates of a mention, given the decisions before this step."""
    s = play.search
    first = int64(s.candidate_offsets[mention])
    n = s.candidate_offsets[mention + 1] - first
    n_blocks = (n + 15) >> 4
    n_pair = s.pairs.n_features
    if n_pair > 0:
        pool_candidates(s.pairs, d, s.entity, first, n, r.pool, ONE, step)
        bin_pool(r.pool, ONE, step, n, n_pair, s.global_thresholds, r.rows, r.bins)
    _copy_rows(s, r, mention, n, n_blocks)
    for b in range(n_blocks):
        for i in range(LANES):
            r.score[b, i] = 0.0
    if s.forest.depth > MASKED_DEPTH:
        _walk_rows(s.forest, play.n_trees, r.candidates, n, r.score)
    else:
        add_trees(
            s.forest, ZERO, play.n_trees, s.local, s.mention_blocks[mention] * s.n_local, n_blocks,
            r.rows, ONE, r.bins, 2 * n_pair, r.allowed, r.score,
        )  # fmt: skip


@inner
def _copy_rows(s: SearchArrays, r: Replay, mention: int, n: int, n_blocks: int) -> None:
    """Write the bins of all candidates candidate by candidate: local ones, means, maxima."""
    start = s.mention_blocks[mention] * s.n_local
    for c in range(n):
        for f in range(s.n_local):
            r.candidates[c, f] = s.local[start + f * n_blocks + (c >> 4), c & 15]
        for g in range(2 * s.pairs.n_features):
            r.candidates[c, s.n_local + g] = r.bins[g * n_blocks + (c >> 4), c & 15]


@inner
def _walk_rows(forest: ForestArrays, n_trees: int, rows: Bytes, n: int, scores: Doubles) -> None:
    """Add all trees; with one history, rows are walked faster than lanes."""
    for t in range(n_trees):
        root = int64(forest.roots[t])
        for c in range(n):
            leaf = find_leaf(forest, root, forest.depth, rows, c)
            scores[c >> 4, c & 15] += forest.value[leaf]


@inner
def settle(play: Script, r: Replay, d: int, step: int, entity: int) -> None:
    """Make the step's choice a part of the history."""
    r.pool.histories[0, step] = entity
    join(play.search.pairs, d, entity, step, r.chosen)


def _replay(
    s: SearchArrays, n_steps: int, widest: int, n_rivals: int, n_trees: int,
    asking: AskingTrees | None,
) -> Replay:  # fmt: skip
    n_blocks = -(-widest // LANES)
    n_pair = s.pairs.n_features
    return Replay(
        pool(1, n_steps, widest, s.pairs), np.zeros(1, np.int64),
        np.zeros((max(n_blocks * 2 * n_pair, 1), LANES), np.uint8),
        masks(n_blocks), np.zeros((n_blocks, LANES)),
        np.zeros((widest, s.n_local + 2 * n_pair), np.uint8), lineup(n_steps, s.pairs),
        rivals(n_rivals, n_steps, s.n_local, s.pairs),
        local_answers(s.forest, n_trees, asking, len(s.step_offsets) - 1, n_steps),
    )  # fmt: skip


def _check(problems: Problems, plan: SearchPlan, decoding: Decoding, clamp: Ints) -> None:
    """Raise unless the decoding is one of these documents; kernels will not look twice."""
    if not np.array_equal(decoding.mention_offsets, problems.mention_offsets):
        raise ProblemsError("the decoding is of other documents; decode these ones first")
    sizes, choices = problems.sizes, decoding.choices
    for wrong, complaint in (
        ((choices >= sizes) | ((choices < 0) & (sizes > 0)), "the mention has {} candidates"),
        ((clamp >= 0) & (choices != clamp), "it is clamped to {1}"),
    ):
        if wrong.any():
            m = int(np.argmax(wrong))
            raise ProblemsError(
                f"{problems.where(m)}: the decoding has choice {choices[m]}, but "
                f"{complaint.format(sizes[m], clamp[m])}; decode with the same documents and clamp"
            )
    if decoding.direction.any() and not plan.bidirectional:
        raise ProblemsError(
            f"the decoding went backward, which plan {plan.name} never does; "
            "decode with the same model"
        )
