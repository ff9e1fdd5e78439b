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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.errors import ProblemsError
from sgtb.kernels import ONE, ZERO, inner, int64, kernel, routine
from sgtb.learn.asking import AskingTrees
from sgtb.learn.crew import Crew
from sgtb.learn.decoder import Decoding
from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.learn.forest import ForestArrays
from sgtb.learn.plan import SearchPlan
from sgtb.learn.problems import Problems
from sgtb.learn.replay import (
    Replay,
    Script,
    answer_choices,
    replay_all,
    script,
    settle,
    weigh_candidates,
)
from sgtb.learn.rivals import follow, meet, reconsider
from sgtb.learn.shapley import Shapley, shapley, share_out


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


class _Questions(NamedTuple):
    """Questions, those of each mention together.

    first   i8[M+1]  where the questions of each mention begin
    number  i8[K]    the place of each question in the answers
    rival   i8[K]
    """

    first: Longs
    number: Longs
    rival: Longs


class _Out(NamedTuple):
    local: Doubles
    offsets: Longs
    mentions: Doubles
    total: Doubles


class _To(NamedTuple):
    """Where the parts of decisions go: step -> mention -> place in the answer."""

    mention: Ints
    direction: int
    first_step: int
    start: int
    mentions: Doubles


def explain(
    problems: Problems, local: Bytes, global_thresholds: Floats, forest: ForestArrays,
    n_trees: int, plan: SearchPlan, decoding: Decoding, crew: Crew, mentions: Longs,
    rivals: Longs, clamp: Ints | None = None, asking: AskingTrees | None = None,
) -> Contributions:  # fmt: skip
    """Answer questions about documents decoded with these trees and this clamp."""
    play = script(problems, local, global_thresholds, forest, n_trees, plan, decoding, clamp)
    order = np.argsort(mentions, kind="stable")
    first = np.searchsorted(mentions[order], np.arange(problems.n_mentions + 1))
    questions = _Questions(first, order, rivals[order])
    document = np.searchsorted(problems.mention_offsets, mentions, side="right") - 1
    lengths = np.diff(problems.mention_offsets)[document]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    k = len(mentions)
    out = _Out(np.zeros((k, problems.n_local)), offsets, np.zeros(offsets[-1]), np.zeros(k))
    n_features = problems.n_local + 2 * play.search.pairs.n_features

    def run(documents: Ints, replay: Replay) -> None:
        scratch = shapley(forest.depth, n_features)
        explain_documents(documents, play, replay, questions, scratch, out)

    n_rivals = np.bincount(document, minlength=problems.n_documents)
    replay_all(play, crew, n_rivals, asking, run)
    return Contributions(*out)


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


@kernel
def explain_documents(
    documents: Ints, play: Script, r: Replay, questions: _Questions, scratch: Shapley, out: _Out
) -> None:
    """Replay documents one after the other in the same workspace."""
    s = play.search
    answered = ZERO
    for i in range(documents.shape[0]):
        d = int64(documents[i])
        begin = int64(s.mention_offsets[d])
        if questions.first[begin] == questions.first[s.mention_offsets[d + 1]]:
            continue
        if i >= answered:
            answered = answer_choices(play, r, documents, i)
        for step in range(s.step_offsets[d + 1] - s.step_offsets[d]):
            mention = int64(s.mention[int64(play.direction[d]), s.step_offsets[d] + step])
            candidates = int64(s.candidate_offsets[mention])
            choice = int64(play.choices[mention])
            reconsider(s, play.n_trees, r.answers, r.chosen, r.rivals, d, step, mention, choice)
            for j in range(r.rivals.first_rival[step]):
                k = r.rivals.number[j]
                out.mentions[out.offsets[k] + mention - begin] -= r.rivals.change[j]
                out.total[k] -= r.rivals.change[j]
            first, last = questions.first[mention], questions.first[mention + 1]
            if first < last:
                weigh_candidates(play, r, d, step, mention)
            for q in range(first, last):
                k, rival = questions.number[q], questions.rival[q]
                out.total[k] += r.score[choice >> 4, choice & 15] - r.score[rival >> 4, rival & 15]
                _explain_own(play, r, d, step, mention, choice, rival, k, scratch, out)
                follow(s.pairs, r.rivals, d, step, int64(s.entity[candidates + rival]), k)
            settle(play, r, d, step, int64(s.entity[candidates + choice]))


@routine
def _explain_own(
    play: Script, r: Replay, d: int, step: int, mention: int, choice: int, rival: int, k: int,
    scratch: Shapley, out: _Out,
) -> None:  # fmt: skip
    """Share out the difference of the own factors of a choice and a rival."""
    s = play.search
    share_out(s.forest, play.n_trees, r.candidates, choice, rival, scratch)
    for f in range(s.n_local):
        out.local[k, f] = scratch.part[f]
    if s.pairs.n_features == 0 or step == 0:
        return
    first = s.candidate_offsets[mention]
    meet(s.pairs, d, int64(s.entity[first + choice]), r.chosen, step, ZERO)
    meet(s.pairs, d, int64(s.entity[first + rival]), r.chosen, step, ONE)
    to = _To(
        s.mention,
        int64(play.direction[d]),
        int64(s.step_offsets[d]),
        out.offsets[k] - s.mention_offsets[d],
        out.mentions,
    )
    for e in range(s.pairs.n_features):
        sums, tops = r.pool.sums, r.pool.tops
        ahead = sums[0, e, choice >> 4, choice & 15] > sums[0, e, rival >> 4, rival & 15]
        _spread_mean(r, e, step, ahead, scratch.part[s.n_local + e], to)
        own, other = tops[0, e, choice >> 4, choice & 15], tops[0, e, rival >> 4, rival & 15]
        part = scratch.part[s.n_local + s.pairs.n_features + e]
        _spread_top(r, e, ZERO if own > other else ONE, max(own, other), part, to)


@inner
def _spread_mean(r: Replay, e: int, n: int, ahead: bool, part: float, to: _To) -> None:
    """Give the part of a mean to the decisions that moved it the way it went."""
    if part == 0.0:
        return
    total = 0.0
    for i in range(n):
        total += _push(r.chosen.values, e, i, ahead)
    for i in range(n):
        _give(to, i, part * (_push(r.chosen.values, e, i, ahead) / total))


@inner
def _push(values: Floats, e: int, i: int, ahead: bool) -> float:
    own, other = np.float64(values[0, e, i >> 4, i & 15]), np.float64(values[1, e, i >> 4, i & 15])
    return max(own - other if ahead else other - own, np.float64(0.0))


@inner
def _spread_top(r: Replay, e: int, line: int, top: float, part: float, to: _To) -> None:
    """Give the part of a maximum to the first decision that has it."""
    if part == 0.0:
        return
    i = 0
    while r.chosen.values[line, e, i >> 4, i & 15] != top:
        i += 1
    _give(to, i, part)


@inner
def _give(to: _To, step: int, part: float) -> None:
    to.mentions[to.start + to.mention[to.direction, to.first_step + step]] += part
