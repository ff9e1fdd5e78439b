"""Calibration: bins that hold what they should, and errors that agree with their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.evaluation import calibration


def test_by_hand():
    found = calibration(np.array([0.95, 0.95, 0.85, 0.3]), np.array([1, 0, 1, 0], bool))
    filled = [(bin.low, bin.n, bin.right, bin.confidence) for bin in found.bins if bin.n]
    assert filled == [
        (0.3, 1, 0, 0.3), (0.8, 1, 1, 0.85), (0.9, 2, 1, 0.95),
    ]  # fmt: skip
    assert found.ece == pytest.approx((0.3 + 0.15 + 2 * 0.45) / 4)
    assert found.brier == pytest.approx((0.05**2 + 0.95**2 + 0.15**2 + 0.3**2) / 4)
    logs = math.log(0.95) + math.log(0.05) + math.log(0.85) + math.log(0.7)
    assert found.log_loss == pytest.approx(-logs / 4)
    assert found.accuracy == 0.5
    assert found.confidence == pytest.approx(0.7625)


def test_borders_belong_to_the_bin_above_and_one_to_the_last():
    confidence = np.array([0.0, 0.1, 0.3, 0.6, 0.7, 1.0])
    bins = calibration(confidence, np.ones(6, bool)).bins
    assert [i for i, bin in enumerate(bins) if bin.n] == [0, 1, 3, 6, 7, 9]
    assert [bin.low for bin in bins] == [i / 10 for i in range(10)]
    assert bins[-1].high == 1


def test_a_certain_mistake_costs_much_but_not_without_end():
    assert calibration(np.array([1.0]), np.array([False])).log_loss == pytest.approx(13.8, abs=0.1)
    assert calibration(np.array([1.0]), np.array([True])).ece == 0


def test_nothing_has_no_error():
    found = calibration(np.zeros(0), np.zeros(0, bool))
    assert found.n == 0
    assert all(map(math.isnan, (found.ece, found.brier, found.log_loss, found.accuracy)))


def slow_error(confidence, right, n_bins):
    error = 0.0
    for i in range(n_bins):
        inside = [
            (c, r) for c, r in zip(confidence, right, strict=True)
            if min(int(c * n_bins), n_bins - 1) == i
        ]  # fmt: skip
        if inside:
            mean = sum(c for c, _ in inside) / len(inside)
            accuracy = sum(r for _, r in inside) / len(inside)
            error += len(inside) / len(confidence) * abs(accuracy - mean)
    return error


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 12),
)
def test_the_error_agrees_with_a_loop(rows, n_bins):
    confidence, right = [c for c, _ in rows], [r for _, r in rows]
    found = calibration(np.array(confidence), np.array(right), n_bins)
    assert found.ece == pytest.approx(slow_error(confidence, right, n_bins))
    assert sum(bin.n for bin in found.bins) == found.n == len(rows)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_what_is_no_probability_is_refused(value):
    with pytest.raises(ProblemsError, match=r"confidence 1 is .* between 0 and 1"):
        calibration(np.array([0.5, value]), np.array([True, True]))


def test_shapes_and_bins_are_checked():
    with pytest.raises(ProblemsError, match="shape"):
        calibration(np.array([0.5]), np.array([True, True]))
    with pytest.raises(SettingsError, match="n_bins"):
        calibration(np.array([0.5]), np.array([True]), 0)
