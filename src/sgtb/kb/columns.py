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


@dataclass(frozen=True, slots=True)
class Extent:
    """The valid part of a column: number of items, and checksum of their bytes."""

    items: int = 0
    crc: int = 0

    def grown(self, data: bytes, size: int) -> "Extent":
        """Return the extent after `data` is appended."""
        return Extent(self.items + len(data) // size, zlib.crc32(data, self.crc))


def column_path(folder: Path, column: str) -> Path:
    """Return the path of a column."""
    return folder / f"{column}.bin"


def pack_header(column: str, size: int, build: bytes) -> bytes:
    """Return the header of a column's file."""
    return HEADER.pack(MAGIC, FORMAT, size, column.encode(), build)


def check_header(path: Path, column: str, size: int, items: int, build: bytes) -> None:
    """Raise if a file is not the expected column, or is shorter than its extent."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEADER.size)
            length = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise KnowledgeBaseError(f"{path}: missing; build the knowledge base again") from None
    except OSError as error:
        raise KnowledgeBaseError(f"{path}: cannot be read: {error.strerror}") from None
    if head != pack_header(column, size, build):
        raise KnowledgeBaseError(
            f"{path}: damaged, or of another knowledge base: wrong header; build it again"
        )
    if length < HEADER.size + items * size:
        raise KnowledgeBaseError(
            f"{path}: truncated: {length:,} bytes instead of {HEADER.size + items * size:,}; build "
            "the knowledge base again"
        )


def read_extent(folder: Path, column: str, size: int, items: int | None = None) -> Extent:
    """Return number and checksum of the items in a column's file, of `size` bytes each.

    items  read at most so many; None: all
    """
    crc = length = 0
    left = -1 if items is None else items * size
    with open(column_path(folder, column), "rb") as file:
        file.seek(HEADER.size)
        while block := file.read(_BLOCK if left < 0 else min(left - length, _BLOCK)):
            crc = zlib.crc32(block, crc)
            length += len(block)
    return Extent(length // size if size else 0, crc)


def columns_size(extents: Mapping[str, Extent], dimensions: int) -> int:
    """Return the size of all columns in bytes."""
    return sum(
        HEADER.size + extent.items * item_size(column, dimensions)
        for column, extent in extents.items()
    )


def map_column(
    folder: Path, column: str, extent: Extent, dimensions: int, build: bytes
) -> npt.NDArray[Any]:
    """Memory-map the valid part of a column; what follows is of an interrupted write."""
    size = item_size(column, dimensions)
    path = column_path(folder, column)
    check_header(path, column, size, extent.items, build)
    dtype = DTYPES[column]
    shape: tuple[int, ...] = (extent.items,)
    if column in ("vectors", "words"):
        shape = (extent.items, dimensions)
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
        size = item_size(column, self._dimensions)
        file = self._files.get(column)
        if file is None:
            file = self._files[column] = open(column_path(self._folder, column), "r+b")  # noqa: SIM115
            end = HEADER.size + at * size
            file.truncate(end)  # left by an interrupted write
            file.seek(end)
        file.write(data)
        self.extents[column] = self.extents[column].grown(data, size)
        return at

    def flush(self) -> None:
        """Flush everything to disk."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def closing(self) -> Iterator["Appender"]:
        """Close the files at the end; after an error, truncate what was appended.

        A commit that makes the data valid must follow.
        """
        try:
            yield self
        except BaseException:
            self._close()
            for column in self._files:
                end = HEADER.size + self._valid[column].items * item_size(column, self._dimensions)
                with suppress(OSError):  # else the next writer truncates it
                    os.truncate(column_path(self._folder, column), end)
            raise
        self._close()

    def _close(self) -> None:
        for file in self._files.values():
            # A full disk has been reported already.
            with suppress(OSError):
                file.close()
