"""Lanes: the candidates of a mention side by side, in blocks of sixteen.

What is kept per candidate (bins, scores, sums) is kept feature by feature, the values of
sixteen candidates next to each other:

    mention with 11 candidates, 1 block      feature 0   c0 c1 c2 ... c10 -- -- -- -- --
                                             feature 1   c0 c1 c2 ... c10 -- -- -- -- --

A loop over the sixteen places of a block has no gaps, so it becomes a handful of vector
instructions. (It must take its length from an array's shape: the compiler unrolls a loop of
known length before it gets to see vectors in it.) The places left over are computed along
and never read.
"""

from itertools import pairwise

import numpy as np

from sgtb.kernels import kernel
from sgtb.learn.binning import Binner, bin_value
from sgtb.learn.crew import Crew
from sgtb.learn.dtypes import Bytes, Floats, Ints, Longs
from sgtb.learn.problems import Problems

LANES = 16


def block_counts(sizes: Ints | Longs) -> Longs:
    """Return how many blocks mentions of these sizes take."""
    return (np.asarray(sizes, np.int64) + LANES - 1) // LANES


def block_offsets(problems: Problems) -> Longs:
    """Return where the blocks of each mention begin: i8[M+1]."""
    counts = block_counts(np.diff(problems.candidate_offsets))
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def bin_local(problems: Problems, binner: Binner, crew: Crew) -> Bytes:
    """Bin the local features into blocks: feature f of mention m, whose k blocks begin at b, is
    in rows b * n_local + f * k and following.
    """
    offsets = block_offsets(problems)
    # One place at least: kernels take an address even where there is nothing to read.
    out = np.zeros((max(int(offsets[-1]) * problems.n_local, 1), LANES), np.uint8)
    borders = np.linspace(0, problems.n_mentions, crew.n_threads + 1).astype(np.int64)
    crew.run(
        [
            lambda a=a, b=b: bin_blocks(  # type: ignore[misc]
                a, b, problems.candidate_offsets, offsets, problems.local, binner.thresholds, out
            )
            for a, b in pairwise(borders)
        ]
    )
    return out


@kernel
def bin_blocks(
    first: int, last: int, candidate_offsets: Ints, offsets: Longs, local: Floats,
    thresholds: Floats, out: Bytes,
) -> None:  # fmt: skip
    """Bin the mentions `first` to `last` - 1."""
    n_local = local.shape[1]
    for m in range(first, last):
        n_blocks = offsets[m + 1] - offsets[m]
        for c in range(candidate_offsets[m + 1] - candidate_offsets[m]):
            row = candidate_offsets[m] + c
            for f in range(n_local):
                to = offsets[m] * n_local + f * n_blocks + (c >> 4)
                out[to, c & 15] = bin_value(local[row, f], thresholds, f)
