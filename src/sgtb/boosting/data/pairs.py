"""Pair sources: φ_E(a, b), the features of two candidates chosen together, computed on demand.

A source is symmetric and defined for two entities of one document, by their document-local
numbers. There are two kinds:

    BlockPairs   a dense block per document, entities × entities × features. Simple, fast, and
                 quadratic in memory: for small documents.
    TablePairs   one table for all documents: vectors (a feature is a dot product) and
                 sparse link counts (a feature is a count, 0 where there is none).
                 Documents hold row numbers only, so a document may have any size.

Kernels read either as one `PairArrays`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Floats, Ints, Longs
from sgtb.core.errors import ProblemsError
from sgtb.core.sparse_matrix import SparseMatrix

_BLOCK, _TABLE = 0, 1


class PairArrays(NamedTuple):
    """The kernels' view of a pair source; the fields of the other kind are empty."""

    kind: int
    n_features: int
    entity_offsets: Longs
    block_offsets: Longs = np.zeros(1, np.int64)
    block: Floats = np.zeros(0, np.float32)
    row: Ints = np.zeros(0, np.int32)
    name: Longs = np.zeros(0, np.int64)
    vectors: Floats = np.zeros((0, 0), np.float32)
    space_offsets: Longs = np.zeros(1, np.int64)
    link_offsets: Longs = np.zeros((0, 1), np.int64)
    link_targets: Ints = np.zeros(0, np.int32)
    link_counts: Floats = np.zeros(0, np.float32)


@dataclass(frozen=True)
class PairTable:
    """Vectors and sparse link counts of all entities, shared by all documents."""

    vectors: Floats  # f4[N, W], the vector spaces side by side
    space_offsets: Longs  # i8[S+1], the columns of each space
    link_offsets: Longs  # i8[R, N+1], per relation, the slice of links of each row
    link_targets: Ints  # i4[...], the other row, never lower than its own, ascending
    link_counts: Floats  # f4[...]

    def __post_init__(self) -> None:
        """Raise unless kernels can read the table without further checks."""
        spaces, links, targets = self.space_offsets, self.link_offsets, self.link_targets
        types = [array.dtype for array in vars(self).values()]
        if types != [np.float32, np.int64, np.int64, np.int32, np.float32]:
            raise ProblemsError("a pair table's arrays have the wrong types; use PairTable.build")
        if self.vectors.ndim != 2 or spaces.ndim != 1 or links.ndim != 2:
            raise ProblemsError("a pair table's arrays have the wrong number of dimensions")
        if len(spaces) < 1 or spaces[0] != 0 or spaces[-1] != self.vectors.shape[1]:
            raise ProblemsError("the vector spaces of a pair table do not add up to its columns")
        if (np.diff(spaces) < 0).any():
            raise ProblemsError("the space offsets of a pair table decrease")
        if links.shape[1] != self.n_rows + 1 or len(targets) != len(self.link_counts):
            raise ProblemsError("the links of a pair table do not fit its rows")
        falls = (np.diff(links) < 0).any()
        if falls or (links.size and (links.min() < 0 or links.max() > len(targets))):
            raise ProblemsError("the link offsets of a pair table do not add up")
        if len(targets) and (targets.min() < 0 or targets.max() >= self.n_rows):
            raise ProblemsError(f"a link of a pair table leads outside its {self.n_rows} rows")
        if not np.isfinite(self.vectors).all() or not np.isfinite(self.link_counts).all():
            raise ProblemsError("a pair table holds a NaN or infinite value")

    @classmethod
    def build(
        cls,
        n_rows: int,
        spaces: Sequence[npt.ArrayLike] = (),
        links: Sequence[tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]] = (),
    ) -> "PairTable":
        """Make a table of `n_rows` entities.

        `spaces` are matrices of one row per entity; scale the rows to unit length to make
        the feature a cosine. Each of `links` is (rows, other rows, counts); direction does
        not matter, and the counts of a pair named twice are added.
        """
        columns = [np.zeros((n_rows, 0), np.float32)]
        for s, given in enumerate(spaces):
            space = np.asarray(given, dtype=np.float32)
            if space.ndim != 2 or space.shape[0] != n_rows:
                raise ProblemsError(
                    f"vector space {s} has shape {space.shape}; it needs {n_rows} rows"
                )
            columns.append(space)
        vectors = np.ascontiguousarray(np.concatenate(columns, axis=1))
        starts = np.cumsum([space.shape[1] for space in columns], dtype=np.int64)
        parts = [_sorted_links(n_rows, r, *given) for r, given in enumerate(links)]
        return cls(vectors, starts, *_joined_links(n_rows, parts))

    def take(self, rows: Longs) -> "PairTable":
        """Return the table of some rows, in ascending order, and of the links among them."""
        parts = []
        for offsets in self.link_offsets:
            at = _slices(offsets, rows)
            target = np.searchsorted(rows, self.link_targets[at])
            kept = np.append(rows, -1)[target] == self.link_targets[at]
            ends = np.concatenate([[0], np.cumsum(np.diff(offsets)[rows])])
            start = np.concatenate([[0], np.cumsum(kept)])[ends]
            parts.append((start, target[kept], self.link_counts[at[kept]]))
        return PairTable(self.vectors[rows], self.space_offsets, *_joined_links(len(rows), parts))

    @property
    def n_rows(self) -> int:
        """Number of entities."""
        return int(self.vectors.shape[0])

    @property
    def n_features(self) -> int:
        """One feature per vector space, then one per relation."""
        return len(self.space_offsets) - 1 + len(self.link_offsets)


@dataclass(frozen=True)
class BlockPairs:
    """A dense block of pair features per document.

    `block` holds, document after document, the n × n × `n_features` values of its n
    entities, flattened.
    """

    block: Floats
    n_features: int

    def check(self, entity_offsets: Longs) -> None:
        """Raise if the blocks do not fit the documents' entities."""
        if self.n_features < 0 or self.block.ndim != 1 or self.block.dtype != np.float32:
            raise ProblemsError("a pair block is one flat array of float32 with n_features >= 0")
        offsets = self._offsets(entity_offsets)
        if offsets[-1] != len(self.block):
            raise ProblemsError(
                f"the pair blocks hold {len(self.block)} values, but the documents' entities "
                f"need {offsets[-1]} (entities² × {self.n_features} per document)"
            )
        sizes = np.diff(entity_offsets)
        for d, n in enumerate(sizes):
            values = self.block[offsets[d] : offsets[d + 1]].reshape(n, n, self.n_features)
            if not np.isfinite(values).all():
                raise ProblemsError(f"document {d}: a pair feature is NaN or infinite")
            if not np.array_equal(values, values.transpose(1, 0, 2)):
                raise ProblemsError(
                    f"document {d}: pair features are not symmetric; f(a, b) must equal f(b, a)"
                )

    def arrays(self, entity_offsets: Longs) -> PairArrays:
        """Return the kernels' view."""
        offsets = self._offsets(entity_offsets)
        return PairArrays(
            _BLOCK, self.n_features, entity_offsets, block_offsets=offsets, block=self.block
        )

    def take(self, documents: Longs, entity_offsets: Longs) -> "BlockPairs":
        """Return the pairs of some documents."""
        offsets = self._offsets(entity_offsets)
        return BlockPairs(self.block[_slices(offsets, documents)], self.n_features)

    def _offsets(self, entity_offsets: Longs) -> Longs:
        sizes = np.diff(entity_offsets) ** 2 * self.n_features
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


@dataclass(frozen=True)
class TablePairs:
    """Pair features looked up in a shared table.

    Two entities of one name do not support each other: all features of such a pair are 0.

    row   i4[E], the row of every entity of every document
    name  i8[E], equal for two entities of a document that have one name
    """

    row: Ints
    table: PairTable
    name: Longs

    @classmethod
    def of(cls, row: Ints, table: PairTable) -> "TablePairs":
        """Return the pairs of entities with a name each."""
        return cls(row, table, np.arange(len(row)))

    @property
    def n_features(self) -> int:
        """Number of pair features."""
        return self.table.n_features

    def check(self, entity_offsets: Longs) -> None:
        """Raise if a row number is missing or outside the table, or a name is missing."""
        if self.row.ndim != 1 or self.row.dtype != np.int32:
            raise ProblemsError("the rows of entities must be one flat array of int32")
        if self.name.shape != self.row.shape or self.name.dtype != np.int64:
            raise ProblemsError("the names of entities must be an array of int64, one per row")
        if len(self.row) != entity_offsets[-1]:
            raise ProblemsError(
                f"{len(self.row)} table rows are given for {entity_offsets[-1]} entities"
            )
        bad = np.flatnonzero((self.row < 0) | (self.row >= self.table.n_rows))
        if len(bad):
            document = int(np.searchsorted(entity_offsets, bad[0], side="right")) - 1
            raise ProblemsError(
                f"document {document}: entity {bad[0] - entity_offsets[document]} points to row "
                f"{self.row[bad[0]]} of a pair table with {self.table.n_rows} rows"
            )

    def arrays(self, entity_offsets: Longs) -> PairArrays:
        """Return the kernels' view."""
        return PairArrays(
            _TABLE,
            self.n_features,
            entity_offsets,
            row=self.row,
            name=self.name,
            **vars(self.table),
        )

    def take(self, documents: Longs, entity_offsets: Longs) -> "TablePairs":
        """Return the pairs of some documents; the table is shared, not copied."""
        entities = _slices(entity_offsets, documents)
        return TablePairs(self.row[entities], self.table, self.name[entities])

    def compacted(self) -> "TablePairs":
        """Return the same pairs with a table of the rows in use."""
        used, row = np.unique(self.row, return_inverse=True)
        table = self.table.take(used.astype(np.int64))
        return TablePairs(row.astype(np.int32).reshape(-1), table, self.name)


PairSource: TypeAlias = BlockPairs | TablePairs


def no_pairs() -> BlockPairs:
    """Return a source of no features: choices that do not depend on each other."""
    return BlockPairs(np.zeros(0, np.float32), 0)


def concatenate_pairs(sources: Sequence[PairSource]) -> PairSource:
    """Join the sources of consecutive groups of documents."""
    blocks = [s for s in sources if isinstance(s, BlockPairs)]
    tables = [s for s in sources if isinstance(s, TablePairs)]
    if len({s.n_features for s in sources}) > 1:
        raise ProblemsError("problems with different numbers of pair features cannot be joined")
    if not tables:
        return BlockPairs(np.concatenate([s.block for s in blocks]), blocks[0].n_features)
    first = tables[0].table
    if blocks or any(not _equal_tables(first, s.table) for s in tables):
        raise ProblemsError(
            "only problems with equal pair tables, or all with dense blocks, can be joined"
        )
    row, name = (np.concatenate([getattr(s, key) for s in tables]) for key in ("row", "name"))
    return TablePairs(row, first, name)


def _equal_tables(a: PairTable, b: PairTable) -> bool:
    return a is b or all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in a.__dataclass_fields__
    )


def _slices(offsets: Ints | Longs, groups: Longs) -> Longs:
    """Return the positions of all members of `groups`, whose slices `offsets` delimit."""
    sizes = (offsets[1:] - offsets[:-1])[groups].astype(np.int64)
    starts = offsets[:-1][groups].astype(np.int64)
    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)


def _sorted_links(
    n_rows: int, relation: int, rows: npt.ArrayLike, others: npt.ArrayLike, counts: npt.ArrayLike
) -> tuple[Longs, Ints, Floats]:
    a, b = np.asarray(rows, np.int64), np.asarray(others, np.int64)
    weight = np.asarray(counts, np.float64)
    if not a.shape == b.shape == weight.shape or a.ndim != 1:
        raise ProblemsError(f"links {relation}: rows, other rows and counts differ in length")
    if len(a) and (min(a.min(), b.min()) < 0 or max(a.max(), b.max()) >= n_rows):
        raise ProblemsError(f"links {relation}: a row number is outside 0..{n_rows - 1}")
    found = SparseMatrix.of(np.minimum(a, b), np.maximum(a, b), weight, (n_rows, n_rows))
    return found.indptr, found.indices, found.data


def _joined_links(
    n_rows: int, parts: Sequence[tuple[Longs, Ints, Floats]]
) -> tuple[Longs, Ints, Floats]:
    """Return offsets, targets and counts of several relations one behind the other."""
    if not parts:
        return np.zeros((0, n_rows + 1), np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)
    starts, targets, counts = zip(*parts, strict=True)
    bases = np.cumsum([0, *map(len, targets[:-1])], dtype=np.int64)
    return (
        np.array(starts, np.int64) + bases[:, None],
        np.concatenate(targets).astype(np.int32),
        np.concatenate(counts).astype(np.float32),
    )
