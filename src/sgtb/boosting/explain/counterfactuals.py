"""Counterfactuals: the scores of all candidates, all other decisions unchanged.

If mention m had been decided for candidate c instead of y_m, its own factor would change, and so
would the factors of all mentions decided later, which have m in their history:

    S(y with m -> c) - S(y) = F(x_m, c, h_m) - F(x_m, y_m, h_m)
                              + Σ_t after m [F(x_t, y_t, h_t with m -> c) - F(x_t, y_t, h_t)]
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sgtb.boosting.explain.rescoring import rescoring
from sgtb.boosting.search.beam import SearchInput
from sgtb.boosting.search.decoder import Decoding
from sgtb.core.dtypes import Doubles
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.native import score_counterfactuals


@dataclass(frozen=True, eq=False)
class Counterfactuals:
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


def counterfactuals(
    given: SearchInput, decoding: Decoding, margin: float = np.inf
) -> Counterfactuals:
    """Score all candidates of decoded documents."""
    if not margin >= 0:
        raise SettingsError(f"margin is {margin}; it must be 0 or more, inf for all candidates")
    problems = given.problems
    decided = rescoring(given, decoding)
    c = problems.n_candidates
    out = _Out(np.zeros(problems.n_documents), np.zeros(c), np.zeros(c))
    given.run(
        decided.search.step_offsets,
        lambda share: score_counterfactuals(share, decided, decoding.factor, margin, out),
    )
    different = np.flatnonzero(out.total != decoding.scores[:, 0])
    if len(different):
        d = int(different[0])
        raise ProblemsError(
            f"document {d}: its best sequence scores {out.total[d]} here, {decoding.scores[d, 0]} "
            "in the decoding; decode with the same documents, model and clamp"
        )
    return Counterfactuals(out.score, out.probability)
