"""VisitOrder: the order in which a search visits the mentions of each document.

Forward is first to last, backward last to first. Clamped mentions come before all others, so
that every other choice has them in its history.
"""

from typing import NamedTuple

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.candidate_blocks import block_counts
from sgtb.core.dtypes import Bools, Ints, Longs


class VisitOrder(NamedTuple):
    """The steps of all documents; row 0 of each table is forward, row 1 backward.

    step_offsets  i4[D+1]
    mention       i4[2, S]    the mention visited in each step
    block_offsets i8[2, S+1]  candidate blocks of all steps before
    """

    step_offsets: Ints
    mention: Ints
    block_offsets: Longs


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
    np.cumsum(block_counts(problems.sizes)[both], axis=1, out=blocks[:, 1:])
    return VisitOrder(steps, both, blocks)


def no_clamp(problems: Problems) -> Ints:
    """Return a clamp that leaves all mentions free."""
    return np.full(problems.n_mentions, -1, np.int32)
