"""Input of a beam search: problems on bins, the order of visits, the forest."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sgtb.boosting.data.pairs import PairArrays, no_pairs
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.candidate_blocks import block_offsets
from sgtb.boosting.search.plan import SearchPlan
from sgtb.boosting.search.visit_order import VisitOrder
from sgtb.boosting.trees.forest import ForestArrays
from sgtb.boosting.trees.tree_masks import TreeMasks
from sgtb.core.dtypes import Bytes, Floats, Ints, Longs
from sgtb.core.thread_pool import ThreadPool


class SearchArrays(NamedTuple):
    """The kernels' view of a search.

    mention_blocks  i8[M+1]   where the candidate blocks of each mention begin
    step_offsets  i4[D+1]     the steps of each document; a step visits one mention
    mention       i4[2, S]    the mention of each step, forward and backward
    step_blocks   i8[2, S+1]  candidate blocks of all steps before
    clamp         i4[M]       the choice fixed by the caller, or -1
    """

    mention_offsets: Ints
    candidate_offsets: Ints
    gold: Ints
    entity: Ints
    mention_blocks: Longs
    n_local: int
    local: Bytes
    pairs: PairArrays
    global_thresholds: Floats
    step_offsets: Ints
    mention: Ints
    step_blocks: Longs
    clamp: Ints
    forest: ForestArrays
    beam_width: int


class SearchModel(NamedTuple):
    """A forest compiled for search.

    n_trees            the number of trees in use
    global_thresholds  f4[G, 255]
    masks              None: trees are walked, or masked one by one, which takes longer
    """

    plan: SearchPlan
    forest: ForestArrays
    n_trees: int
    global_thresholds: Floats
    masks: TreeMasks | None = None


@dataclass(frozen=True, eq=False)
class SearchInput:
    """Documents to search and the model to search them with.

    local  u1[., 16]  bins of the local features, as `bin_local` returns them
    clamp  i4[M]      the choice fixed by the caller, or -1
    """

    problems: Problems
    local: Bytes
    model: SearchModel
    clamp: Ints
    pool: ThreadPool

    def arrays(self, order: VisitOrder, beam_width: int) -> SearchArrays:
        """Return the kernels' view."""
        problems, model = self.problems, self.model
        n_directions = 2 if model.plan.bidirectional else 1
        source = problems.pairs if model.plan.uses_history else no_pairs()
        return SearchArrays(
            mention_offsets=problems.mention_offsets,
            candidate_offsets=problems.candidate_offsets,
            gold=problems.gold,
            entity=problems.entity,
            mention_blocks=block_offsets(problems),
            n_local=problems.n_local,
            local=self.local,
            pairs=source.arrays(problems.entity_offsets),
            global_thresholds=model.global_thresholds,
            step_offsets=order.step_offsets,
            mention=order.mention[:n_directions],
            step_blocks=order.block_offsets[:n_directions],
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
