"""Arithmetic within groups of rows, by hand and against plain loops."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.core.sparse_matrix import (
    group_max,
    group_of,
    group_rows,
    group_sum,
    rank,
    relative,
    share,
    spread,
)

OFFSETS = np.array([0, 0, 3, 3, 4, 4], np.int32)  # five groups, three of them empty
VALUES = np.array([1.0, -3.0, 1.0, -5.0])


def test_groups_by_hand():
    assert group_of(OFFSETS).tolist() == [1, 1, 1, 3]
    assert spread(np.array([5, 6, 7, 8, 9]), OFFSETS).tolist() == [6, 6, 6, 8]
    rows = np.arange(10).reshape(5, 2)
    assert spread(rows, OFFSETS).tolist() == [[2, 3], [2, 3], [2, 3], [6, 7]]
    assert group_sum(VALUES, OFFSETS).tolist() == [0, -1, 0, -5, 0]
    assert group_max(VALUES, OFFSETS).tolist() == [0, 1, 0, -5, 0]
    assert relative(VALUES, OFFSETS).tolist() == [0, -4, 0, 0]
    assert share(np.array([1.0, 2.0, 5.0, 4.0]), OFFSETS).tolist() == [1 / 8, 2 / 8, 5 / 8, 1]


def test_the_best_of_a_group_may_be_not_a_number():
    found = relative(np.array([1.0, np.nan, 3.0, np.inf, 2.0]), np.array([0, 3, 5], np.int32))
    np.testing.assert_array_equal(found, [np.nan, np.nan, np.nan, np.nan, -np.inf])


@pytest.mark.parametrize("function", [relative, rank])
@pytest.mark.parametrize("offsets", [[0, 3, 2, 4], [1, 4], [0, 5], [0, 3]])
def test_offsets_that_do_not_fit_are_refused(function, offsets):
    with pytest.raises(ValueError, match=r"^offsets: "):
        function(VALUES, np.array(offsets, np.int32))


def test_the_share_of_nothing_is_nothing():
    assert share(np.zeros(4), OFFSETS).tolist() == [0, 0, 0, 0]


def test_equals_share_a_rank():
    offsets = np.array([0, 5, 5, 7], np.int64)
    values = np.array([2.0, 9.0, 2.0, 1.0, 9.0, 1.0, 1.0])
    assert rank(values, offsets).tolist() == [2, 0, 2, 4, 0, 0, 0]


@pytest.mark.parametrize("function", [group_sum, group_max, relative, share, rank])
def test_no_rows_are_fine(function):
    assert function(np.zeros(0), np.zeros(1, np.int32)).tolist() == []
    n_groups = 3 if function in (group_sum, group_max) else 0
    assert function(np.zeros(0), np.zeros(4, np.int32)).tolist() == [0.0] * n_groups


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.lists(st.integers(-4, 4).map(float), max_size=5), max_size=6))
def test_against_plain_loops(groups):
    values = np.array([value for group in groups for value in group])
    offsets = np.array([0, *itertools.accumulate(map(len, groups))], np.int32)
    assert group_sum(values, offsets).tolist() == [sum(group) for group in groups]
    assert group_max(values, offsets).tolist() == [max(group, default=0.0) for group in groups]
    assert relative(values, offsets).tolist() == [v - max(g) for g in groups for v in g]
    assert rank(values, offsets).tolist() == [sum(w > v for w in g) for g in groups for v in g]
    sums = [math.exp(v) / sum(map(math.exp, g)) for g in groups for v in g]
    np.testing.assert_allclose(share(np.exp(values), offsets), sums)


@pytest.mark.parametrize("width", [0, 1, 7])
def test_weighted_rows_are_added_by_group_in_order(width):
    rng = np.random.default_rng(width)
    matrix = rng.standard_normal((6, width)).astype(np.float32)
    rows, groups = rng.integers(0, 6, 40, np.int32), np.sort(rng.integers(0, 4, 40))
    weights = rng.standard_normal(40)
    expected = np.zeros((5, width))
    np.add.at(expected, groups, matrix[rows] * weights[:, None])
    np.testing.assert_array_equal(group_rows(matrix, rows, weights, groups, 5), expected)
