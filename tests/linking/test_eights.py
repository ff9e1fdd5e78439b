"""Eights: to the bit what plain loops give, in registers as in arrays."""

import numpy as np
import pytest

from sgtb.kernels import kernel
from sgtb.linking.eights import (
    EIGHT,
    above,
    column,
    doubles,
    fill_panels,
    larger,
    load,
    multiply_panels,
    panel_room,
    store,
    zeros,
)


@kernel
def sum_and_largest(values, weights, begin, total, largest):
    best = zeros()
    sums = doubles(best)
    for k in range(len(weights)):
        x = load(values[k], begin)
        sums = sums + weights[k] * doubles(x)
        best = larger(best, x)
    store(sums, total, 0)
    store(best, largest, 1)


@kernel
def count_above(values, bound, out):
    n = zeros()
    for k in range(len(values)):
        n = n + above(load(values[k], 0), load(bound, 0))
    store(n, out, 1)


@kernel
def transposed(values, begin, out):
    for k in range(len(out)):
        store(column(values, begin, k), out[k], 0)


@kernel
def products(rows, n, first, last, panels, out):
    fill_panels(rows, len(rows) - EIGHT, panels)
    multiply_panels(rows, n, panels, first, last, out)


def floats(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.nojit
@pytest.mark.parametrize("begin", [0, 1, 5])
def test_sums_of_doubles_and_the_largest(begin):
    values, weights = floats(1, 7, 13), np.random.default_rng(2).standard_normal(7)
    total, largest = np.zeros(EIGHT), np.full(EIGHT + 2, -1, np.float32)
    sum_and_largest(values, weights, begin, total, largest)
    for i in range(EIGHT):
        expected = 0.0
        for k in range(7):
            expected += float(weights[k]) * float(values[k, begin + i])
        assert total[i] == expected
        assert largest[i + 1] == max(0, *values[:, begin + i])
    assert largest[0] == largest[-1] == -1


@pytest.mark.nojit
def test_counts_are_written_to_bytes():
    values, bound = floats(4, 200, EIGHT), floats(5, EIGHT)
    bound[2], bound[4], values[3, 5] = -np.inf, values[7, 4], np.nan
    out = np.full(EIGHT + 2, 255, np.uint8)
    count_above(values, bound, out)
    np.testing.assert_array_equal(out[1:-1], (values > bound).sum(axis=0))
    assert out[0] == out[-1] == 255


@pytest.mark.nojit
def test_a_column_of_eight_rows():
    values = floats(3, 12, 5)
    out = np.zeros((5, EIGHT), np.float32)
    transposed(values, 3, out)
    np.testing.assert_array_equal(out, values[3 : 3 + EIGHT].T)


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("n", "n_others", "first", "width"),
    [(1, 1, 0, 3), (6, 16, 0, 4), (7, 17, 1, 5), (13, 40, 2, 1), (5, 24, 0, 0), (0, 9, 0, 3)],
)
def test_products_keep_the_order_of_every_sum(n, n_others, first, width):
    rows = floats(n_others, n_others + EIGHT, width)
    n_panels = -(-n_others // EIGHT)
    out = np.zeros((n + EIGHT, (n_panels + 1) * EIGHT), np.float32)
    panels = np.zeros(panel_room(n_others, width), np.float32)
    products(rows, n, first, n_panels, panels, out)
    for i in range(n):
        for j in range(first * EIGHT, n_others):
            total = np.float32(0)
            for k in range(width):
                total += rows[i, k] * rows[j, k]
            assert out[i, j - first * EIGHT] == total
