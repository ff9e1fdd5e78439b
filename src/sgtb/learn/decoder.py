"""The decoder: the best sequences of choices, with probabilities; one for all plans."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.errors import ProblemsError
from sgtb.kernels import NO, ONE, YES, ZERO, inner, int64, kernel, routine
from sgtb.learn.asking import AskingTrees
from sgtb.learn.beam import (
    BACKWARD,
    FORWARD,
    Beam,
    SearchArrays,
    beam,
    row_of,
    run_pass,
    softmax,
    start_pass,
    step_of,
)
from sgtb.learn.crew import Crew
from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints
from sgtb.learn.forest import ForestArrays
from sgtb.learn.lanes import block_offsets
from sgtb.learn.local_answers import answer_locals, local_answers
from sgtb.learn.pairs import no_pairs
from sgtb.learn.plan import SearchPlan
from sgtb.learn.prefixes import ROOT, PrefixCache, forget, prefix_cache
from sgtb.learn.problems import Problems
from sgtb.learn.routes import Routes, routes


@dataclass(frozen=True, eq=False)
class Decoding:
    """What was decided on all documents; rank 0 is the best sequence of a document.

    mention_offsets       i4[D+1]
    probability           f8[M]     of the best sequence's choice at each mention
    n_sequences           i4[D]     how many sequences were found
    sequences             i4[K, M]  choices; -1 at mentions without candidates
    scores                f8[D, K]  S of each sequence
    sequence_probability  f8[D, K]  within its final beam
    direction             i1[D]     in which the best sequence was decided: 0 forward, 1 backward
    candidate_offsets     i4[M+1]
    factor                f8[C]     F of every candidate, given what the best sequence had decided
                                    when it came to the mention
    """

    mention_offsets: Ints
    probability: Doubles
    n_sequences: Ints
    sequences: Ints
    scores: Doubles
    sequence_probability: Doubles
    direction: npt.NDArray[np.int8]
    candidate_offsets: Ints
    factor: Doubles

    @property
    def choices(self) -> Ints:
        """The best sequence of every document: i4[M]."""
        best: Ints = self.sequences[0]
        return best

    def document(self, d: int) -> "Decoding":
        """Return the decoding of one document by itself."""
        a, b = self.mention_offsets[d], self.mention_offsets[d + 1]
        offsets = self.candidate_offsets[a : b + 1]
        return Decoding(
            np.array([0, b - a], np.int32), self.probability[a:b], self.n_sequences[d : d + 1],
            self.sequences[: max(1, self.n_sequences[d]), a:b], self.scores[d : d + 1],
            self.sequence_probability[d : d + 1], self.direction[d : d + 1],
            offsets - offsets[0], self.factor[offsets[0] : offsets[-1]],
        )  # fmt: skip


class _Out(NamedTuple):
    probability: Doubles
    n_sequences: Ints
    sequences: Ints
    scores: Doubles
    sequence_probability: Doubles
    direction: npt.NDArray[np.int8]
    best: Ints  # of each document, the place of its best sequence in the final beam
    factor: Doubles


def decode(
    problems: Problems, local: Bytes, global_thresholds: Floats, forest: ForestArrays,
    n_trees: int, plan: SearchPlan, crew: Crew, n_best: int = 1, clamp: Ints | None = None,
    asking: AskingTrees | None = None,
) -> Decoding:  # fmt: skip
    """Search all documents with the first `n_trees` trees; `local` are bins.

    asking  what `asking_trees` gives for these trees; without, documents are searched as in
            training, which takes longer
    """
    fixed = np.full(problems.n_mentions, -1, np.int32) if clamp is None else clamp
    visits = routes(problems, problems.sizes > 0, fixed)
    # Without pair features a beam of n holds the exact n best, so local needs no wider one.
    width = plan.beam_width if plan.uses_history else n_best
    s = search_arrays(problems, local, global_thresholds, forest, plan, visits, fixed, width)
    d, m = problems.n_documents, problems.n_mentions
    out = _Out(
        np.zeros(m), np.zeros(d, np.int32), np.full((n_best, m), -1, np.int32),
        np.zeros((d, n_best)), np.zeros((d, n_best)), np.zeros(d, np.int8), np.zeros(d, np.int32),
        np.zeros(problems.n_candidates),
    )  # fmt: skip
    steps = np.diff(visits.step_offsets).astype(np.int64)
    candidates = np.diff(problems.candidate_offsets[problems.mention_offsets])
    blocks = np.diff(visits.block_offsets[FORWARD][visits.step_offsets])

    widest = int(problems.sizes.max(initial=0))

    def search(documents: Ints) -> None:
        largest, most = int(steps[documents].max()), int(candidates[documents].max())
        n_blocks = int(blocks[documents].max())
        cache, forward, backward = _workspace(
            s, plan, d, largest, n_blocks, most, widest, n_trees, asking
        )
        decode_documents(
            documents, s, cache, forward, backward, not plan.uses_history, plan.bidirectional,
            plan.rounds, n_trees, out,
        )  # fmt: skip

    if d:
        shares = crew.shares(candidates * (steps + 16))
        crew.run([lambda share=share: search(share) for share in shares])  # type: ignore[misc]
    return Decoding(
        problems.mention_offsets, out.probability, out.n_sequences, out.sequences, out.scores,
        out.sequence_probability, out.direction, problems.candidate_offsets, out.factor,
    )  # fmt: skip


def checked_clamp(problems: Problems, clamp: npt.ArrayLike | None) -> Ints | None:
    """Return the fixed choices as an array of one number per mention; -1: free."""
    if clamp is None:
        return None
    fixed = np.asarray(clamp)
    if fixed.shape != (problems.n_mentions,) or not np.issubdtype(fixed.dtype, np.integer):
        raise ProblemsError(
            f"clamp needs one whole number per mention ({problems.n_mentions}), -1 where free"
        )
    sizes = problems.sizes
    bad = np.flatnonzero((fixed < -1) | (fixed >= sizes))
    if len(bad):
        m = int(bad[0])
        raise ProblemsError(
            f"{problems.where(m)}: clamp is {fixed[m]}, but the mention has {sizes[m]} candidates"
        )
    return fixed.astype(np.int32)


def search_arrays(
    problems: Problems, local: Bytes, global_thresholds: Floats, forest: ForestArrays,
    plan: SearchPlan, visits: Routes, clamp: Ints, beam_width: int,
) -> SearchArrays:  # fmt: skip
    """Bundle what a search reads."""
    n_directions = 2 if plan.bidirectional else 1
    source = problems.pairs if plan.uses_history else no_pairs()
    return SearchArrays(
        problems.mention_offsets, problems.candidate_offsets, problems.gold, problems.entity,
        block_offsets(problems), problems.n_local, local, source.arrays(problems.entity_offsets),
        global_thresholds, visits.step_offsets, visits.mention[:n_directions],
        visits.block_offsets[:n_directions], clamp, forest, beam_width,
    )  # fmt: skip


def _workspace(
    s: SearchArrays,
    plan: SearchPlan,
    n_documents: int,
    n_steps: int,
    n_blocks: int,
    n_candidates: int,
    widest: int,
    n_trees: int,
    asking: AskingTrees | None,
) -> tuple[PrefixCache, Beam, Beam]:
    n_directions = 2 if plan.bidirectional else 1
    # A second round mostly meets the prefixes of the first one again.
    n_slots = s.beam_width * (2 if plan.bidirectional else 1)
    n_global = 2 * s.pairs.n_features
    cache = prefix_cache(n_slots, n_directions, n_steps, n_blocks, n_documents, n_global)
    outside = n_candidates if plan.bidirectional else 0
    answers = local_answers(s.forest, n_trees, asking, n_documents, n_candidates)
    forward = beam(s.beam_width, n_steps, widest, outside, s.pairs)._replace(answers=answers)
    if not plan.bidirectional:
        return cache, forward, forward
    backward = beam(s.beam_width, n_steps, widest, outside, s.pairs)
    return cache, forward, backward._replace(outside=forward.outside, answers=answers)


@kernel
def decode_documents(
    documents: Ints, s: SearchArrays, cache: PrefixCache, f: Beam, b: Beam, alone: bool,
    bidirectional: bool, rounds: int, n_trees: int, out: _Out,
) -> None:  # fmt: skip
    """Decode documents one after the other in the same workspace."""
    answered = ZERO
    for i in range(documents.shape[0]):
        d = int64(documents[i])
        n = s.step_offsets[d + 1] - s.step_offsets[d]
        if n == 0:
            continue
        forget(cache, s.mention.shape[0], ZERO, n)
        cache.counter[d] = ROOT
        if f.answers.n_trees > 0 and i >= answered:
            answered = answer_locals(
                s.forest, f.answers, s.mention_offsets, s.candidate_offsets, s.mention_blocks,
                s.local, documents, i,
            )  # fmt: skip
        if bidirectional:
            for r in range(rounds):
                start_pass(f)
                run_pass(s, cache, f, d, ZERO, ZERO, FORWARD, ZERO, n_trees, r > 0, NO, NO)
                start_pass(b)
                run_pass(s, cache, b, d, ZERO, ZERO, BACKWARD, ZERO, n_trees, YES, NO, NO)
            softmax(b.score, n, b.width[n], b.probability)
        else:
            start_pass(f)
            run_pass(s, cache, f, d, ZERO, ZERO, FORWARD, ZERO, n_trees, NO, NO, NO)
        if alone:
            _local_probabilities(s, cache, f, d, n, out)
        else:
            softmax(f.score, n, f.width[n], f.probability)
        winner = _list_sequences(s, f, b, d, n, bidirectional, out)
        out.direction[d] = winner
        best = f if winner == FORWARD else b
        if not alone:
            _marginals(s, best, d, winner, n, out)
        _copy_factors(s, cache, best, d, winner, n, out)


@routine
def _list_sequences(
    s: SearchArrays, f: Beam, b: Beam, d: int, n: int, bidirectional: bool, out: _Out
) -> int:
    """Write the most probable sequences of the final beams; return the best one's direction."""
    for h in range(f.width[n]):
        f.key[h] = f.probability[h]
    if bidirectional:
        for h in range(b.width[n]):
            b.key[h] = b.probability[h]
    winner = FORWARD
    rank = ZERO
    while rank < out.sequences.shape[0]:
        best, direction = -ONE, FORWARD
        for h in range(f.width[n]):
            if f.key[h] >= 0.0 and (best < 0 or f.key[h] > f.key[best]):
                best = h
        if bidirectional:
            for h in range(b.width[n]):
                top = -1.0
                if best >= 0:
                    top = f.key[best] if direction == FORWARD else b.key[best]
                if b.key[h] > top:
                    best, direction = h, BACKWARD
        if best < 0:
            break
        chosen = f if direction == FORWARD else b
        chosen.key[best] = -1.0
        _write_sequence(s, chosen, d, direction, n, best, out.sequences, rank)
        if _seen_before(s, d, out.sequences, rank):
            continue
        if rank == 0:
            winner = direction
            out.best[d] = best
        out.scores[d, rank] = chosen.score[n, best]
        out.sequence_probability[d, rank] = chosen.probability[best]
        rank += 1
        out.n_sequences[d] = rank
    for m in range(s.mention_offsets[d], s.mention_offsets[d + 1]):
        for k in range(rank, out.sequences.shape[0]):
            out.sequences[k, m] = -1
    return winner


@inner
def _write_sequence(
    s: SearchArrays, b: Beam, d: int, direction: int, n: int, h: int, out: Ints, rank: int
) -> None:
    for level in range(n, 0, -1):
        out[rank, s.mention[direction, s.step_offsets[d] + level - 1]] = b.choice[level, h]
        h = b.parent[level, h]


@inner
def _seen_before(s: SearchArrays, d: int, sequences: Ints, rank: int) -> bool:
    for k in range(rank):
        same = True
        for m in range(s.mention_offsets[d], s.mention_offsets[d + 1]):
            if sequences[k, m] != sequences[rank, m]:
                same = False
                break
        if same:
            return True
    return False


@routine
def _copy_factors(
    s: SearchArrays, cache: PrefixCache, b: Beam, d: int, direction: int, n: int, out: _Out
) -> None:
    """Write what the cache has of all candidates along the best sequence."""
    h = int64(out.best[d])
    for level in range(n - 1, -1, -1):
        h = int64(b.parent[level + 1, h])
        at = step_of(s, cache, d, ZERO, ZERO, direction, level)
        row = row_of(at, b.slot[level, h])
        for c in range(at.n):
            out.factor[at.first + c] = cache.score[row + (c >> 4), c & 15]


@routine
def _marginals(s: SearchArrays, b: Beam, d: int, direction: int, n: int, out: _Out) -> None:
    """Sum, per mention, the probabilities of the sequences that agree with the best one."""
    for last in range(b.width[n]):
        h = last
        for level in range(n, 0, -1):
            mention = s.mention[direction, s.step_offsets[d] + level - 1]
            if b.choice[level, h] == out.sequences[0, mention]:
                out.probability[mention] += b.probability[last]
            h = b.parent[level, h]
    for m in range(s.mention_offsets[d], s.mention_offsets[d + 1]):
        out.probability[m] = min(out.probability[m], 1.0)


@routine
def _local_probabilities(
    s: SearchArrays, cache: PrefixCache, b: Beam, d: int, n: int, out: _Out
) -> None:
    """Softmax over all candidates of each mention; sequences get the product."""
    log_total = 0.0
    for level in range(n):
        step = s.step_offsets[d] + level
        mention = s.mention[FORWARD, step]
        size = s.candidate_offsets[mention + 1] - s.candidate_offsets[mention]
        before = s.step_blocks[FORWARD, step] - s.step_blocks[FORWARD, s.step_offsets[d]]
        block = before * cache.n_slots
        slot = b.slot[level, 0] - level * cache.n_slots
        row = block + slot * ((size + 15) >> 4)
        clamped = s.clamp[mention]
        if clamped >= 0:
            out.probability[mention] = 1.0
            log_total += cache.score[row + (clamped >> 4), clamped & 15]
            continue
        top = cache.score[row, 0]
        for c in range(1, size):
            top = max(top, cache.score[row + (c >> 4), c & 15])
        total = 0.0
        for c in range(size):
            total += np.exp(cache.score[row + (c >> 4), c & 15] - top)
        # The best candidate comes first in the beam, and the choices do not depend on each other.
        out.probability[mention] = 1.0 / total
        log_total += top + np.log(total)
    for h in range(b.width[n]):
        b.probability[h] = np.exp(b.score[n, h] - log_total)
