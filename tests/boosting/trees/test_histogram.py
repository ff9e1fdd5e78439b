"""Histograms against a plain double loop; packed sums are exact, subtraction too."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sgtb.boosting.trees.histogram import BINS, Grid, Magnitudes, build_histogram, padded
from sgtb.core.thread_pool import ThreadPool


def naive_histogram(x, n_features, packed, rows):
    """The twin: one row, one feature, one addition at a time, in Python's integers."""
    total = [[0] * BINS for _ in range(n_features)]
    for row in rows:
        for f in range(n_features):
            total[f][x[row, f]] += int(packed[row])
    return total


def random_rows(seed, n, n_features):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 255, size=(n, padded(n_features)), dtype=np.uint8)
    return x, rng.normal(size=n), rng.permutation(n).astype(np.int32)


def pack_all(residuals):
    """Pack residuals, one per row; return them with the grid."""
    n, grid = len(residuals), Grid.of(Magnitudes.of(residuals))
    return grid.pack(residuals, np.arange(n, dtype=np.int32), n), *grid


residuals_of = arrays(
    np.float64, st.integers(0, 50), elements=st.floats(-1e6, 1e6, allow_subnormal=False)
)


@pytest.mark.parametrize(("n", "n_features"), [(0, 8), (1, 8), (37, 3), (90, 21)])
def test_histogram_equals_the_double_loop(n, n_features):
    x, residuals, rows = random_rows(n, n, n_features)
    packed = pack_all(residuals)[0]
    with ThreadPool(1) as pool:
        for chosen in (rows, rows[: n // 3]):
            found = build_histogram(x, n_features, packed, chosen, pool)
            assert found.tolist() == naive_histogram(x, n_features, packed, chosen)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_add_up_to_the_same_bits(threads):
    x, residuals, rows = random_rows(0, 20_000, 9)  # enough for all of them to get a part
    packed = pack_all(residuals)[0]
    with ThreadPool(1) as one, ThreadPool(threads) as several:
        alone = build_histogram(x, 9, packed, rows, one)
        np.testing.assert_array_equal(alone, build_histogram(x, 9, packed, rows, several))
    np.testing.assert_array_equal(alone.sum(axis=1), packed.sum())


def test_a_sibling_is_its_parent_minus_the_other_one():
    x, residuals, rows = random_rows(1, 60, 9)
    packed = pack_all(residuals)[0]
    with ThreadPool(1) as pool:
        parent, left, right = (
            build_histogram(x, 9, packed, part, pool) for part in (rows, rows[:17], rows[17:])
        )
    np.testing.assert_array_equal(parent - left, right)


@given(residuals_of)
def test_packing_keeps_count_and_sum(residuals):
    packed, count_bits, scale = pack_all(residuals)
    total = sum(packed.tolist())  # Python's integers: nothing overflows unseen
    assert -(2**63) <= total < 2**63
    assert total & ((1 << count_bits) - 1) == len(residuals)
    rounded = [round(r * scale) for r in residuals.tolist()]
    assert total >> count_bits == sum(rounded)


@given(residuals_of)
def test_packing_uses_the_room_there_is(residuals):
    """The grid is within a factor of a few of the finest one on which nothing overflows."""
    packed, count_bits, scale = pack_all(residuals)
    bound = np.abs(residuals).sum()
    if bound > 1e-200:
        assert 2.0**59 <= bound * scale * 2**count_bits <= 2.0**62
        sums = np.cumsum(np.abs(packed >> count_bits).astype(object))
        assert all(abs(int(s)) < 2 ** (63 - count_bits) for s in sums)


@pytest.mark.parametrize("value", [0.0, 1e-200, 1e-30, 1.0, 1e30])
def test_packing_residuals_of_any_size(value):
    residuals = np.array([value, -value, value])
    packed, count_bits, scale = pack_all(residuals)
    back = (packed >> count_bits) / scale
    np.testing.assert_allclose(back, residuals, rtol=1e-9)


@given(
    arrays(
        np.float64, st.integers(0, 40), elements=st.floats(allow_nan=False, allow_infinity=False)
    )
)
def test_magnitudes_add_up_exactly(residuals):
    whole = Magnitudes.of(residuals)
    total = sum(int(digit) * Fraction(2) ** (32 * i - 1075) for i, digit in enumerate(whole.digits))
    assert total == sum(abs(Fraction(residual)) for residual in residuals.tolist())
    if total:
        assert Fraction(2) ** (whole.exponent - 1) <= total < Fraction(2) ** whole.exponent
    parts = [Magnitudes.of(part) for part in (residuals[::2].copy(), residuals[1::2].copy())]
    np.testing.assert_array_equal(whole.digits, parts[0].digits + parts[1].digits)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_magnitudes_of_no_number_are_refused(value):
    with pytest.raises(ValueError, match="residuals: a value is not finite"):
        Magnitudes.of(np.array([0.5, value]))


def test_rows_are_padded_to_words():
    assert [padded(n) for n in (0, 1, 8, 9, 50)] == [0, 8, 8, 16, 56]
