"""Beam search: its plan, its input (problems on bins, order of visits, forest) and the decoding."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.data.pairs import PairArrays, no_pairs
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.trees.forest import Forest, ForestArrays
from sgtb.core.dtypes import Bools, Bytes, Doubles, Floats, Ints, Longs
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.settings import check_integer
from sgtb.core.thread_pool import ThreadPool
from sgtb.native import bin_blocks, decode_documents

PlanName = Literal["local", "bs", "laso", "bsg", "bibsg"]
PLANS: tuple[PlanName, ...] = get_args(PlanName)

MAX_BEAM_WIDTH = 4096


class PlanRules(NamedTuple):
    """The rules of a plan, as kernels read them."""

    uses_history: bool = True  # a choice depends on the choices before it
    bidirectional: bool = False  # mentions are also visited from last to first
    # points only where the gold prefix leaves the beam, and at the end; else beams keep the gold
    # prefix, and every step gives points
    early_update: bool = False
    # after such an error the search continues from the gold prefix
    continue_from_gold: bool = False


_RULES: dict[PlanName, PlanRules] = {
    "local": PlanRules(uses_history=False),
    "bs": PlanRules(early_update=True),
    "laso": PlanRules(early_update=True, continue_from_gold=True),
    "bsg": PlanRules(),
    "bibsg": PlanRules(bidirectional=True),
}


@dataclass(frozen=True)
class SearchPlan:
    """How sequences are searched, in training and in prediction.

    name        local   every mention alone, local features only
                bs      beam search, early update: stop when the gold prefix leaves the beam
                laso    as bs, but continue from the gold prefix after an error
                bsg     beam search with the gold path kept in every beam
                bibsg   bsg in both directions, each guided by the other (eq. 10)
    beam_width  hypotheses kept at each step, besides the gold path
    rounds      pairs of forward and backward passes; bibsg only
    """

    name: PlanName = "bsg"
    beam_width: int = 4
    rounds: int = 2

    def __post_init__(self) -> None:
        if self.name not in PLANS:
            raise SettingsError(f"unknown plan {self.name!r}; choose one of {', '.join(PLANS)}")
        check_integer("beam_width", self.beam_width, 1, MAX_BEAM_WIDTH)
        check_integer("rounds", self.rounds, 1, 100)

    @property
    def rules(self) -> PlanRules:
        """The rules of the plan."""
        return _RULES[self.name]

    @property
    def uses_history(self) -> bool:
        """Whether a choice depends on the choices before it."""
        return self.rules.uses_history

    def n_features(self, n_local: int, n_pair: int) -> int:
        """Return the length of a row: local features, then means, then maxima."""
        return n_local + (2 * n_pair if self.uses_history else 0)

    @property
    def bidirectional(self) -> bool:
        """Whether mentions are also visited from last to first."""
        return self.rules.bidirectional


class VisitOrder(NamedTuple):
    """The steps of all documents; row 0 of each table is forward, row 1 backward."""

    step_offsets: Ints  # i4[D+1]
    mention: Ints  # i4[2, S], the mention visited in each step
    step_blocks: Longs  # i8[2, S+1], candidate blocks of all steps before


def visit_order(problems: Problems, visited: Bools, clamp: Ints) -> VisitOrder:
    """Return the order of the mentions marked in `visited`."""
    document = np.repeat(np.arange(len(problems)), np.diff(problems.mention_offsets))
    mention = np.flatnonzero(visited)
    own = document[mention]
    free = clamp[mention] < 0
    steps = np.searchsorted(own, np.arange(len(problems) + 1)).astype(np.int32)
    both = np.empty((2, len(mention)), np.int32)
    if free.all():
        both[0] = mention
        both[1] = mention[(steps[:-1] + steps[1:] - 1)[own] - np.arange(len(mention))]
    else:
        both[0] = mention[np.lexsort((mention, free, own))]
        both[1] = mention[np.lexsort((np.where(free, -mention, mention), free, own))]
    blocks = np.zeros((2, len(mention) + 1), np.int64)
    np.cumsum(np.diff(block_offsets(problems))[both], axis=1, out=blocks[:, 1:])
    return VisitOrder(steps, both, blocks)


def no_clamp(problems: Problems) -> Ints:
    """Return a clamp that leaves all mentions free."""
    return np.full(problems.n_mentions, -1, np.int32)


BLOCK_SIZE = 16


def block_offsets(problems: Problems) -> Longs:
    """Return where the blocks of each mention begin: i8[M+1]."""
    counts = -(-problems.sizes.astype(np.int64) // BLOCK_SIZE)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def bin_local(problems: Problems, binner: Binner, pool: ThreadPool) -> Bytes:
    """Bin the local features into blocks.

    Feature f of mention m, whose k blocks begin at b, is in rows b * n_local + f * k and following.
    """
    offsets = block_offsets(problems)
    out = np.zeros((int(offsets[-1]) * problems.n_local, BLOCK_SIZE), np.uint8)

    def work(first: int, last: int) -> None:
        bin_blocks(
            first, last, problems.candidate_offsets, offsets, problems.local, binner.thresholds,
            binner.n_bins, out,
        )  # fmt: skip

    borders = np.linspace(0, problems.n_mentions, pool.n_threads + 1).astype(np.int64)
    pool.run(work, pairwise(borders))
    return out


class SearchArrays(NamedTuple):
    """The kernels' view of a search.

    The fields of `VisitOrder` are those of the directions that the plan searches.
    """

    mention_offsets: Ints
    candidate_offsets: Ints
    gold: Ints
    entity: Ints
    mention_blocks: Longs  # i8[M+1], where the candidate blocks of each mention begin
    n_local: int
    local: Bytes
    pairs: PairArrays
    global_thresholds: Floats
    step_offsets: Ints
    mention: Ints
    step_blocks: Longs
    clamp: Ints  # i4[M], the choice fixed by the caller, or -1
    forest: ForestArrays
    beam_width: int


class SearchModel(NamedTuple):
    """A forest compiled for search."""

    plan: SearchPlan
    forest: ForestArrays
    n_trees: int  # the number of trees in use
    global_thresholds: Floats  # f4[G, 255]

    @classmethod
    def compiled(
        cls, forest: Forest, plan: SearchPlan, n_local: int, n_pair: int
    ) -> tuple["SearchModel", Binner]:
        """Compile a forest; also return the binner of local features."""
        arrays, binner = forest.compiled(n_local, plan.n_features(n_local, n_pair))
        local, pooled = binner.split(n_local)
        return cls(plan, arrays, forest.n_trees, pooled.thresholds), local


@dataclass(frozen=True, eq=False)
class SearchInput:
    """Documents to search and the model to search them with."""

    problems: Problems
    local: Bytes  # u1[., 16], bins of the local features, as `bin_local` returns them
    model: SearchModel
    clamp: Ints  # i4[M], the choice fixed by the caller, or -1
    pool: ThreadPool

    def arrays(self, order: VisitOrder, beam_width: int) -> SearchArrays:
        """Return the kernels' view."""
        problems, model = self.problems, self.model
        n_directions = 2 if model.plan.bidirectional else 1
        source = problems.pairs if model.plan.uses_history else no_pairs()
        shared = ("mention_offsets", "candidate_offsets", "gold", "entity", "n_local")
        return SearchArrays(
            **{name: getattr(problems, name) for name in shared},
            mention_blocks=block_offsets(problems),
            local=self.local,
            pairs=source.arrays(problems.entity_offsets),
            global_thresholds=model.global_thresholds,
            step_offsets=order.step_offsets,
            mention=order.mention[:n_directions],
            step_blocks=order.step_blocks[:n_directions],
            clamp=self.clamp,
            forest=model.forest,
            beam_width=beam_width,
        )

    def run(self, step_offsets: Ints, task: Callable[[Ints], None]) -> None:
        """Call `task` with shares of the documents, in parallel."""
        steps = np.diff(step_offsets).astype(np.int64)
        candidates = np.diff(self.problems.candidate_offsets[self.problems.mention_offsets])
        if len(steps):
            self.pool.run(task, [(share,) for share in self.pool.shares(candidates * (steps + 16))])


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
        offsets, own = self.candidate_offsets[a : b + 1], slice(d, d + 1)
        return Decoding(
            mention_offsets=np.array([0, b - a], np.int32), probability=self.probability[a:b],
            n_sequences=self.n_sequences[own],
            sequences=self.sequences[: max(1, self.n_sequences[d]), a:b],
            scores=self.scores[own], sequence_probability=self.sequence_probability[own],
            direction=self.direction[own], candidate_offsets=offsets - offsets[0],
            factor=self.factor[offsets[0] : offsets[-1]],
        )  # fmt: skip


def decode(given: SearchInput, n_best: int = 1) -> Decoding:
    """Search all documents for their `n_best` best sequences."""
    problems, plan = given.problems, given.model.plan
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
            given.model.n_trees, out,
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
    problems.check_choices("clamp", fixed)
    return fixed.astype(np.int32)
