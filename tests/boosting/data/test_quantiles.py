"""Thresholds of values spread over processes against those of all values together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.data.quantiles import SortedColumn, choose_cuts


def cuts_of_parts(parts, max_bins):
    columns = [SortedColumn(part) for part in parts]

    def ask(requests):
        return [
            {f: getattr(column, method)(*args) for f, (method, *args) in requests.items()}
            for column in columns
        ]

    return choose_cuts(ask, [0], max_bins)[0]


def assert_same_cuts(values, n_parts, max_bins):
    found = cuts_of_parts([values[i::n_parts] for i in range(n_parts)], max_bins)
    whole = Binner.fit(values[:, None], max_bins)
    assert len(found) == whole.n_bins[0] - 1
    assert found.tobytes() == whole.thresholds[0, : len(found)].tobytes()


@given(
    arrays(np.float32, st.integers(1, 60), elements=st.floats(width=32, allow_nan=False,
           allow_infinity=False)),
    st.integers(1, 4), st.integers(2, 9),
)  # fmt: skip
def test_thresholds_of_parts_are_those_of_the_whole(values, n_parts, max_bins):
    assert_same_cuts(values, n_parts, max_bins)


@pytest.mark.parametrize("n_parts", [1, 2, 7])
@pytest.mark.parametrize("draw", ["normal", "uniform", "few", "tiny", "steps"])
def test_thresholds_of_many_values(draw, n_parts):
    rng = np.random.default_rng(3)
    values = {
        "normal": lambda: rng.normal(size=20_000),
        "uniform": lambda: rng.random(20_000),
        "few": lambda: rng.integers(-3, 4, size=5_000),
        "tiny": lambda: rng.normal(size=5_000) * 1e-41,  # subnormal
        "steps": lambda: np.repeat(rng.normal(size=400), rng.integers(1, 200, size=400)),
    }[draw]().astype(np.float32)
    assert_same_cuts(values, n_parts, 255)


def test_a_part_without_values():
    values = np.arange(600, dtype=np.float32)
    found = cuts_of_parts([values[:0], values], 255)
    np.testing.assert_array_equal(found, cuts_of_parts([values], 255))
