"""Ranked reasons against a plain sort, and arrays that the kernel refuses."""

from typing import Any

import numpy as np
import pytest

from sgtb.boosting.explain.contributions import Contributions
from sgtb.native import rank_reasons

N_GROUPS, LEAST = 3, 1e-12
NAMES = (
    "contributions", "comparisons", "sign", "first", "group", "n_groups", "least", "counts", "code",
    "value",
)  # fmt: skip


def arguments(seed: int = 0) -> dict[str, Any]:
    """Five answers with ties, negligible parts and nothing at all, four of them asked for."""
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 4, 4, 9, 11, 18])
    parts = rng.integers(-3, 4, 18) / 4
    parts[5] = 1e-13
    local = rng.integers(-2, 3, (5, 6)) / 4
    local[4] = 0
    found = Contributions(local, offsets, parts, np.zeros(5))
    questions = np.array([3, 0, 1, 4])
    most = int(np.diff(offsets)[questions].sum()) + N_GROUPS * len(questions)
    given = (
        found, questions, np.array([1.0, -1.0, 1.0, -1.0]), np.array([9, 0, 4, 11]),
        np.array([0, 2, 1, 2, 0, 0]), N_GROUPS, LEAST, np.zeros(4, np.int64),
        np.zeros(most, np.int64), np.zeros(most),
    )  # fmt: skip
    return dict(zip(NAMES, given, strict=True))


def twin(found, questions, sign, first, group, n_groups, least, *_out) -> list[list[tuple]]:
    ranked = []
    for k, by, row in zip(questions, sign, first, strict=True):
        sums = np.bincount(group, found.local[k], n_groups)
        values = [*sums, *found.mentions[found.offsets[k] : found.offsets[k + 1]]]
        codes = [*range(n_groups), *range(n_groups + row, n_groups + row + len(values) - n_groups)]
        kept = [(c, by * v) for c, v in zip(codes, values, strict=True) if abs(v) > least]
        ranked.append(sorted(kept, key=lambda one: -abs(one[1])))
    return ranked


@pytest.mark.parametrize("seed", range(5))
def test_ranked_like_by_a_plain_sort(seed):
    given = arguments(seed)
    n = rank_reasons(*given.values())
    expected = twin(*given.values())
    assert given["counts"].tolist() == [len(one) for one in expected]
    found = zip(given["code"][:n].tolist(), given["value"][:n].tolist(), strict=True)
    assert list(found) == [pair for one in expected for pair in one]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("comparisons", np.array([0, 1, 2, 5])),
        ("comparisons", np.array([0, 1, 2, -1])),
        ("comparisons", np.zeros(4, np.int32)),
        ("sign", np.zeros(3)),
        ("first", np.zeros(5, np.int64)),
        ("group", np.array([0, 1, 2, 3, 0, 0])),
        ("group", np.zeros(5, np.int64)),
        ("counts", np.zeros(3, np.int64)),
        ("code", np.zeros(9, np.int64)),
        ("value", np.zeros(60)[::2]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        rank_reasons(*(arguments() | {name: value}).values())


@pytest.mark.parametrize("offsets", [[0, 4, 3, 9, 11, 18], [0, 4, 4, 9, 11, 19], [0, 18]])
def test_offsets_that_do_not_add_up_are_refused(offsets):
    given = arguments()
    found = given["contributions"]
    wrong = Contributions(found.local, np.array(offsets), found.mentions, found.total)
    with pytest.raises(ValueError, match="offsets"):
        rank_reasons(*(given | {"contributions": wrong}).values())
