"""Sparse matrices against dense ones, and latent vectors against numpy's decomposition."""

import math

import numpy as np
import pytest

from sgtb import native
from sgtb.core import sparse_matrix
from sgtb.core.sparse_matrix import SparseMatrix, latent_directions, unit


def dense(matrix: SparseMatrix) -> np.ndarray:
    out = np.zeros((matrix.n_rows, matrix.n_columns))
    out[matrix.rows, matrix.indices] = matrix.data
    return out


def sparse(matrix) -> SparseMatrix:
    matrix = np.asarray(matrix, np.float64)
    rows, columns = np.nonzero(matrix)
    return SparseMatrix.of(rows, columns, matrix[rows, columns], matrix.shape)


def random_matrix(seed: int, shape: tuple[int, int]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.3, rng.integers(1, 9, shape), 0).astype(np.float64)


def test_entries_given_twice_are_added_and_ordered():
    found = SparseMatrix.of([2, 0, 2, 2], [1, 3, 0, 1], [5, 1, 7, -2], (4, 5))
    assert found.indptr.tolist() == [0, 1, 1, 3, 3]
    assert found.indices.tolist() == [3, 0, 1]
    assert found.data.tolist() == [1, 7, 3]
    assert found.rows.tolist() == [0, 2, 2]
    assert (found.n_rows, found.n_columns) == (4, 5)
    types = [array.dtype for array in (found.indptr, found.indices, found.data)]
    assert types == [np.int64, np.int32, np.float32]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (5, 8), (9, 4)])
def test_against_dense_matrices(shape):
    matrix = random_matrix(sum(shape), shape)
    found = sparse(matrix)
    np.testing.assert_array_equal(dense(found), matrix)
    np.testing.assert_array_equal(dense(found.transposed()), matrix.T)
    np.testing.assert_array_equal(dense(found.compact()), matrix[:, (matrix != 0).any(axis=0)])
    other = np.random.default_rng(1).standard_normal((shape[1], 3))
    np.testing.assert_allclose(found.times(other), matrix @ other, atol=1e-12)
    narrow = other.astype(np.float32)
    np.testing.assert_array_equal(found.times(narrow), found.times(narrow.astype(np.float64)))
    fortran = np.asfortranarray(other)
    np.testing.assert_array_equal(found.times(fortran), found.times(other))


@pytest.mark.parametrize(("first", "last"), [(0, 9), (0, 0), (2, 5), (8, 9), (9, 9)])
def test_some_rows(first, last):
    matrix = random_matrix(3, (9, 4))
    np.testing.assert_array_equal(dense(sparse(matrix).part(first, last)), matrix[first:last])


def test_unit_rows_have_length_one_or_nothing():
    found = dense(sparse([[3, 0, 4], [0, 0, 0], [0, 2, 0]]).unit_rows())
    np.testing.assert_allclose(found, [[0.6, 0, 0.8], [0, 0, 0], [0, 1, 0]], rtol=1e-6)


def test_other_values_in_the_same_places():
    found = sparse([[3, 0], [1, 2]]).with_values(np.array([1.0, 5.0, 6.0]))
    assert dense(found).tolist() == [[1, 0], [5, 6]]


def latent_vectors(matrix: SparseMatrix, width: int, seed: int) -> np.ndarray:
    """The rows times the directions, at unit length."""
    used, directions = latent_directions(matrix, width, seed)
    assert used.tolist() == sorted(set(matrix.indices.tolist()))
    assert (used.dtype, directions.dtype) == (np.int32, np.float64)
    return unit(dense(matrix)[:, used] @ directions)


@pytest.mark.parametrize("n_columns", [9, 50])  # with all directions, and with some
def test_latent_vectors_have_the_cosines_of_the_strongest_directions(n_columns):
    rng = np.random.default_rng(0)
    left = np.linalg.qr(rng.standard_normal((60, n_columns)))[0]
    right = np.linalg.qr(rng.standard_normal((n_columns, n_columns)))[0]
    matrix = (left * 0.6 ** np.arange(n_columns)) @ right
    u, s, _ = np.linalg.svd(matrix)
    expected = unit(u[:, :4] * s[:4])
    found = latent_vectors(sparse(matrix), 4, seed=3)
    assert found.shape == (60, 4)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-3)
    # One direction after the other, but for signs.
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-3)


def test_latent_vectors_are_the_same_every_time():
    matrix = sparse(random_matrix(2, (40, 30)))
    first = latent_vectors(matrix, 5, seed=0)
    assert first.tobytes() == latent_vectors(matrix, 5, seed=0).tobytes()
    again = [latent_directions(matrix, 5, seed=0)[1].tobytes() for _ in range(2)]
    assert again[0] == again[1]
    # The seed decides where to start, not where it ends.
    other = latent_vectors(matrix, 5, seed=1)
    np.testing.assert_allclose(first @ first.T, other @ other.T, atol=0.02)


def test_latent_vectors_of_little_or_nothing():
    assert latent_vectors(sparse(np.zeros((3, 4))), 2, seed=0).shape == (3, 0)
    assert latent_vectors(sparse(np.zeros((0, 4))), 2, seed=0).shape == (0, 0)
    found = latent_vectors(sparse([[0, 2.0], [0, 0], [0, 1.0]]), 9, seed=0)
    np.testing.assert_allclose(np.abs(found), [[1], [0], [1]], rtol=1e-6)
    assert latent_directions(sparse([[0, 2.0], [0, 0], [0, 1.0]]), 9, seed=0)[0].tolist() == [1]


def test_rows_get_length_one_and_zeros_stay():
    found = unit(np.array([[3.0, 4.0], [0.0, 0.0], [-2.0, 0.0]]))
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0], [-1, 0]], rtol=1e-6)
    assert found.dtype == np.float32
    assert unit(np.zeros((0, 3))).shape == (0, 3)
    assert unit(np.zeros((2, 0))).shape == (2, 0)
    # Squares that float32 cannot hold.
    np.testing.assert_allclose(unit(np.array([[3e30, 4e30]], np.float32)), [[0.6, 0.8]], rtol=1e-6)


@pytest.mark.parametrize("name", ["exp", "log", "log1p", "log2", "tanh"])
def test_elementary_functions_are_those_of_the_c_library(name):
    values = np.minimum(np.random.default_rng(0).lognormal(0, 3, (50, 40)), 700)
    one = getattr(math, name)
    expected = [[one(value) for value in row] for row in values.tolist()]
    assert np.array_equal(getattr(sparse_matrix, name)(values), expected)
    assert np.array_equal(getattr(sparse_matrix, name)(values.T), np.transpose(expected))


def test_logarithms_in_single_precision_are_close():
    values = np.random.default_rng(0).lognormal(0, 3, 1000).astype(np.float32)
    found = sparse_matrix.log1p_float(values)
    assert found.dtype == np.float32
    assert np.allclose(found, np.log1p(values.astype(np.float64)), rtol=2e-7, atol=0)


@pytest.mark.parametrize("kernel", ["exp_f8", "log_f8", "log1p_f8", "log2_f8", "tanh_f8"])
def test_results_of_another_length_are_refused(kernel):
    with pytest.raises(ValueError, match="out"):
        getattr(native, kernel)(np.zeros(3), np.zeros(2))
