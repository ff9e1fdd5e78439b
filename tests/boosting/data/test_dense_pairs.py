"""Pair features of a table: those of plain loops, to the bit, in searches and explanations."""

from dataclasses import replace

import numpy as np
import pytest

from sgtb.boosting import SearchPlan
from sgtb.boosting.data.pairs import PairTable, TablePairs
from sgtb.boosting.search.collector import gold_path_rows
from tests.helpers.naive_pairs import dense_pairs
from tests.helpers.problem_builders import estimator, random_problems


def table_of(rng, n_rows=30, widths=(7, 4, 0)):
    spaces = [rng.normal(size=(n_rows, width)).astype(np.float32) for width in widths]
    links = []
    for _ in range(2):
        rows, others = rng.integers(0, n_rows, (2, 60))
        links.append((rows, others, rng.integers(1, 5, 60)))
    return PairTable.build(n_rows, spaces, links)


@pytest.mark.parametrize("seed", range(4))
def test_tables_and_blocks_of_the_same_values_agree(seed):
    rng = np.random.default_rng(seed)
    plan = SearchPlan("bibsg")
    blocks = random_problems(rng, n_documents=6, max_mentions=6, max_candidates=20)
    offsets = blocks.entity_offsets
    sizes = np.diff(offsets)
    rows = [rng.permutation(max(30, sizes.max()))[:n] for n in sizes]
    name = rng.integers(8, size=offsets[-1])
    table = table_of(rng, max(30, sizes.max()))
    pairs = TablePairs(np.concatenate(rows).astype(np.int32), table, name)
    dense = dense_pairs(pairs, offsets)
    assert np.count_nonzero(dense.block) > 100
    both = replace(blocks, pairs=pairs), replace(blocks, pairs=dense)
    documents = np.arange(len(blocks), dtype=np.int32)
    a, b = (gold_path_rows(p, plan, documents) for p in both)
    np.testing.assert_array_equal(a, b)
    fitted = estimator(plan, n_trees=7).fit(both[0])
    decoded = [fitted.decode(p) for p in both]
    np.testing.assert_array_equal(decoded[0].factor, decoded[1].factor)
    scores = [
        fitted.counterfactuals(p, d, margin=np.inf).score
        for p, d in zip(both, decoded, strict=True)
    ]
    np.testing.assert_array_equal(*scores)
