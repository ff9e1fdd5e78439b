"""Ranked reasons against a plain sort."""

import numpy as np
import pytest

from sgtb.boosting.explain.contributions import Contributions
from sgtb.linking.answers import NEGLIGIBLE, ranked_reasons

N_GROUPS = 3


def arguments(seed: int) -> tuple:
    """Five answers with ties, negligible parts and nothing at all, four of them asked for."""
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 4, 4, 9, 11, 18])
    parts = rng.integers(-3, 4, 18) / 4
    parts[5] = 1e-13
    local = rng.integers(-2, 3, (5, 6)) / 4
    local[4] = 0
    found = Contributions(local, offsets, parts, np.zeros(5))
    return (
        found, np.array([3, 0, 1, 4]), np.array([1.0, -1.0, 1.0, -1.0]), np.array([9, 0, 4, 11]),
        np.array([0, 2, 1, 2, 0, 0]), N_GROUPS,
    )  # fmt: skip


def twin(found, questions, sign, first, group, n_groups) -> list[list[tuple]]:
    ranked = []
    for k, by, row in zip(questions, sign, first, strict=True):
        sums = [sum(found.local[k, group == g].tolist()) for g in range(n_groups)]
        values = [*sums, *found.mentions[found.offsets[k] : found.offsets[k + 1]]]
        codes = [*range(n_groups), *range(n_groups + row, n_groups + row + len(values) - n_groups)]
        kept = [(c, by * v) for c, v in zip(codes, values, strict=True) if abs(v) > NEGLIGIBLE]
        ranked.append(sorted(kept, key=lambda one: -abs(one[1])))
    return ranked


@pytest.mark.parametrize("seed", range(5))
def test_ranked_like_by_a_plain_sort(seed):
    given = arguments(seed)
    counts, code, value = ranked_reasons(*given)
    expected = twin(*given)
    assert counts.tolist() == [len(one) for one in expected]
    found = zip(code.tolist(), value.tolist(), strict=True)
    assert list(found) == [pair for one in expected for pair in one]


def test_no_comparisons_have_no_reasons():
    found, *rest, group, n_groups = arguments(0)
    counts, code, value = ranked_reasons(found, *(a[:0] for a in rest), group, n_groups)
    assert (len(counts), len(code), len(value)) == (0, 0, 0)
