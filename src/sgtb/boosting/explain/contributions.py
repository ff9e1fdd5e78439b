"""Contributions: why one candidate is ahead of another, in parts that add up.

The question is about a mention m of a decoded document: why y_m and not the rival r? The
answer splits S(y) - S(y with m -> r), all other decisions as they were, into parts:

    own factor    F(x_m, y_m, h) - F(x_m, r, h) falls to the features, by Shapley values. That
                  is the answer as to local features. The part of a pair feature goes on to
                  the mentions of the history h that made the difference: that of a mean in
                  shares to all with a difference of its sign, that of a maximum to the first
                  mention with the value that decided it.
    later factor  F(x_t, y_t, h_t) - F(x_t, y_t, h_t with m -> r) falls to mention t.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.explain.rescoring import replay, run_shares
from sgtb.boosting.search.decoder import Decoding
from sgtb.boosting.search.plan import SearchPlan
from sgtb.boosting.trees.forest import ForestArrays
from sgtb.boosting.trees.tree_masks import AskingTrees
from sgtb.core.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.core.errors import ProblemsError
from sgtb.core.thread_pool import Crew
from sgtb.native import explain_documents


@dataclass(frozen=True, eq=False)
class Contribution:
    """The answer to one question; `local` and `mentions` add up to `total`, but for rounding.

    local     f8[L]    parts of the mention's own local features
    mentions  f8[M_d]  parts of the other mentions of its document
    total              S(y) - S(y with m -> r)
    """

    local: Doubles
    mentions: Doubles
    total: float


@dataclass(frozen=True, eq=False)
class Contributions:
    """The answers to K questions.

    local    f8[K, L]  parts of local features
    offsets  i8[K+1]   the slice of each answer in `mentions`, as long as its document
    mentions f8[.]     parts of other mentions
    total    f8[K]     S(y) - S(y with m -> r), summed up without the parts
    """

    local: Doubles
    offsets: Longs
    mentions: Doubles
    total: Doubles

    def __len__(self) -> int:
        return len(self.total)

    def __getitem__(self, k: int) -> Contribution:
        """Return one answer by itself."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"question {k} of {len(self)}")
        k %= len(self)
        parts = self.mentions[self.offsets[k] : self.offsets[k + 1]]
        return Contribution(self.local[k], parts, float(self.total[k]))


def explain(
    problems: Problems, local: Bytes, global_thresholds: Floats, forest: ForestArrays,
    n_trees: int, plan: SearchPlan, decoding: Decoding, crew: Crew, mentions: Longs,
    rivals: Longs, clamp: Ints | None = None, asking: AskingTrees | None = None,
) -> Contributions:  # fmt: skip
    """Answer questions about documents decoded with these trees and this clamp."""
    decided = replay(
        problems, local, global_thresholds, forest, n_trees, plan, decoding, clamp, asking
    )
    document = np.searchsorted(problems.mention_offsets, mentions, side="right") - 1
    lengths = np.diff(problems.mention_offsets)[document]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    k = len(mentions)
    out = Contributions(
        np.zeros((k, problems.n_local)), offsets, np.zeros(offsets[-1]), np.zeros(k)
    )
    run_shares(
        decided, crew, lambda share: explain_documents(share, decided, mentions, rivals, out)
    )
    return out


def checked_questions(
    problems: Problems, mentions: npt.ArrayLike, rivals: npt.ArrayLike
) -> tuple[Longs, Longs]:
    """Return mentions and rivals as arrays, if there are such candidates."""
    asked, against = np.asarray(mentions), np.asarray(rivals)
    if asked.ndim != 1 or asked.shape != against.shape:
        raise ProblemsError(
            f"mentions and rivals must be equally long lists of whole numbers; their shapes are "
            f"{asked.shape} and {against.shape}"
        )
    if len(asked) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if not all(np.issubdtype(given.dtype, np.integer) for given in (asked, against)):
        raise ProblemsError("mentions and rivals must be whole numbers")
    bad = np.flatnonzero((asked < 0) | (asked >= problems.n_mentions))
    if len(bad):
        raise ProblemsError(f"there is no mention {asked[bad[0]]}, only {problems.n_mentions}")
    sizes = np.diff(problems.candidate_offsets)[asked]
    bad = np.flatnonzero((against < 0) | (against >= sizes))
    if len(bad):
        k = bad[0]
        raise ProblemsError(
            f"{problems.where(int(asked[k]))}: the rival is candidate {against[k]}, but the "
            f"mention has {sizes[k]} candidates"
        )
    return asked.astype(np.int64), against.astype(np.int64)
