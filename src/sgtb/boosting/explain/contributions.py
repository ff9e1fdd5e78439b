"""Contributions: why one candidate is ahead of another, in parts that add up.

For mention m of a decoded document, compare its choice y_m with another candidate r, the
runner-up. S(y) - S(y with m -> r), all other decisions unchanged, is split into parts:

    own factor    F(x_m, y_m, h) - F(x_m, r, h) is divided among the features by Shapley values.
                  The part of a pair feature is passed on to the mentions of the history h that
                  made the difference: that of a mean in shares to all with a difference of its
                  sign, that of a maximum to the first mention with the deciding value.
    later factor  F(x_t, y_t, h_t) - F(x_t, y_t, h_t with m -> r) is the part of mention t.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.explain.counterfactuals import rescoring
from sgtb.boosting.search.beam import Decoding, SearchInput
from sgtb.core.dtypes import Doubles, Longs
from sgtb.core.errors import ProblemsError
from sgtb.native import explain_documents


@dataclass(frozen=True, eq=False)
class Contribution:
    """The parts of one comparison; `local` and `mentions` add up to `total`, but for rounding."""

    local: Doubles  # f8[L], parts of the mention's own local features
    mentions: Doubles  # f8[M_d], parts of the other mentions of its document
    total: float  # S(y) - S(y with m -> r)


@dataclass(frozen=True, eq=False)
class Contributions:
    """The parts of K comparisons.

    local    f8[K, L]  parts of local features
    offsets  i8[K+1]   the slice of each comparison in `mentions`, as long as its document
    mentions f8[.]     parts of other mentions
    total    f8[K]     S(y) - S(y with m -> r), not a sum of the parts
    """

    local: Doubles
    offsets: Longs
    mentions: Doubles
    total: Doubles

    def __len__(self) -> int:
        return len(self.total)

    def __getitem__(self, k: int) -> Contribution:
        """Return the parts of one comparison."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"comparison {k} of {len(self)}")
        k %= len(self)
        parts = self.mentions[self.offsets[k] : self.offsets[k + 1]]
        return Contribution(self.local[k], parts, float(self.total[k]))


def contributions(
    given: SearchInput, decoding: Decoding, mentions: Longs, runner_ups: Longs
) -> Contributions:
    """Compare the choices at `mentions` with other candidates."""
    problems = given.problems
    decided = rescoring(given, decoding)
    document = np.searchsorted(problems.mention_offsets, mentions, side="right") - 1
    lengths = np.diff(problems.mention_offsets)[document]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    k = len(mentions)
    out = Contributions(
        np.zeros((k, problems.n_local)), offsets, np.zeros(offsets[-1]), np.zeros(k)
    )
    given.run(
        decided.search.step_offsets,
        lambda share: explain_documents(share, decided, mentions, runner_ups, out),
    )
    return out


def checked_comparisons(
    problems: Problems, mentions: npt.ArrayLike, runner_ups: npt.ArrayLike
) -> tuple[Longs, Longs]:
    """Return mentions and runner-ups as arrays, if there are such candidates."""
    rows, others = np.asarray(mentions), np.asarray(runner_ups)
    if rows.ndim != 1 or rows.shape != others.shape:
        raise ProblemsError(
            f"mentions and runner_ups must be equally long lists of whole numbers; their shapes "
            f"are {rows.shape} and {others.shape}"
        )
    if len(rows) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if not all(np.issubdtype(given.dtype, np.integer) for given in (rows, others)):
        raise ProblemsError("mentions and runner_ups must be whole numbers")
    bad = np.flatnonzero((rows < 0) | (rows >= problems.n_mentions))
    if len(bad):
        raise ProblemsError(f"there is no mention {rows[bad[0]]}, only {problems.n_mentions}")
    sizes = np.diff(problems.candidate_offsets)[rows]
    bad = np.flatnonzero((others < 0) | (others >= sizes))
    if len(bad):
        k = bad[0]
        raise ProblemsError(
            f"{problems.where(int(rows[k]))}: the runner-up is candidate {others[k]}, but the "
            f"mention has {sizes[k]} candidates"
        )
    return rows.astype(np.int64), others.astype(np.int64)
