"""Columns: append-only flat files with checksums, memory-mapped by readers."""

import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Longs
from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.ragged import sliced
from sgtb.kb.layout import DTYPES, FORMAT, HEADER, MAGIC, item_size

_BLOCK = 1 << 20
_CLOSE = 1e-3  # tolerance of the length of a unit vector in half precision


@dataclass(frozen=True, slots=True)
class Extent:
    """The valid part of a column: number of items, and checksum of their bytes."""

    items: int = 0
    crc: int = 0

    def grown(self, data: bytes, size: int) -> "Extent":
        """Return the extent after `data` is appended."""
        return Extent(self.items + len(data) // size, zlib.crc32(data, self.crc))


def unusable(path: Path, problem: str) -> KnowledgeBaseError:
    """Return the error of a file that only another build replaces."""
    return KnowledgeBaseError(f"{path}: {problem}; build the knowledge base again")


def truncated(path: Path, size: int, needed: int) -> KnowledgeBaseError:
    """Return the error of a file that lacks its end."""
    return unusable(path, f"truncated: {size:,} bytes instead of {needed:,}")


def column_path(folder: Path, column: str) -> Path:
    """Return the path of a column."""
    return folder / f"{column}.bin"


def pack_header(column: str, size: int, build: bytes) -> bytes:
    """Return the header of a column's file."""
    return HEADER.pack(MAGIC, FORMAT, size, column.encode(), build)


def column_end(column: str, extent: Extent, dimensions: int) -> int:
    """Return where the valid part of a column's file ends."""
    return HEADER.size + extent.items * item_size(column, dimensions)


def _check_header(path: Path, header: bytes, needed: int) -> None:
    """Raise if a file is not the expected column, or is shorter than its extent."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEADER.size)
            length = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise unusable(path, "missing") from None
    except OSError as error:
        raise KnowledgeBaseError(f"{path}: cannot be read: {error.strerror}") from None
    if head != header:
        raise KnowledgeBaseError(
            f"{path}: damaged, or of another knowledge base: wrong header; build it again"
        )
    if length < needed:
        raise truncated(path, length, needed)


def read_extent(folder: Path, column: str, size: int, items: int | None = None) -> Extent:
    """Return number and checksum of at most so many items (None: all) of `size` bytes each."""
    crc = length = 0
    left = -1 if items is None else items * size
    with open(column_path(folder, column), "rb") as file:
        file.seek(HEADER.size)
        while block := file.read(_BLOCK if left < 0 else min(left - length, _BLOCK)):
            crc = zlib.crc32(block, crc)
            length += len(block)
    return Extent(length // size if size else 0, crc)


def map_column(
    folder: Path, column: str, extent: Extent, dimensions: int, build: bytes
) -> npt.NDArray[Any]:
    """Memory-map the valid part of a column; what follows is of an interrupted write."""
    size, path, dtype = item_size(column, dimensions), column_path(folder, column), DTYPES[column]
    header = pack_header(column, size, build)
    _check_header(path, header, column_end(column, extent, dimensions))
    shape = (extent.items, dimensions) if column in ("vectors", "words") else (extent.items,)
    if not extent.items or not size:
        return np.zeros(shape, dtype)
    # Copy-on-write for rows: those changed since the build are patched in memory.
    mode: Any = "c" if column == "entities" else "r"
    # A plain array: every index into a memmap makes another one, in Python.
    return np.memmap(path, dtype, mode, HEADER.size, shape).view(np.ndarray)


def list_items(
    rows: npt.NDArray[np.void], column: str, items: npt.NDArray[Any]
) -> tuple[Longs, npt.NDArray[Any]]:
    """Return owner and value of all list items of the entities that were not removed."""
    alive = np.flatnonzero(rows["alive"])
    at = rows[f"{column}_at"][alive]
    found = sliced(items, at, at + rows[column][alive])
    return np.repeat(alive, np.diff(found.indptr)), found.data


def unit_halves(matrix: npt.NDArray[np.floating]) -> npt.NDArray[np.float16]:
    """Return rows of unit length in half precision; no row may be all zeros.

    A row of unit length once rounded is only rounded, so that export and rebuild do not drift.
    """
    wide = np.atleast_2d(matrix).astype(np.float64)
    with np.errstate(over="ignore"):  # too large for half precision: not of unit length
        rounded: npt.NDArray[np.float16] = wide.astype("<f2")
    close = np.abs(_lengths(rounded.astype(np.float64)) - 1) <= _CLOSE
    scaled: npt.NDArray[np.float16] = (wide / _lengths(wide)[:, None]).astype("<f2")
    return np.where(close[:, None], rounded, scaled)


def _lengths(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lengths: npt.NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.maximum(lengths, 1e-300)


class Appender:
    """Appends to columns after their valid extents."""

    def __init__(self, folder: Path, extents: Mapping[str, Extent], dimensions: int) -> None:
        self.extents = dict(extents)
        self._valid = dict(extents)
        self._folder = folder
        self._dimensions = dimensions
        self._files: dict[str, BinaryIO] = {}

    def append(self, column: str, data: bytes) -> int:
        """Append whole items and return the number of the first."""
        at = self.extents[column].items
        if not data:
            return at
        file = self._files.get(column)
        if file is None:
            file = self._files[column] = open(column_path(self._folder, column), "r+b")  # noqa: SIM115
            # What follows was left by an interrupted write.
            file.seek(file.truncate(column_end(column, self.extents[column], self._dimensions)))
        file.write(data)
        self.extents[column] = self.extents[column].grown(data, item_size(column, self._dimensions))
        return at

    def flush(self) -> None:
        """Flush everything to disk."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def closing(self) -> Iterator["Appender"]:
        """Close the files at the end; after an error, truncate what was appended."""
        try:
            yield self
        except BaseException:
            self._close()
            for column in self._files:
                end = column_end(column, self._valid[column], self._dimensions)
                with suppress(OSError):  # else the next writer truncates it
                    os.truncate(column_path(self._folder, column), end)
            raise
        self._close()

    def _close(self) -> None:
        for file in self._files.values():
            # A full disk has been reported already.
            with suppress(OSError):
                file.close()
