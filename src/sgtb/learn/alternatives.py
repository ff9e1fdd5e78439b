"""Alternatives: what every candidate would have scored, all other decisions as they were.

If mention m had been decided for candidate c instead of y_m, its own factor would be another
one, and so would the factors of all mentions decided later, which have m in their history:

    S(y with m -> c) - S(y) = F(x_m, c, h_m) - F(x_m, y_m, h_m)
                              + Σ_t after m [F(x_t, y_t, h_t with m -> c) - F(x_t, y_t, h_t)]
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sgtb.errors import ProblemsError, SettingsError
from sgtb.kernels import ZERO, inner, int64, kernel
from sgtb.learn.asking import AskingTrees
from sgtb.learn.beam import SearchArrays
from sgtb.learn.crew import Crew
from sgtb.learn.decoder import Decoding
from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints
from sgtb.learn.forest import ForestArrays
from sgtb.learn.plan import SearchPlan
from sgtb.learn.problems import Problems
from sgtb.learn.replay import Replay, Script, answer_choices, replay_all, script, settle
from sgtb.learn.rivals import follow, reconsider


@dataclass(frozen=True, eq=False)
class Alternatives:
    """All candidates beside the chosen ones.

    score        f8[C]  S(y with m -> c) - S(y); 0 for the chosen candidate. Exact where the own
                        factor of c is at most the margin below that of the chosen one. For all
                        others, which are hopeless, the difference of the own factors alone
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
    play = script(problems, local, global_thresholds, forest, n_trees, plan, decoding, clamp)
    c = problems.n_candidates
    out = _Out(np.zeros(problems.n_documents), np.zeros(c), np.zeros(c))
    factor = decoding.factor
    n_rivals = np.diff(problems.candidate_offsets[problems.mention_offsets]).astype(np.int64)

    def run(documents: Ints, replay: Replay) -> None:
        weigh_documents(documents, play, replay, factor, float(margin), out)

    replay_all(play, crew, n_rivals, asking, run)
    strange = np.flatnonzero(out.total != decoding.scores[:, 0])
    if len(strange):
        d = int(strange[0])
        raise ProblemsError(
            f"document {d}: its best sequence scores {out.total[d]} here, {decoding.scores[d, 0]} "
            "in the decoding; decode with the same documents, model and clamp"
        )
    return Alternatives(out.score, out.probability)


@kernel
def weigh_documents(
    documents: Ints, play: Script, r: Replay, factor: Doubles, margin: float, out: _Out
) -> None:
    """Replay documents one after the other in the same workspace."""
    s = play.search
    answered = ZERO
    for i in range(documents.shape[0]):
        d = int64(documents[i])
        if i >= answered:
            answered = answer_choices(play, r, documents, i)
        for step in range(s.step_offsets[d + 1] - s.step_offsets[d]):
            mention = int64(s.mention[int64(play.direction[d]), s.step_offsets[d] + step])
            first = int64(s.candidate_offsets[mention])
            choice = int64(play.choices[mention])
            reconsider(s, play.n_trees, r.answers, r.chosen, r.rivals, d, step, mention, choice)
            for j in range(r.rivals.first_rival[step]):
                out.score[r.rivals.number[j]] += r.rivals.change[j]
            own = factor[first + choice]
            out.total[d] += own
            for c in range(s.candidate_offsets[mention + 1] - first):
                difference = factor[first + c] - own
                out.score[first + c] = difference
                if c != choice and difference >= -margin:
                    follow(s.pairs, r.rivals, d, step, int64(s.entity[first + c]), first + c)
            settle(play, r, d, step, int64(s.entity[first + choice]))
        for m in range(s.mention_offsets[d], s.mention_offsets[d + 1]):
            _softmax(s, m, out)


@inner
def _softmax(s: SearchArrays, mention: int, out: _Out) -> None:
    first, last = s.candidate_offsets[mention], s.candidate_offsets[mention + 1]
    if s.clamp[mention] >= 0:
        out.probability[first + s.clamp[mention]] = 1.0
        return
    top, total = -np.inf, 0.0
    for c in range(first, last):
        top = max(top, out.score[c])
    for c in range(first, last):
        out.probability[c] = np.exp(out.score[c] - top)
        total += out.probability[c]
    for c in range(first, last):
        out.probability[c] /= total
