"""FactStore: a cache of entity facts. It is emptied when full."""

import threading
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from sgtb.core.dtypes import Longs
from sgtb.core.ragged import GrowingArray, Items, Ragged, sliced
from sgtb.core.sparse_matrix import SparseMatrix
from sgtb.linking.entities.background import Background
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.entity_source import EntitySource
from sgtb.linking.entities.lexicon import NameFingerprints

ROOM = 1 << 15
"""Entities kept, of about 1.5 kB each with word vectors of 50 dimensions."""
_AT_A_TIME = 512
"""Entities described at a time: each needs the titles of all linked entities."""


class FactStore:
    """Facts of a source's entities, made on first use. Thread-safe."""

    def __init__(self, source: EntitySource, background: Background, room: int = ROOM) -> None:
        self._source, self._background, self._room = source, background, room
        self._guard = threading.Lock()
        self._clear()

    def forget(self) -> None:
        """Clear the cache."""
        with self._guard:
            self._clear()

    def _clear(self) -> None:
        self._slot = np.full(self._source.size, -1, np.int32)
        self._columns: _Columns | None = None
        self._read = 0

    def facts(self, numbers: Longs) -> EntityFacts:
        """Return the facts of distinct entities, by ascending number."""
        with self._guard:
            slots = self._slot[numbers]
            if (slots < 0).any():
                if self._kept + int((slots < 0).sum()) > self._room:
                    self._clear()
                    slots = self._slot[numbers]
                self._add(numbers[slots < 0])
                slots = self._slot[numbers]
            if self._columns is None:
                return EntityFacts.describe(self._source, self._background, numbers)
            return self._columns.take(slots.astype(np.int64))

    @property
    def _kept(self) -> int:
        return 0 if self._columns is None else self._columns.size

    def _add(self, numbers: Longs) -> None:
        for start in range(0, len(numbers), _AT_A_TIME):
            some = numbers[start : start + _AT_A_TIME]
            new = EntityFacts.describe(self._source, self._background, some)
            if self._columns is None:
                self._columns = _Columns(new)
            self._slot[some] = np.arange(self._columns.size, self._columns.size + len(some))
            self._columns.append(new)
            self._read += len(some)
            if self._read >= _AT_A_TIME:
                self._read = 0
                self._source.release()


class _Leaf(NamedTuple):
    """A column of facts: an array, or lists."""

    path: tuple[str, ...]
    value: Items | Ragged


def _leaves(facts: Any, path: tuple[str, ...] = ()) -> Iterator[_Leaf]:
    """Yield the columns of facts, those of nested records included."""
    names = (
        facts._fields if isinstance(facts, NameFingerprints) else [f.name for f in fields(facts)]
    )
    for name in names:
        value, own = getattr(facts, name), (*path, name)
        if isinstance(value, SparseMatrix):
            yield _Leaf((*own, "columns"), Ragged(value.indptr, value.indices))
            yield _Leaf((*own, "values"), Ragged(value.indptr, value.data))
        elif isinstance(value, NameFingerprints):
            yield from _leaves(value, own)
        else:
            yield _Leaf(own, value)


class _Columns:
    """Columns of facts in growing arrays."""

    def __init__(self, like: EntityFacts) -> None:
        self.size = 0
        self._n_words = like.title_words.n_columns
        self._grown: dict[tuple[str, ...], GrowingArray | _GrowingLists] = {
            leaf.path: _GrowingLists(leaf.value) if isinstance(leaf.value, Ragged)
            else GrowingArray(leaf.value.dtype, leaf.value.shape[1:])
            for leaf in _leaves(like)
        }  # fmt: skip

    def append(self, facts: EntityFacts) -> None:
        """Add the rows of facts."""
        for leaf in _leaves(facts):
            self._grown[leaf.path].extend(leaf.value)
        self.size += len(facts)

    def take(self, slots: Longs) -> EntityFacts:
        """Return some rows as facts."""
        parts: dict[str, Any] = {}
        inner: dict[str, dict[str, Any]] = {}
        for path, grown in self._grown.items():
            value = grown.take(slots)
            if len(path) == 1:
                parts[path[0]] = value
            else:
                inner.setdefault(path[0], {})[path[1]] = value
        for name, values in inner.items():
            if name == "fingerprints":
                parts[name] = NameFingerprints(**values)
            else:
                columns: Ragged = values["columns"]
                parts[name] = SparseMatrix(
                    columns.indptr, columns.data, values["values"].data, self._n_words
                )
        return EntityFacts(**parts)


class _GrowingLists:
    """Lists that grow by lists."""

    def __init__(self, like: Ragged) -> None:
        self._starts, self._ends = (GrowingArray(np.int64) for _ in range(2))
        self._items = GrowingArray(like.data.dtype)

    def extend(self, lists: Any) -> None:
        """Add lists at the end."""
        base = self._items.size
        self._starts.extend(lists.indptr[:-1] + base)
        self._ends.extend(lists.indptr[1:] + base)
        self._items.extend(lists.data)

    def take(self, slots: Longs) -> Any:
        """Return some lists."""
        return sliced(self._items.items, self._starts.take(slots), self._ends.take(slots))
