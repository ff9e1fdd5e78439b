"""Dense pairs: the table's own numbers, to the bit, and the table where they would be too many."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sgtb.boosting.data import problems as module
from sgtb.boosting.data.pairs import BlockPairs, PairTable, TablePairs, no_pairs
from sgtb.boosting.data.problems import Problems, dense_pairs, with_dense_pairs


def table_of(seed, n_rows=30, widths=(7, 4, 0)):
    rng = np.random.default_rng(seed)
    spaces = [rng.normal(size=(n_rows, width)).astype(np.float32) for width in widths]
    links = []
    for _ in range(2):
        rows, others = rng.integers(0, n_rows, (2, 60))
        links.append((rows, others, rng.integers(1, 5, 60)))
    return PairTable.build(n_rows, spaces, links)


def product(a, b):
    """Add up in the order of columns, rounded after every step, as searches do."""
    total = np.float32(0)
    for x, y in zip(a, b, strict=True):
        total = np.float32(total + np.float32(x * y))
    return total


def naive(pairs, offsets):
    """Ask for one pair after the other."""
    table, values = pairs.table, []
    for first, last in pairwise(offsets):
        entities = [*zip(pairs.row[first:last], pairs.name[first:last], strict=True)]
        for one, name in entities:
            for other, other_name in entities:
                if one != other and name == other_name:  # such two do not support each other
                    values += [0.0] * pairs.n_features
                    continue
                for begin, end in pairwise(table.space_offsets):
                    both = table.vectors[one, begin:end], table.vectors[other, begin:end]
                    values.append(product(*both))
                low, high = sorted((one, other))
                for offset in table.link_offsets:
                    own = slice(offset[low], offset[low + 1])
                    counts = dict(zip(table.link_targets[own], table.link_counts[own], strict=True))
                    values.append(counts.get(high, 0))
    return np.array(values, np.float32)


@pytest.mark.parametrize("seed", range(4))
def test_blocks_hold_what_the_table_says(seed):
    rng = np.random.default_rng(seed)
    pairs_of = [rng.permutation(30)[:n] for n in (5, 0, 1, 12)]
    offsets = np.cumsum([0, *map(len, pairs_of)]).astype(np.int64)
    name = rng.integers(8, size=offsets[-1])
    pairs = TablePairs(np.concatenate(pairs_of).astype(np.int32), table_of(seed), name)
    dense = dense_pairs(pairs, offsets)
    assert dense.n_features == pairs.n_features == 5
    expected = naive(pairs, offsets)
    assert np.count_nonzero(expected) > 100
    np.testing.assert_array_equal(dense.block, expected)


def problems_of(pairs, n=4):
    return Problems(
        np.array([0, 2], np.int32), np.array([0, 2, 4], np.int32), np.array([0, 1], np.int32),
        np.arange(n, dtype=np.int32), np.array([0, n], np.int64), np.zeros((n, 1), np.float32),
        pairs,
    )  # fmt: skip


def test_tables_become_blocks_and_blocks_stay(monkeypatch):
    problems = problems_of(TablePairs.of(np.array([3, 9, 1, 20], np.int32), table_of(0)))
    dense = with_dense_pairs(problems)
    assert isinstance(dense.pairs, BlockPairs)
    assert with_dense_pairs(dense) is dense
    none = replace(problems, pairs=no_pairs())
    assert with_dense_pairs(none) is none
    monkeypatch.setattr(module, "MAX_SIZE", 79)
    assert with_dense_pairs(problems) is problems
    monkeypatch.setattr(module, "MAX_SIZE", 80)
    assert isinstance(with_dense_pairs(problems).pairs, BlockPairs)
