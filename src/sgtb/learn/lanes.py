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

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.binning import Binner, bin_value
from sgtb.learn.crew import Crew
from sgtb.learn.dtypes import Bytes, Floats, Ints, Longs
from sgtb.learn.problems import Problems

LANES = 16
_AT_ONCE = 64
"""Candidates to bin at a time; what they have of all features fits into the nearest cache."""
_FEW = 64
"""Thresholds that are looked at faster than searched."""


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
    # One place at least: kernels take an address even where there is nothing to read.
    out = np.zeros((max(int(offsets[-1]) * problems.n_local, 1), LANES), np.uint8)
    widest = int(problems.sizes.max(initial=0))
    room = -(-max(widest, _AT_ONCE) // LANES) * LANES

    def work(first: int, last: int) -> None:
        bin_blocks(
            first, last, problems.candidate_offsets, offsets, problems.local, binner.thresholds,
            binner.n_bins, np.zeros(room, np.float32), np.zeros(room, np.int32), out,
        )  # fmt: skip

    borders = np.linspace(0, problems.n_mentions, crew.n_threads + 1).astype(np.int64)
    crew.run([lambda a=a, b=b: work(a, b) for a, b in pairwise(borders)])  # type: ignore[misc]
    return out


@kernel
def bin_blocks(
    first: int, last: int, candidate_offsets: Ints, offsets: Longs, local: Floats,
    thresholds: Floats, n_bins: Ints, values: Floats, bins: Ints, out: Bytes,
) -> None:  # fmt: skip
    """Bin the mentions `first` to `last` - 1, one feature of several of them at a time.

    values, bins  scratch: one feature of as many candidates as there is room for
    """
    n_local = local.shape[1]
    begin = first
    while begin < last:
        row = int64(candidate_offsets[begin])
        end = begin + 1
        while end < last and candidate_offsets[end + 1] - row <= values.shape[0]:
            end += 1
        n = candidate_offsets[end] - row
        for f in range(n_local):
            for c in range(n):
                values[c] = local[row + c, f]
            _bin_column(values, n, thresholds, f, n_bins[f] - 1, bins)
            for m in range(begin, end):
                n_blocks = offsets[m + 1] - offsets[m]
                to, own = offsets[m] * n_local + f * n_blocks, candidate_offsets[m] - row
                for c in range(candidate_offsets[m + 1] - candidate_offsets[m]):
                    out[to + (c >> 4), c & 15] = bins[own + c]
        begin = end


@inner
def _bin_column(
    values: Floats, n: int, thresholds: Floats, f: int, n_thresholds: int, bins: Ints
) -> None:
    """Count the thresholds below each of the first values: few are all looked at, in lanes."""
    if n_thresholds > _FEW:
        for c in range(n):
            bins[c] = bin_value(values[c], thresholds, f)
        return
    row = thresholds[f]
    n_lanes = (n + LANES - 1) // LANES * LANES
    for c in range(n_lanes):
        bins[c] = 0
    for k in range(0, n_thresholds, 4):  # fewer round trips to memory; what is padded counts none
        t0, t1, t2, t3 = row[k], row[k + 1], row[k + 2], row[k + 3]
        for c in range(n_lanes):
            v = values[c]
            bins[c] += np.int32(t0 < v) + np.int32(t1 < v) + np.int32(t2 < v) + np.int32(t3 < v)
