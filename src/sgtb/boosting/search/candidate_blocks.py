"""Lanes: the candidates of a mention side by side, in blocks of sixteen.

What is kept per candidate (bins, scores, sums) is kept feature by feature, the values of
sixteen candidates next to each other:

    mention with 11 candidates, 1 block      feature 0   c0 c1 c2 ... c10 -- -- -- -- --
                                             feature 1   c0 c1 c2 ... c10 -- -- -- -- --

A loop over the sixteen places of a block has no gaps, so it becomes a handful of vector
instructions. The places left over are computed along and never read.
"""

from itertools import pairwise

import numpy as np

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Bytes, Ints, Longs
from sgtb.core.thread_pool import Crew
from sgtb.native import bin_blocks

LANES = 16


def block_counts(sizes: Ints | Longs) -> Longs:
    """Return how many blocks mentions of these sizes take."""
    return (np.asarray(sizes, np.int64) + LANES - 1) // LANES


def block_offsets(problems: Problems) -> Longs:
    """Return where the blocks of each mention begin: i8[M+1]."""
    counts = block_counts(problems.sizes)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def bin_local(problems: Problems, binner: Binner, crew: Crew) -> Bytes:
    """Bin the local features into blocks: feature f of mention m, whose k blocks begin at b, is
    in rows b * n_local + f * k and following.
    """
    offsets = block_offsets(problems)
    out = np.zeros((int(offsets[-1]) * problems.n_local, LANES), np.uint8)

    def work(first: int, last: int) -> None:
        bin_blocks(
            first, last, problems.candidate_offsets, offsets, problems.local, binner.thresholds,
            binner.n_bins, out,
        )  # fmt: skip

    borders = np.linspace(0, problems.n_mentions, crew.n_threads + 1).astype(np.int64)
    crew.run([lambda a=a, b=b: work(a, b) for a, b in pairwise(borders)])  # type: ignore[misc]
    return out
