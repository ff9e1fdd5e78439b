"""ByteCache: a dictionary of computed values, bounded in bytes.

A hit costs what a dictionary access costs. Bytes are estimated: an entry counts with its key, its
value and its share of the table.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from sys import getsizeof
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

import numpy as np

K = TypeVar("K")
V = TypeVar("V")
_ENTRY = 100  # bytes of an entry in the table of a dictionary
_LONGEST = 4096  # bytes of the largest entry that is kept: few long names are met twice
_PLAIN = frozenset((str, bytes, int, float, bool, type(None)))
_numbers = count()
_all: "WeakValueDictionary[int, ByteCache[object, object]]" = WeakValueDictionary()


class ByteCache(dict[K, V], Generic[K, V]):
    """Cache of the values of a function, emptied when its budget is used up. Thread-safe.

    name     label in `cache_usage`
    budget   bytes
    compute  returns the value of a key that is not in the cache
    """

    def __init__(self, name: str, budget: int, compute: Callable[[K], V] | None = None) -> None:
        super().__init__()
        self.name, self.budget, self.bytes = name, budget, 0
        self._compute, self._guard = compute, Lock()
        _all[next(_numbers)] = self  # type: ignore[assignment]

    def __missing__(self, key: K) -> V:
        if self._compute is None:
            raise KeyError(key)
        value = self._compute(key)
        size = _size(key, value)
        if size <= _LONGEST:
            with self._guard:
                if self.bytes + size > self.budget:
                    self.clear()
                if key not in self:
                    self.bytes += size
                    self[key] = value
        return value

    @property
    def is_full(self) -> bool:
        """Whether the budget is used up."""
        return self.bytes > self.budget

    def keep(self, entries: Iterable[tuple[K, V]], longest: int = _LONGEST) -> None:
        """Add entries, even beyond the budget; replace a cache that is full by a new one.

        longest  bytes of the largest entry that is kept
        """
        with self._guard:
            for key, value in entries:
                size = _size(key, value)
                if size <= longest and key not in self:
                    self.bytes += size
                    self[key] = value

    def keep_plain(self, entries: Mapping[K, V]) -> None:
        """Add new entries of strings and numbers, all of them; faster than `keep`."""
        with self._guard:
            keys, values = sum(map(getsizeof, entries)), sum(map(getsizeof, entries.values()))
            self.bytes += _ENTRY * len(entries) + keys + values
            self.update(entries)

    def clear(self) -> None:
        """Remove all entries."""
        super().clear()
        self.bytes = 0

    def __reduce__(self) -> tuple[type["ByteCache[K, V]"], tuple[object, ...]]:
        return ByteCache, (self.name, self.budget, self._compute)


def cache_usage() -> dict[str, tuple[int, int]]:
    """Return bytes and budget of all caches by name; caches of equal name are added up."""
    usage: dict[str, tuple[int, int]] = {}
    for cache in list(_all.values()):
        used, budget = usage.get(cache.name, (0, 0))
        usage[cache.name] = (used + cache.bytes, budget + cache.budget)
    return usage


def _size(key: object, value: object) -> int:
    size = _ENTRY + getsizeof(key) + getsizeof(value)
    if type(key) in _PLAIN and type(value) in _PLAIN:
        return size
    return size + _inner(key) + _inner(value)


def _inner(value: object) -> int:
    """Return the bytes of the items of a tuple, or of an array that is a view."""
    if isinstance(value, tuple):
        nested = [item for item in value if type(item) not in _PLAIN]
        return sum(map(getsizeof, value)) + sum(map(_inner, nested))
    return value.nbytes if isinstance(value, np.ndarray) and not value.flags.owndata else 0
