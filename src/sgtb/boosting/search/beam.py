"""What a beam search reads: problems on bins, the order of visits, the forest."""

from typing import NamedTuple

from sgtb.boosting.data.pairs import PairArrays
from sgtb.boosting.trees.forest import ForestArrays
from sgtb.core.dtypes import Bytes, Floats, Ints, Longs


class SearchArrays(NamedTuple):
    """What a search reads: problems on bins, the order of visits, the forest.

    step_offsets  i4[D+1]     the steps of each document; a step visits one mention
    mention       i4[2, S]    the mention of each step, forward and backward
    step_blocks   i8[2, S+1]  lane blocks of all steps before
    mention_blocks  i8[M+1]   where the lane blocks of each mention begin
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
