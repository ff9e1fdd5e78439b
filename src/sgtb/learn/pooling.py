"""Pooling: φ_G(y_t, history), the mean and the maximum of φ_E(y_t, y_t') over the history.

Sums run in float64 in the order in which the history was decided, so the same history gives
the same bits whichever way it was reached. Hypotheses of one beam agree on most decisions:
the pair source is asked once for what several of them decided alike.
"""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import ONE, ZERO, inner, int64, kernel, routine
from sgtb.learn.binning import bin_value
from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.learn.lanes import LANES
from sgtb.learn.pairs import PairArrays, dense_row, gather_vectors, is_dense, pair_values


class Pool(NamedTuple):
    """Scratch for up to K histories of up to T decisions, and mentions of up to N lane blocks.

    histories  i4[K, T]         the entities decided on, first decision first
    gathered   f4[W, N, 16]     the candidates' vectors, side by side
    values     f4[K, E, N, 16]  φ_E of one decision and all candidates
    sums       f8[K, E, N, 16]
    tops       f4[K, E, N, 16]
    """

    histories: Ints
    gathered: Floats
    values: Floats
    sums: Doubles
    tops: Floats


def pool(n_histories: int, n_steps: int, n_candidates: int, pairs: PairArrays) -> Pool:
    """Make the scratch."""
    n_blocks = -(-n_candidates // LANES)
    shape = (n_histories, pairs.n_features, n_blocks, LANES)
    return Pool(
        np.zeros((n_histories, n_steps), np.int32),
        np.zeros((pairs.vectors.shape[1], n_blocks, LANES), np.float32),
        np.zeros(shape, np.float32), np.zeros(shape), np.zeros(shape, np.float32),
    )  # fmt: skip


@routine
def pool_candidates(
    pairs: PairArrays, document: int, entity: Ints, first: int, n: int, p: Pool,
    n_histories: int, length: int,
) -> None:  # fmt: skip
    """Pool φ_E of the candidates entity[first : first + n] under the first histories of `p`."""
    if is_dense(pairs):
        _pool_dense(pairs, document, entity, first, n, p, n_histories, length)
        return
    n_pair = pairs.n_features
    n_blocks, lanes = (n + 15) >> 4, p.sums.shape[3]
    for k in range(n_histories):
        for e in range(n_pair):
            for b in range(n_blocks):
                for i in range(lanes):
                    p.sums[k, e, b, i] = 0.0
                    p.tops[k, e, b, i] = np.float32(-np.inf)
    if length > 0:
        gather_vectors(pairs, document, entity, first, n, p.gathered)
    for t in range(length):
        for k in range(n_histories):
            decided = p.histories[k, t]
            twin = 0
            while p.histories[twin, t] != decided:
                twin += 1
            if twin == k:
                pair_values(pairs, document, decided, entity, first, n, p.gathered, p.values, k)
            for e in range(n_pair):
                for b in range(n_blocks):
                    for i in range(lanes):
                        value = p.values[twin, e, b, i]
                        top = p.tops[k, e, b, i]
                        p.sums[k, e, b, i] += value
                        p.tops[k, e, b, i] = value if value > top else top


@inner
def _pool_dense(
    pairs: PairArrays, document: int, entity: Ints, first: int, n: int, p: Pool,
    n_histories: int, length: int,
) -> None:  # fmt: skip
    """Pool features that are at hand: candidate by candidate, so that sums need no memory.

    Four features at a time need not wait for each other. Twice is as good as once.
    """
    last = pairs.n_features - 1
    for c in range(n):
        row = dense_row(pairs, document, int64(entity[first + c]))
        b, i = c >> 4, c & 15
        for k in range(n_histories):
            for e in range(0, last + 1, 4):
                e1, e2, e3 = min(e + 1, last), min(e + 2, last), min(e + 3, last)
                s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
                m0 = m1 = m2 = m3 = np.float32(-np.inf)
                for t in range(length):
                    at = row + p.histories[k, t] * pairs.n_features
                    v0, v1 = pairs.block[at + e], pairs.block[at + e1]
                    v2, v3 = pairs.block[at + e2], pairs.block[at + e3]
                    s0, s1, s2, s3 = s0 + v0, s1 + v1, s2 + v2, s3 + v3
                    m0, m1 = v0 if v0 > m0 else m0, v1 if v1 > m1 else m1
                    m2, m3 = v2 if v2 > m2 else m2, v3 if v3 > m3 else m3
                p.sums[k, e, b, i], p.sums[k, e1, b, i] = s0, s1
                p.sums[k, e2, b, i], p.sums[k, e3, b, i] = s2, s3
                p.tops[k, e, b, i], p.tops[k, e1, b, i] = m0, m1
                p.tops[k, e2, b, i], p.tops[k, e3, b, i] = m2, m3


@routine
def bin_pool(
    p: Pool, n_histories: int, length: int, n: int, n_pair: int, thresholds: Floats, rows: Longs,
    out: Bytes,
) -> None:  # fmt: skip
    """Bin the means, then the maxima: history k writes its features to out[rows[k] * 2E:]."""
    n_blocks = (n + 15) >> 4
    for k in range(n_histories):
        start = rows[k] * 2 * n_pair
        for c in range(n):
            b, i = c >> 4, c & 15
            for e in range(n_pair):
                mean, top = pooled_value(p, k, e, c, length)
                out[start + e * n_blocks + b, i] = bin_value(mean, thresholds, e)
                out[start + (n_pair + e) * n_blocks + b, i] = bin_value(top, thresholds, n_pair + e)


@inner
def pooled_value(p: Pool, k: int, e: int, c: int, length: int) -> tuple[np.float32, np.float32]:
    """Return mean and maximum of one pair feature; with no history yet both are 0."""
    if length == 0:
        return np.float32(0.0), np.float32(0.0)
    b, i = c >> 4, c & 15
    return np.float32(p.sums[k, e, b, i] / length), p.tops[k, e, b, i]


@kernel
def pool_gold_path(
    pairs: PairArrays, document: int, order: Ints, candidate_offsets: Ints, entity: Ints,
    gold: Ints, p: Pool, out: Floats,
) -> None:  # fmt: skip
    """Write the raw global features that candidates have when all before was decided right.

    This is the sample that chooses the bins of the global features: a row for every
    candidate of the mentions in `order`.
    """
    n_pair = pairs.n_features
    at = 0
    for i in range(order.shape[0]):
        first = candidate_offsets[order[i]]
        n = candidate_offsets[order[i] + 1] - first
        pool_candidates(pairs, document, entity, first, n, p, ONE, i)
        for c in range(n):
            for e in range(n_pair):
                mean, top = pooled_value(p, ZERO, e, c, i)
                out[at, e] = mean
                out[at, n_pair + e] = top
            at += 1
        p.histories[0, i] = entity[first + gold[order[i]]]
