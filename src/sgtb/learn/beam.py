"""Beam search over one document: the one search behind every plan.

A pass visits the mentions of a document in some order. Level i of the beam holds the
hypotheses with i decisions; a hypothesis is a choice and a link to its parent one level up:

    level 0        1              2
    (empty) ──┬── y1 = 3 ──┬── y2 = 0
              │            └── y2 = 4
              └── y1 = 1 ───── y2 = 0

Hypotheses are ranked by S, plus what the opposite direction knows of the candidate where it
has been there; ties go to the lower entity number, then to the better parent.
"""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import ONE, ZERO, inner, int64, routine
from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.learn.forest import ForestArrays, add_trees, masks
from sgtb.learn.lanes import LANES
from sgtb.learn.local_answers import LocalAnswers, add_answered, no_answers
from sgtb.learn.pairs import PairArrays
from sgtb.learn.pooling import Pool, bin_pool, pool, pool_candidates
from sgtb.learn.prefixes import ROOT, PrefixCache, find_slot, take_slot

FORWARD, BACKWARD = ZERO, ONE


class SearchArrays(NamedTuple):
    """What a search reads: problems on bins, the order of visits, the forest.

    step_offsets  i4[D+1]     the steps of each document; a step visits one mention
    mention       i4[2, S]    the mention of each step, forward and backward
    step_blocks   i8[2, S+1]  lane blocks of all steps before
    mention_blocks  i8[M+1]   where the lane blocks of each mention begin
    clamp         i4[M]       the choice fixed by the caller, or -1
    """

    mention_offsets: Ints
    candidate_offsets: Ints
    gold: Ints
    entity: Ints
    mention_blocks: Longs
    n_local: int
    local: Bytes
    pairs: PairArrays
    global_thresholds: Floats
    step_offsets: Ints
    mention: Ints
    step_blocks: Longs
    clamp: Ints
    forest: ForestArrays
    beam_width: int


class Beam(NamedTuple):
    """One thread's workspace: the hypotheses of all levels, and scratch.

    width   i4[T+1]     hypotheses at each level
    gold    i4[T+1]     which of them is the gold prefix, or -1
    parent, choice, prefix, slot  i4[T+1, W]
    score   f8[T+1, W]  S
    """

    width: Ints
    gold: Ints
    parent: Ints
    choice: Ints
    prefix: Ints
    slot: Ints
    score: Doubles
    key: Doubles
    rows: Longs
    outside: Doubles
    probability: Doubles
    allowed: Bytes
    pool: Pool
    answers: LocalAnswers


class Step(NamedTuple):
    """One visit: the mention, its candidates, and where the cache has its table.

    first, n      the mention's candidates
    n_blocks      lane blocks they take
    table, block  the first slot of the step's table, and the first lane block of that slot
    place         where the document's `outside` numbers have the first candidate
    """

    level: int
    mention: int
    first: int
    n: int
    n_blocks: int
    table: int
    block: int
    place: int


def beam(
    beam_width: int, n_steps: int, n_candidates: int, n_outside: int, pairs: PairArrays
) -> Beam:
    """Make room for documents of up to so many steps, and mentions of so many candidates.

    n_outside: the candidates of the largest document, for bidirectional search, else 0.
    """
    most = beam_width + 1  # the gold path comes on top
    width, gold = np.zeros(n_steps + 1, np.int32), np.zeros(n_steps + 1, np.int32)
    parent, choice, prefix, slot = (np.zeros((n_steps + 1, most), np.int32) for _ in range(4))
    return Beam(
        width, gold, parent, choice, prefix, slot, np.zeros((n_steps + 1, most)), np.zeros(most),
        np.zeros(most, np.int64), np.zeros((2, n_outside)), np.zeros(most),
        masks(-(-n_candidates // LANES)),
        pool(most, n_steps, n_candidates, pairs), no_answers(),
    )  # fmt: skip


@inner
def start_pass(b: Beam) -> None:
    """Begin with the empty hypothesis, which is a gold prefix."""
    b.width[0] = 1
    b.gold[0] = 0
    b.parent[0, 0] = -1
    b.choice[0, 0] = -1
    b.score[0, 0] = 0.0


@routine
def run_pass(
    s: SearchArrays,
    cache: PrefixCache,
    b: Beam,
    document: int,
    first_table: int,
    first_block: int,
    direction: int,
    begin: int,
    n_trees: int,
    guided: bool,
    keep_gold: bool,
    stop_when_lost: bool,
) -> int:
    """Decide on the mentions of a document from level `begin` on; return the level reached.

    first_table and first_block say where the document's part of the cache begins. With
    `keep_gold` a gold prefix that did not make it is brought back as the last hypothesis; with
    `stop_when_lost` that is also where the pass ends.
    """
    cache.clock[document] += 1
    n_steps = s.step_offsets[document + 1] - s.step_offsets[document]
    for level in range(begin, n_steps):
        lost = _advance(
            s, cache, b, document, first_table, first_block, direction, level, n_trees, guided,
            keep_gold,
        )  # fmt: skip
        if lost and stop_when_lost:
            return level + 1
    return int64(n_steps)


@inner
def _advance(
    s: SearchArrays,
    cache: PrefixCache,
    b: Beam,
    document: int,
    first_table: int,
    first_block: int,
    direction: int,
    level: int,
    n_trees: int,
    guided: bool,
    keep_gold: bool,
) -> bool:
    """Decide on one mention: score all candidates after every hypothesis, keep the best.

    Return whether the gold prefix had to be brought back.
    """
    at = step_of(s, cache, document, first_table, first_block, direction, level)
    _locate(s, cache, b, document, direction, at)
    _catch_up(s, cache, b, document, at, n_trees)
    if b.outside.shape[1] > 0:
        _look_back(cache, b, direction, at)
    _select(s, cache, b, direction, at, guided)
    return keep_gold and _keep_gold(cache, b, at, s.gold[at.mention])


@inner
def step_of(
    s: SearchArrays, cache: PrefixCache, document: int, first_table: int, first_block: int,
    direction: int, level: int,
) -> Step:  # fmt: skip
    """Return the visit that a direction of search makes at a level."""
    step = s.step_offsets[document] + level
    mention = s.mention[direction, step]
    first = s.candidate_offsets[mention]
    n = s.candidate_offsets[mention + 1] - first
    before = s.step_blocks[direction, step] - s.step_blocks[direction, s.step_offsets[document]]
    return Step(
        level,
        mention,
        first,
        n,
        (n + 15) >> 4,
        (direction * cache.n_tables + first_table + level) * cache.n_slots,
        (direction * cache.n_blocks + first_block + before) * cache.n_slots,
        first - s.candidate_offsets[s.mention_offsets[document]],
    )


@inner
def row_of(at: Step, slot: int) -> int:
    """Return the first lane block of a slot."""
    return at.block + (slot - at.table) * at.n_blocks


@inner
def _locate(
    s: SearchArrays, cache: PrefixCache, b: Beam, document: int, direction: int, at: Step
) -> None:
    """Find the slot of every hypothesis, and pool global features for those not known."""
    level = at.level
    n_new = ZERO
    for h in range(b.width[level]):
        parent = ROOT if level == 0 else b.prefix[level - 1, b.parent[level, h]]
        choice = b.choice[level, h]
        slot = find_slot(cache, at.table, parent, choice)
        b.slot[level, h] = slot
        if slot >= 0:
            cache.used[slot] = cache.clock[document]
            b.prefix[level, h] = cache.prefix[slot]
    for h in range(b.width[level]):
        if b.slot[level, h] >= 0:
            continue
        parent = ROOT if level == 0 else b.prefix[level - 1, b.parent[level, h]]
        cache.counter[document] += 1
        slot = take_slot(cache, at.table, parent, b.choice[level, h], cache.counter[document])
        cache.used[slot] = cache.clock[document]
        b.slot[level, h] = slot
        b.prefix[level, h] = cache.prefix[slot]
        row = row_of(at, slot)
        for k in range(at.n_blocks):
            for i in range(LANES):
                cache.score[row + k, i] = 0.0
        _history(s, b, document, direction, level, h, b.pool.histories, n_new)
        b.rows[n_new] = row
        n_new += 1
    if n_new > 0 and s.pairs.n_features > 0:
        pool_candidates(s.pairs, document, s.entity, at.first, at.n, b.pool, n_new, level)
        bin_pool(
            b.pool, n_new, level, at.n, s.pairs.n_features, s.global_thresholds, b.rows, cache.bins
        )


@inner
def _history(
    s: SearchArrays, b: Beam, document: int, direction: int, level: int, h: int, out: Ints,
    line: int,
) -> None:  # fmt: skip
    """Write the entities that hypothesis `h` has decided on, first decision first."""
    for i in range(level, 0, -1):
        mention = s.mention[direction, s.step_offsets[document] + i - 1]
        out[line, i - 1] = s.entity[s.candidate_offsets[mention] + b.choice[i, h]]
        h = b.parent[i, h]


@inner
def _catch_up(
    s: SearchArrays, cache: PrefixCache, b: Beam, document: int, at: Step, n_trees: int
) -> None:
    """Add the trees that the slots' scores lack, slots that lack the same ones together."""
    level = at.level
    for h in range(b.width[level]):
        held = int64(cache.trees[b.slot[level, h]])
        if held == n_trees:
            continue
        n_rows = ZERO
        for other in range(h, b.width[level]):
            slot = b.slot[level, other]
            if cache.trees[slot] == held:
                cache.trees[slot] = n_trees
                b.rows[n_rows] = row_of(at, slot)
                n_rows += 1
        if b.answers.n_trees > 0:  # so no tree is held
            add_answered(
                b.answers, b.answers.lane[document] + at.place, int64(at.n), at.n_blocks, b.rows,
                n_rows, cache.bins, cache.n_global, cache.score,
            )  # fmt: skip
            continue
        add_trees(
            s.forest, held, n_trees, s.local, s.mention_blocks[at.mention] * s.n_local, at.n_blocks,
            b.rows, n_rows, cache.bins, cache.n_global, b.allowed, cache.score,
        )  # fmt: skip


@inner
def _look_back(cache: PrefixCache, b: Beam, direction: int, at: Step) -> None:
    """Leave, for the opposite direction, each candidate's best score from this one."""
    for c in range(at.n):
        best = -np.inf
        for h in range(b.width[at.level]):
            score = cache.score[row_of(at, b.slot[at.level, h]) + (c >> 4), c & 15]
            best = max(best, b.score[at.level, h] + score)
        b.outside[direction, at.place + c] = best


@inner
def _select(
    s: SearchArrays, cache: PrefixCache, b: Beam, direction: int, at: Step, guided: bool
) -> None:
    """Keep the best extensions, sorted; the next level is the list being sorted into."""
    below = at.level + 1
    clamped = s.clamp[at.mention]
    kept = 0
    for h in range(b.width[at.level]):
        row = row_of(at, b.slot[at.level, h])
        for c in range(at.n):
            if clamped >= 0 and c != clamped:
                continue
            score = b.score[at.level, h] + cache.score[row + (c >> 4), c & 15]
            key = score
            if guided:
                key += b.outside[1 - direction, at.place + c]
            if kept == s.beam_width and key < b.key[kept - 1]:
                continue
            i = kept
            while i > 0 and (
                key > b.key[i - 1]
                or (
                    key == b.key[i - 1]
                    and s.entity[at.first + c] < s.entity[at.first + b.choice[below, i - 1]]
                )
            ):
                i -= 1
            if i == s.beam_width:
                continue
            kept = min(kept + 1, s.beam_width)
            for j in range(kept - 1, i, -1):
                b.key[j] = b.key[j - 1]
                b.parent[below, j] = b.parent[below, j - 1]
                b.choice[below, j] = b.choice[below, j - 1]
                b.score[below, j] = b.score[below, j - 1]
            b.key[i] = key
            b.parent[below, i] = h
            b.choice[below, i] = c
            b.score[below, i] = score
    b.width[below] = kept


@inner
def _keep_gold(cache: PrefixCache, b: Beam, at: Step, gold: int) -> bool:
    """Note where the gold prefix stands in the new level, last if it has to be brought back."""
    below = at.level + 1
    parent = b.gold[at.level]
    for h in range(b.width[below]):
        if b.parent[below, h] == parent and b.choice[below, h] == gold:
            b.gold[below] = h
            return False
    h = b.width[below]
    score = cache.score[row_of(at, b.slot[at.level, parent]) + (gold >> 4), gold & 15]
    b.parent[below, h] = parent
    b.choice[below, h] = gold
    b.score[below, h] = b.score[at.level, parent] + score
    b.gold[below] = h
    b.width[below] = h + 1
    return True


@inner
def restart_from_gold(b: Beam, level: int) -> None:
    """Leave the gold prefix as the only hypothesis of a level."""
    h = b.gold[level]
    b.parent[level, 0] = b.parent[level, h]
    b.choice[level, 0] = b.choice[level, h]
    b.score[level, 0] = b.score[level, h]
    b.gold[level] = 0
    b.width[level] = 1


@inner
def softmax(score: Doubles, line: int, n: int, out: Doubles) -> None:
    """Write the probabilities of the first `n` scores of a line."""
    top = score[line, 0]
    for i in range(1, n):
        top = max(top, score[line, i])
    total = 0.0
    for i in range(n):
        out[i] = np.exp(score[line, i] - top)
        total += out[i]
    for i in range(n):
        out[i] /= total


@inner
def best_hypothesis(b: Beam, level: int) -> int:
    """Return the hypothesis with the highest S of a level, the better ranked of equals."""
    best = 0
    for h in range(1, b.width[level]):
        if b.score[level, h] > b.score[level, best]:
            best = h
    return best
