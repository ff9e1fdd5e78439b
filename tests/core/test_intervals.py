"""Wilson's interval, against its definition: shares whose score test does not reject."""

import numpy as np
import pytest

from sgtb.core.intervals import wilson_interval


@pytest.mark.parametrize(("right", "n"), [(12, 15), (0, 7), (7, 7), (950, 1000), (1, 2)])
def test_it_holds_the_shares_that_a_score_test_does_not_reject(right, n):
    low, high = wilson_interval(right, n)
    shares = np.linspace(0, 1, 200_001)
    error = np.sqrt(np.maximum(shares * (1 - shares) / n, 1e-300))
    kept = shares[np.abs(right / n - shares) <= 1.959964 * error]
    assert low == pytest.approx(kept.min(), abs=1e-4)
    assert high == pytest.approx(kept.max(), abs=1e-4)


def test_without_mentions_nothing_is_known():
    assert wilson_interval(0, 0) == (0.0, 1.0)
