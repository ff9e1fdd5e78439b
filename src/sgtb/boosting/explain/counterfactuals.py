"""Alternatives: the scores of all candidates, with all other decisions as they were.

If mention m had been decided for candidate c instead of y_m, its own factor would be another
one, and so would the factors of all mentions decided later, which have m in their history:

    S(y with m -> c) - S(y) = F(x_m, c, h_m) - F(x_m, y_m, h_m)
                              + Σ_t after m [F(x_t, y_t, h_t with m -> c) - F(x_t, y_t, h_t)]
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.explain.rescoring import replay, run_shares
from sgtb.boosting.search.decoder import Decoding
from sgtb.boosting.search.plan import SearchPlan
from sgtb.boosting.trees.forest import ForestArrays
from sgtb.boosting.trees.tree_masks import AskingTrees
from sgtb.core.dtypes import Bytes, Doubles, Floats, Ints
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.thread_pool import Crew
from sgtb.native import weigh_documents


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Scores and probabilities of all candidates.

    score        f8[C]  S(y with m -> c) - S(y); 0 for the chosen candidate. Exact where the own
                        factor of c is at most the margin below that of the chosen one; for all
                        others, the difference of the own factors alone
    probability  f8[C]  softmax of the scores within the mention; 1 and 0 where it is clamped
    """

    score: Doubles
    probability: Doubles


class _Out(NamedTuple):
    total: Doubles
    score: Doubles
    probability: Doubles


def weigh(
    problems: Problems, local: Bytes, global_thresholds: Floats, forest: ForestArrays,
    n_trees: int, plan: SearchPlan, decoding: Decoding, crew: Crew, clamp: Ints | None = None,
    margin: float = np.inf, asking: AskingTrees | None = None,
) -> Alternatives:  # fmt: skip
    """Weigh all candidates of documents decoded with these trees and this clamp."""
    if not margin >= 0:
        raise SettingsError(f"margin is {margin}; it must be 0 or more, inf for all candidates")
    decided = replay(
        problems, local, global_thresholds, forest, n_trees, plan, decoding, clamp, asking
    )
    c = problems.n_candidates
    out = _Out(np.zeros(problems.n_documents), np.zeros(c), np.zeros(c))
    factor = decoding.factor
    run_shares(decided, crew, lambda share: weigh_documents(share, decided, factor, margin, out))
    strange = np.flatnonzero(out.total != decoding.scores[:, 0])
    if len(strange):
        d = int(strange[0])
        raise ProblemsError(
            f"document {d}: its best sequence scores {out.total[d]} here, {decoding.scores[d, 0]} "
            "in the decoding; decode with the same documents, model and clamp"
        )
    return Alternatives(out.score, out.probability)
