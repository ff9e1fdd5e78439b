"""Neighbours: links among some entities, in either direction."""

import numpy as np

from sgtb.core.dtypes import Ints
from sgtb.core.ragged import Ragged
from sgtb.core.sparse_matrix import SparseMatrix
from sgtb.native import find_rows, join_links


def neighbours(number: Ints, linked: Ragged) -> SparseMatrix:
    """Return the links among entities by row, each a one.

    number  of each entity
    linked  numbers of linked entities, most of them not among these
    """
    n = len(number)
    row, degree = np.empty(len(linked.data), np.int32), np.empty(n, np.int64)
    find_rows(number, linked.indptr, linked.data, row, degree)
    columns, offsets = np.empty(int(degree.sum()), np.int32), np.empty(n + 1, np.int64)
    n_links = join_links(linked.indptr, row, degree, columns, offsets)
    return SparseMatrix(offsets, columns[:n_links].copy(), np.ones(n_links, np.float32), n)
