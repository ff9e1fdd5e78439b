"""Sparse matrices in CSR form, their strongest latent directions, and functions of arrays.

The elementary functions have equal bits on all processors. Those of numpy differ where there is
AVX-512, and so would trees that are grown on them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sgtb import native
from sgtb.core.dtypes import Doubles, Floats, Ints, Longs


@dataclass(frozen=True)
class SparseMatrix:
    """CSR matrix: row r has data[indptr[r] : indptr[r + 1]] in the same slice of `indices`."""

    indptr: Longs
    indices: Ints
    data: Floats
    n_columns: int

    @classmethod
    def of(
        cls, rows: npt.ArrayLike, columns: npt.ArrayLike, values: npt.ArrayLike,
        shape: tuple[int, int],
    ) -> "SparseMatrix":  # fmt: skip
        """Collect entries; duplicates are added."""
        key = np.asarray(rows, np.int64) * shape[1] + np.asarray(columns, np.int64)
        key, where = np.unique(key, return_inverse=True)
        total = np.bincount(where, np.asarray(values, np.float64), len(key))
        offsets = np.searchsorted(key // max(shape[1], 1), np.arange(shape[0] + 1))
        return cls(
            offsets.astype(np.int64),
            (key % max(shape[1], 1)).astype(np.int32),
            total.astype(np.float32),
            shape[1],
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def rows(self) -> Longs:
        """The row of every entry."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.indptr))

    def with_values(self, values: npt.NDArray[np.floating]) -> "SparseMatrix":
        """Return a matrix with other values in the same places."""
        return SparseMatrix(self.indptr, self.indices, values.astype(np.float32), self.n_columns)

    def unit_rows(self) -> "SparseMatrix":
        """Return the rows scaled to length one."""
        square = np.bincount(self.rows, self.data.astype(np.float64) ** 2, self.n_rows)
        length = np.maximum(np.sqrt(square), 1e-12)
        return self.with_values(self.data / length[self.rows])

    def part(self, first: int, last: int) -> "SparseMatrix":
        """Return rows `first` to `last` - 1."""
        begin, end = self.indptr[first], self.indptr[last]
        offsets = self.indptr[first : last + 1] - begin
        return SparseMatrix(offsets, self.indices[begin:end], self.data[begin:end], self.n_columns)

    def compact(self) -> "SparseMatrix":
        """Return the matrix without its empty columns."""
        used, columns = np.unique(self.indices, return_inverse=True)
        return SparseMatrix(self.indptr, columns.astype(np.int32), self.data, len(used))

    def transposed(self) -> "SparseMatrix":
        """Return columns as rows."""
        return SparseMatrix.of(self.indices, self.rows, self.data, (self.n_columns, self.n_rows))

    def times(self, dense: Doubles | Floats) -> Doubles:
        """Return the product with a dense matrix, summed in float64 and in the order of entries."""
        out = np.zeros((self.n_rows, dense.shape[1]))
        single = dense.dtype == np.float32
        multiply = native.multiply_sparse_f4 if single else native.multiply_sparse_f8
        multiply(self.indptr, self.indices, self.data, np.ascontiguousarray(dense), out)
        return out


_SPARE = 16
_ROUNDS = 6


def latent_directions(matrix: SparseMatrix, width: int, seed: int) -> tuple[Ints, Doubles]:
    """Return the used columns, ascending, and their part of the `width` strongest singular vectors.

    Both are i4[U] and f8[U, width]; a row's latent vector is the row times the directions.
    Randomised subspace iteration: a random start, a few rounds of multiplication, and an exact
    solution of the remaining small problem. Further rounds hardly change the cosines.
    """
    used = np.unique(matrix.indices)
    matrix = matrix.compact()
    width = min(width, matrix.n_rows, matrix.n_columns)
    back = matrix.transposed()
    rng = np.random.default_rng(seed)
    guess = rng.standard_normal((matrix.n_columns, min(width + _SPARE, matrix.n_columns)))
    for _ in range(_ROUNDS):
        guess = np.linalg.qr(back.times(matrix.times(guess)))[0]
    image = matrix.times(guess)
    _, directions = np.linalg.eigh(image.T @ image)  # ascending eigenvalues
    return used, guess @ directions[:, ::-1][:, :width]


def unit(matrix: npt.NDArray[np.floating]) -> Floats:
    """Return the rows scaled to length one; rows of zeros stay."""
    wide = matrix.astype(np.float64)
    length = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    result: Floats = (wide / np.maximum(length, 1e-12)[:, None]).astype(np.float32)
    return result


# Segments: arithmetic within groups of consecutive rows, such as the candidates of a mention.


Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Numbers = npt.NDArray[np.floating]
Scalar = TypeVar("Scalar", bound=np.generic)


def group_of(offsets: Offsets) -> npt.NDArray[np.int64]:
    """Return the group of every row."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def spread(values: npt.NDArray[Scalar], offsets: Offsets) -> npt.NDArray[Scalar]:
    """Return one value per group as one per row."""
    return np.repeat(values, np.diff(offsets), axis=0)


def group_sum(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return the sum of each group, 0 for an empty one."""
    result = np.bincount(group_of(offsets), weights=values, minlength=len(offsets) - 1)
    return np.asarray(result, np.float64)


def group_rows(
    matrix: Floats, rows: Ints | Longs, weights: Doubles, groups: Longs, n_groups: int
) -> Doubles:
    """Return weighted sums of rows of a matrix by ascending group, in float64 and item by item."""
    out = np.zeros((n_groups, matrix.shape[1]))
    indptr = np.searchsorted(groups, np.arange(n_groups + 1))
    native.sum_weighted_rows(indptr, rows.astype(np.int32), weights, matrix, out)
    return out


def group_max(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return the largest value of each group, 0 for an empty one."""
    result = np.zeros(len(offsets) - 1)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        result[filled] = np.maximum.reduceat(values, offsets[:-1][filled])
    return result


def relative(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return each row minus the best of its group: 0 for the best."""
    result = np.empty(len(values))
    native.subtract_best(np.asarray(values, np.float64), np.asarray(offsets, np.int64), result)
    return result


def share(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return each row's share of its group's sum."""
    return values / np.maximum(spread(group_sum(values, offsets), offsets), 1e-300)


def rank(values: Numbers, offsets: Offsets) -> npt.NDArray[np.float64]:
    """Return the number of rows of the group above each row; equals share a rank."""
    result = np.empty(len(values))
    native.count_above(np.asarray(values, np.float64), np.asarray(offsets, np.int64), result)
    return result


def _applied(kernel: Callable[[Doubles, Doubles], None], values: npt.ArrayLike) -> Doubles:
    given = np.ascontiguousarray(values, np.float64)
    out = np.empty_like(given)
    kernel(given.reshape(-1), out.reshape(-1))
    return out


Elementwise = Callable[[npt.ArrayLike], Doubles]
exp: Elementwise = partial(_applied, native.exp_f8)
log: Elementwise = partial(_applied, native.log_f8)
log1p: Elementwise = partial(_applied, native.log1p_f8)
log2: Elementwise = partial(_applied, native.log2_f8)
tanh: Elementwise = partial(_applied, native.tanh_f8)


def log1p_float(values: Floats) -> Floats:
    """Return `log1p` in single precision."""
    out = np.empty_like(values)
    native.log1p_f4(values, out)
    return out
