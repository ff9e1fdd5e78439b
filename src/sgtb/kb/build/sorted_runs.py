"""SortedRuns: external sorting of byte strings in bounded memory."""

import heapq
import struct
from collections.abc import Iterator
from pathlib import Path

_SIZE = struct.Struct("<I")
_OVERHEAD = 41  # bytes of CPython per byte string in a list, besides its content


class SortedRuns:
    """Sorts byte strings, including repeated ones.

    memory  limit in bytes; beyond it, sorted runs are written to `folder`
    """

    def __init__(self, folder: Path, name: str, memory: int) -> None:
        self._folder = folder
        self._name = name
        self._memory = memory
        self._held: list[bytes] = []
        self._bytes = 0
        self._runs: list[Path] = []

    def add(self, record: bytes) -> None:
        """Add a record."""
        self._held.append(record)
        self._bytes += len(record) + _OVERHEAD
        if self._bytes > self._memory:
            self._spill()

    def __iter__(self) -> Iterator[bytes]:
        """Yield all records in order; may be repeated."""
        self._held.sort()
        return (
            heapq.merge(*map(_read_run, self._runs), self._held) if self._runs else iter(self._held)
        )

    def _spill(self) -> None:
        self._held.sort()
        path = self._folder / f"{self._name}-{len(self._runs):05d}.run"
        with open(path, "wb") as file:
            for record in self._held:
                file.write(_SIZE.pack(len(record)))
                file.write(record)
        self._runs.append(path)
        self._held, self._bytes = [], 0

    def close(self) -> None:
        """Delete the runs."""
        for path in self._runs:
            path.unlink(missing_ok=True)
        self._runs, self._held = [], []


def _read_run(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while size := file.read(_SIZE.size):
            yield file.read(_SIZE.unpack(size)[0])
