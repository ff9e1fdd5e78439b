"""The decoder: the best sequences of choices, with probabilities; one for all plans."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.pairs import no_pairs
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.beam import SearchArrays
from sgtb.boosting.search.candidate_blocks import block_offsets
from sgtb.boosting.search.plan import SearchPlan
from sgtb.boosting.search.visit_order import Routes, routes
from sgtb.boosting.trees.forest import ForestArrays
from sgtb.boosting.trees.tree_masks import AskingTrees, no_trees
from sgtb.core.dtypes import Bytes, Doubles, Floats, Ints
from sgtb.core.errors import ProblemsError
from sgtb.core.thread_pool import Crew
from sgtb.native import decode_documents


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
    out = Decoding(
        problems.mention_offsets, np.zeros(m), np.zeros(d, np.int32),
        np.full((n_best, m), -1, np.int32), np.zeros((d, n_best)), np.zeros((d, n_best)),
        np.zeros(d, np.int8), problems.candidate_offsets, np.zeros(problems.n_candidates),
    )  # fmt: skip

    def search(documents: Ints) -> None:
        decode_documents(
            documents, s, not plan.uses_history, plan.bidirectional, plan.rounds, n_trees,
            asking is not None, asking or no_trees(), out,
        )  # fmt: skip

    steps = np.diff(visits.step_offsets).astype(np.int64)
    candidates = np.diff(problems.candidate_offsets[problems.mention_offsets])
    shares = crew.shares(candidates * (steps + 16))
    crew.run([lambda share=share: search(share) for share in shares])  # type: ignore[misc]
    return out


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
