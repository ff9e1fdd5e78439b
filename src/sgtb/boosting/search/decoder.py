"""Decoder: the best sequences of choices with their probabilities, for all plans."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.beam import SearchInput, no_clamp, visit_order
from sgtb.boosting.trees.forest import TreeMasks
from sgtb.core.dtypes import Doubles, Ints
from sgtb.core.errors import ProblemsError
from sgtb.native import decode_documents


@dataclass(frozen=True, eq=False)
class Decoding:
    """The decisions on all documents; rank 0 is the best sequence of a document.

    mention_offsets       i4[D+1]
    probability           f8[M]     of the best sequence's choice at each mention
    n_sequences           i4[D]     number of sequences found
    sequences             i4[K, M]  choices; -1 at mentions without candidates
    scores                f8[D, K]  S of each sequence
    sequence_probability  f8[D, K]  within its final beam
    direction             i1[D]     of the best sequence: 0 forward, 1 backward
    candidate_offsets     i4[M+1]
    factor                f8[C]     F of every candidate, given the earlier choices of the best
                                    sequence
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
        """Return the decoding of one document."""
        a, b = self.mention_offsets[d], self.mention_offsets[d + 1]
        offsets = self.candidate_offsets[a : b + 1]
        return Decoding(
            mention_offsets=np.array([0, b - a], np.int32),
            probability=self.probability[a:b],
            n_sequences=self.n_sequences[d : d + 1],
            sequences=self.sequences[: max(1, self.n_sequences[d]), a:b],
            scores=self.scores[d : d + 1],
            sequence_probability=self.sequence_probability[d : d + 1],
            direction=self.direction[d : d + 1],
            candidate_offsets=offsets - offsets[0],
            factor=self.factor[offsets[0] : offsets[-1]],
        )


def decode(given: SearchInput, n_best: int = 1) -> Decoding:
    """Search all documents for their `n_best` best sequences."""
    problems, plan, masks = given.problems, given.model.plan, given.model.masks
    order = visit_order(problems, problems.sizes > 0, given.clamp)
    # Without pair features a beam of n holds the exact n best, so plan local needs no wider one.
    search = given.arrays(order, plan.beam_width if plan.uses_history else n_best)
    d, m = problems.n_documents, problems.n_mentions
    out = Decoding(
        mention_offsets=problems.mention_offsets,
        probability=np.zeros(m),
        n_sequences=np.zeros(d, np.int32),
        sequences=np.full((n_best, m), -1, np.int32),
        scores=np.zeros((d, n_best)),
        sequence_probability=np.zeros((d, n_best)),
        direction=np.zeros(d, np.int8),
        candidate_offsets=problems.candidate_offsets,
        factor=np.zeros(problems.n_candidates),
    )

    def run(documents: Ints) -> None:
        decode_documents(
            documents, search, not plan.uses_history, plan.bidirectional, plan.rounds,
            given.model.n_trees, masks is not None, masks or TreeMasks.empty(), out,
        )  # fmt: skip

    given.run(order.step_offsets, run)
    return out


def checked_clamp(problems: Problems, clamp: npt.ArrayLike | None) -> Ints:
    """Return the fixed choices as an array of one number per mention; -1: free."""
    if clamp is None:
        return no_clamp(problems)
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
