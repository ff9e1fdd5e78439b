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

from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.learn.forest import ForestArrays, add_trees
from sgtb.learn.kernels import ONE, ZERO, inner, routine
from sgtb.learn.lanes import LANES
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

    count   i4[T+1]     hypotheses at each level
    gold    i4[T+1]     which of them is the gold prefix, or -1
    parent, choice, prefix, slot  i4[T+1, W]
    score   f8[T+1, W]  S
    """

    count: Ints
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


def beam(
    beam_width: int, n_steps: int, n_candidates: int, n_outside: int, pairs: PairArrays
) -> Beam:
    """Make room for documents of up to so many steps, and mentions of so many candidates.

    n_outside: the candidates of the largest document, for bidirectional search, else 0.
    """
    width = beam_width + 1  # the gold path comes on top
    return Beam(
        np.zeros(n_steps + 1, np.int32), np.zeros(n_steps + 1, np.int32),
        *(np.zeros((n_steps + 1, width), np.int32) for _ in range(4)),
        np.zeros((n_steps + 1, width)), np.zeros(width), np.zeros(width, np.int64),
        np.zeros((2, n_outside)), np.zeros(width),
        np.zeros((2, -(-n_candidates // LANES), LANES), np.uint8), pool(width, n_steps, n_candidates, pairs),
    )  # fmt: skip


@inner
def start_pass(b: Beam) -> None:
    """Begin with the empty hypothesis, which is a gold prefix."""
    b.count[0] = 1
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
            s,
            cache,
            b,
            document,
            first_table,
            first_block,
            direction,
            level,
            n_trees,
            guided,
            keep_gold,
        )
        if lost and stop_when_lost:
            return level + 1
    return n_steps


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
    step = s.step_offsets[document] + level
    mention = s.mention[direction, step]
    first = s.candidate_offsets[mention]
    n = s.candidate_offsets[mention + 1] - first
    table = (direction * cache.n_tables + first_table + level) * cache.n_slots
    before = s.step_blocks[direction, step] - s.step_blocks[direction, s.step_offsets[document]]
    block = (direction * cache.n_blocks + first_block + before) * cache.n_slots
    place = first - s.candidate_offsets[s.mention_offsets[document]]

    _locate(s, cache, b, document, direction, level, table, block, first, n)
    _catch_up(s, cache, b, level, table, block, mention, n, n_trees)
    if b.outside.shape[1] > 0:
        _look_back(cache, b, direction, level, table, block, n, place)
    clamped = s.clamp[mention]
    _select(s, cache, b, direction, level, table, block, first, n, place, guided, clamped)
    if not keep_gold:
        return False
    return _keep_gold(cache, b, level, table, block, n, s.gold[mention])


@inner
def _locate(
    s: SearchArrays, cache: PrefixCache, b: Beam, document: int, direction: int, level: int,
    table: int, block: int, first: int, n: int,
) -> None:  # fmt: skip
    """Find the slot of every hypothesis, and pool global features for those not known."""
    n_new = ZERO
    for h in range(b.count[level]):
        parent = ROOT if level == 0 else b.prefix[level - 1, b.parent[level, h]]
        choice = b.choice[level, h]
        slot = find_slot(cache, table, parent, choice)
        b.slot[level, h] = slot
        if slot >= 0:
            cache.used[slot] = cache.clock[document]
            b.prefix[level, h] = cache.prefix[slot]
    for h in range(b.count[level]):
        if b.slot[level, h] >= 0:
            continue
        parent = ROOT if level == 0 else b.prefix[level - 1, b.parent[level, h]]
        cache.counter[document] += 1
        slot = take_slot(cache, table, parent, b.choice[level, h], cache.counter[document])
        cache.used[slot] = cache.clock[document]
        b.slot[level, h] = slot
        b.prefix[level, h] = cache.prefix[slot]
        row = block + (slot - table) * ((n + 15) >> 4)
        for k in range((n + 15) >> 4):
            for i in range(16):
                cache.score[row + k, i] = 0.0
        _history(s, b, document, direction, level, h, b.pool.histories, n_new)
        b.rows[n_new] = row
        n_new += 1
    if n_new > 0 and s.pairs.n_features > 0:
        pool_candidates(s.pairs, document, s.entity, first, n, b.pool, n_new, level)
        bin_pool(
            b.pool, n_new, level, n, s.pairs.n_features, s.global_thresholds, b.rows, cache.bins
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
    s: SearchArrays, cache: PrefixCache, b: Beam, level: int, table: int, block: int,
    mention: int, n: int, n_trees: int,
) -> None:  # fmt: skip
    """Add the trees that the slots' scores lack, slots that lack the same ones together."""
    n_blocks = (n + 15) >> 4
    for h in range(b.count[level]):
        held = np.int64(cache.trees[b.slot[level, h]])
        if held == n_trees:
            continue
        n_rows = ZERO
        for other in range(h, b.count[level]):
            slot = b.slot[level, other]
            if cache.trees[slot] == held:
                cache.trees[slot] = n_trees
                b.rows[n_rows] = block + (slot - table) * n_blocks
                n_rows += 1
        add_trees(
            s.forest, held, n_trees, s.local, s.mention_blocks[mention] * s.n_local, n_blocks,
            b.rows, n_rows, cache.bins, cache.n_global, b.allowed, cache.score,
        )  # fmt: skip


@inner
def _look_back(
    cache: PrefixCache, b: Beam, direction: int, level: int, table: int, block: int, n: int,
    place: int,
) -> None:  # fmt: skip
    """Leave, for the opposite direction, each candidate's best score from this one."""
    for c in range(n):
        best = -np.inf
        for h in range(b.count[level]):
            row = block + (b.slot[level, h] - table) * ((n + 15) >> 4)
            best = max(best, b.score[level, h] + cache.score[row + (c >> 4), c & 15])
        b.outside[direction, place + c] = best


@inner
def _select(
    s: SearchArrays, cache: PrefixCache, b: Beam, direction: int, level: int, table: int,
    block: int, first: int, n: int, place: int, guided: bool, clamped: int,
) -> None:  # fmt: skip
    """Keep the best extensions, sorted; the next level is the list being sorted into."""
    below = level + 1
    kept = 0
    for h in range(b.count[level]):
        row = block + (b.slot[level, h] - table) * ((n + 15) >> 4)
        for c in range(n):
            if clamped >= 0 and c != clamped:
                continue
            score = b.score[level, h] + cache.score[row + (c >> 4), c & 15]
            key = score
            if guided:
                key += b.outside[1 - direction, place + c]
            if kept == s.beam_width and key < b.key[kept - 1]:
                continue
            i = kept
            while i > 0 and (
                key > b.key[i - 1]
                or (
                    key == b.key[i - 1]
                    and s.entity[first + c] < s.entity[first + b.choice[below, i - 1]]
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
    b.count[below] = kept


@inner
def _keep_gold(
    cache: PrefixCache, b: Beam, level: int, table: int, block: int, n: int, gold: int
) -> bool:
    """Note where the gold prefix stands in the new level, last if it has to be brought back."""
    below = level + 1
    parent = b.gold[level]
    for h in range(b.count[below]):
        if b.parent[below, h] == parent and b.choice[below, h] == gold:
            b.gold[below] = h
            return False
    h = b.count[below]
    row = block + (b.slot[level, parent] - table) * ((n + 15) >> 4)
    b.parent[below, h] = parent
    b.choice[below, h] = gold
    b.score[below, h] = b.score[level, parent] + cache.score[row + (gold >> 4), gold & 15]
    b.gold[below] = h
    b.count[below] = h + 1
    return True


@inner
def restart_from_gold(b: Beam, level: int) -> None:
    """Leave the gold prefix as the only hypothesis of a level."""
    h = b.gold[level]
    b.parent[level, 0] = b.parent[level, h]
    b.choice[level, 0] = b.choice[level, h]
    b.score[level, 0] = b.score[level, h]
    b.gold[level] = 0
    b.count[level] = 1


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
    for h in range(1, b.count[level]):
        if b.score[level, h] > b.score[level, best]:
            best = h
    return best
