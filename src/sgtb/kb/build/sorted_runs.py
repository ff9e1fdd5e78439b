"""SortedRuns: external sorting of byte strings in bounded memory."""

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sgtb.native import run_merger, sort_records

_SIZE = struct.Struct("<I")
_BATCH = 1 << 20
_COPIES = 3  # memory to sort records, in multiples of their own


class SortedRuns:
    """Sorts byte strings, also repeated ones; a run is a sequence of these, each after its size.

    memory  limit in bytes; beyond it, sorted runs are written to `folder`
    """

    def __init__(self, folder: Path, name: str, memory: int) -> None:
        self._folder = folder
        self._name = name
        self._memory = memory // _COPIES
        self._held = bytearray()
        self._runs: list[Path] = []

    def add(self, record: bytes) -> None:
        """Add a record."""
        self.extend(run_of([record]))

    def extend(self, run: bytes) -> None:
        """Add the records of a run."""
        self._held += run
        if len(self._held) > self._memory:
            path = self._folder / f"{self._name}-{len(self._runs):05d}.run"
            self._sort().tofile(path)
            self._runs.append(path)
            self._held = bytearray()

    def __iter__(self) -> Iterator[bytes]:
        """Yield all records in order; may be repeated."""
        for batch in self.batches():
            at = 0
            while at < len(batch):
                begin = at + _SIZE.size
                at = begin + _SIZE.unpack_from(batch, at)[0]
                yield batch[begin:at]

    def batches(self, tail: int = 0) -> Iterator[bytes]:
        """Yield runs of all records in order; one has all that differ only in `tail` last bytes."""
        held = self._sort()
        self._held = bytearray(held)
        merger = run_merger([*(np.memmap(path, "u1", "r") for path in self._runs), held])
        while batch := merger.next(_BATCH, tail):
            yield batch

    def _sort(self) -> npt.NDArray[np.uint8]:
        out = np.empty(len(self._held), np.uint8)
        sort_records(self._held, out)
        return out

    def close(self) -> None:
        """Delete the runs."""
        for path in self._runs:
            path.unlink(missing_ok=True)
        self._runs, self._held = [], bytearray()


def run_of(records: Iterable[bytes]) -> bytes:
    """Return records as a run."""
    return b"".join(_SIZE.pack(len(record)) + record for record in records)
