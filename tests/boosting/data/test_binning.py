"""Binning: bytes that answer every question about a value as the value does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sgtb.boosting.data.binning import Binner
from sgtb.core.thread_pool import ThreadPool

columns = arrays(
    np.float32,
    st.tuples(st.integers(1, 40), st.just(1)),
    elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
)


def bins_of(binner: Binner, values: np.ndarray, threads: int = 1) -> np.ndarray:
    with ThreadPool(threads) as pool:
        return binner.transform(np.asarray(values, np.float32), pool)


def thresholds_of(binner: Binner, feature: int = 0) -> np.ndarray:
    return binner.thresholds[feature, : binner.n_bins[feature] - 1]


@given(columns, columns, st.integers(2, 255))
def test_a_bin_answers_as_its_value_does(fitted, asked, max_bins):
    binner = Binner.fit(fitted, max_bins)
    bins = bins_of(binner, asked)[:, 0]
    for b, threshold in enumerate(thresholds_of(binner)):
        np.testing.assert_array_equal(asked[:, 0] <= threshold, bins <= b)


@given(columns, st.integers(2, 255))
def test_thresholds_rise_and_every_bin_has_members(values, max_bins):
    binner = Binner.fit(values, max_bins)
    cuts = thresholds_of(binner)
    assert np.isfinite(cuts).all()
    assert (np.diff(cuts) > 0).all()
    assert len(cuts) < max_bins
    assert np.isposinf(binner.thresholds[0, len(cuts) :]).all()
    members = np.bincount(bins_of(binner, values)[:, 0], minlength=binner.n_bins[0])
    assert len(members) == binner.n_bins[0]
    assert (members > 0).all()


@given(columns)
def test_few_distinct_values_get_a_bin_each(values):
    binner = Binner.fit(values)
    distinct, number = np.unique(values, return_inverse=True)
    assert binner.n_bins.tolist() == [len(distinct)]
    np.testing.assert_array_equal(bins_of(binner, values).ravel(), number.ravel())


def test_neighbouring_floats_are_told_apart():
    low = np.float32(1)
    high = np.nextafter(low, np.float32(2))
    binner = Binner.fit(np.array([[low], [high]]))
    assert bins_of(binner, [[low], [high]]).ravel().tolist() == [0, 1]


def test_many_values_are_cut_at_quantiles():
    values = np.random.default_rng(0).permutation(10_000).astype(np.float32)[:, None]
    binner = Binner.fit(values, 100)
    members = np.bincount(bins_of(binner, values).ravel())
    assert len(members) == 100
    assert (members.min(), members.max()) == (100, 100)


def test_a_frequent_value_keeps_a_bin_to_itself():
    rare = np.arange(1, 501)
    values = np.concatenate([np.zeros(5000), rare]).astype(np.float32)[:, None]
    binner = Binner.fit(values, 255)
    assert (thresholds_of(binner) > 0).all()
    assert (bins_of(binner, values)[:5000] == 0).all()
    assert (bins_of(binner, values)[5000:] > 0).all()


def test_255_bins_are_used_to_the_last():
    values = np.arange(255, dtype=np.float32)[:, None]
    binner = Binner.fit(values)
    assert binner.n_bins.tolist() == [255]
    assert bins_of(binner, values).ravel().tolist() == list(range(255))
    assert bins_of(binner, [[-1.0], [1e30]]).ravel().tolist() == [0, 254]


def test_values_beyond_the_sample_fall_into_the_outer_bins():
    binner = Binner.fit(np.array([[1.0], [2.0], [3.0]], np.float32))
    assert bins_of(binner, [[-5.0], [99.0]]).ravel().tolist() == [0, 2]


def test_features_without_values_have_one_bin():
    binner = Binner.fit(np.zeros((0, 2), np.float32))
    assert binner.n_bins.tolist() == [1, 1]
    assert bins_of(binner, [[1.0, -1.0]]).tolist() == [[0, 0]]


def test_features_are_binned_by_their_own_thresholds():
    values = np.array([[0, 10], [1, 20], [2, 20]], np.float32)
    binner = Binner.fit(values)
    assert binner.n_bins.tolist() == [3, 2]
    assert bins_of(binner, values).tolist() == [[0, 0], [1, 1], [2, 1]]
    first, rest = binner.split(1)
    assert (first.n_features, rest.n_features) == (1, 1)
    assert bins_of(rest, values[:, 1:]).tolist() == [[0], [1], [1]]


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_do_not_matter(threads):
    values = np.random.default_rng(1).normal(size=(101, 5)).astype(np.float32)
    binner = Binner.fit(values, 20)
    np.testing.assert_array_equal(bins_of(binner, values), bins_of(binner, values, threads))
