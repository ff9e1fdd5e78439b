"""Candidate blocks: the candidates of a mention side by side, in blocks of sixteen.

Values per candidate (bins, scores, sums) are stored feature by feature, those of sixteen
candidates next to each other:

    mention with 11 candidates, 1 block      feature 0   c0 c1 c2 ... c10 -- -- -- -- --
                                             feature 1   c0 c1 c2 ... c10 -- -- -- -- --

A loop over the sixteen places of a block compiles to a few vector instructions. The unused
places are computed as well, and never read.
"""

from itertools import pairwise

import numpy as np

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Bytes, Ints, Longs
from sgtb.core.thread_pool import ThreadPool
from sgtb.native import bin_blocks

BLOCK_SIZE = 16


def block_counts(sizes: Ints | Longs) -> Longs:
    """Return the number of blocks of mentions with these numbers of candidates."""
    return (np.asarray(sizes, np.int64) + BLOCK_SIZE - 1) // BLOCK_SIZE


def block_offsets(problems: Problems) -> Longs:
    """Return where the blocks of each mention begin: i8[M+1]."""
    counts = block_counts(problems.sizes)
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
