"""Copy of a knowledge base to another folder, also while it is changed.

LMDB copies names.mdb as of one transaction. Columns only grow, and the state in the copy has their
valid sizes. So copying needs no lock and no write access.
"""

import os
from pathlib import Path
from typing import BinaryIO

import lmdb

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb.columns import column_path
from sgtb.kb.environment import State, acquired, write_error
from sgtb.kb.kb_folder import building, data_folder
from sgtb.kb.layout import COLUMNS, HEADER, NAMES, item_size

_ATTEMPTS = 10
"""Attempts, as builds may replace the data while they are copied."""
_CHUNK = 1 << 20


def duplicate(source: Path, path: Path) -> None:
    """Copy the newest state of a knowledge base to a new folder; equal states give equal bytes."""
    for attempt in range(1, _ATTEMPTS + 1):
        folder = data_folder(source)
        try:
            with building(path) as target:
                _copy_data(folder, target)
            return
        except (KnowledgeBaseError, OSError):
            # Retry only if a build has replaced the data meanwhile.
            if attempt == _ATTEMPTS or data_folder(source) == folder:
                raise


def _copy_data(folder: Path, target: Path) -> None:
    with acquired(folder) as tables:
        try:
            tables.lmdb.copy(str(target / NAMES), compact=True)
        except lmdb.Error as error:
            raise write_error(target, error) from None
    with open(target / NAMES, "r+b") as copied:
        os.fsync(copied.fileno())
    with acquired(target) as tables, tables.lmdb.begin() as transaction:
        state = tables.state(transaction)
    for column in COLUMNS:
        _copy_column(folder, target, column, state)


def _copy_column(folder: Path, target: Path, column: str, state: State) -> None:
    """Copy the valid part of a column."""
    size = HEADER.size + state.columns[column].items * item_size(column, state.dimensions)
    path = column_path(folder, column)
    with open(path, "rb") as read, open(column_path(target, column), "xb") as written:
        if _copy_bytes(read, written, size) < size:
            raise KnowledgeBaseError(f"{path}: the file is truncated; nothing was copied")
        written.flush()
        os.fsync(written.fileno())


def _copy_bytes(read: BinaryIO, written: BinaryIO, size: int) -> int:
    """Copy up to `size` bytes, and return the number of bytes copied."""
    done = 0
    while done < size and (chunk := read.read(min(_CHUNK, size - done))):
        written.write(chunk)
        done += len(chunk)
    return done
