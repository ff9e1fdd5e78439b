"""Duplicate: a copy of a knowledge base in another folder, taken while others may change it.

LMDB copies names.mdb as of one transaction. The columns only grow, and the state in the copy says
how much of them belongs to it. So nobody has to wait, and who may only read may copy, too.
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
"""How often in a row a build may replace the data while they are being copied."""
_CHUNK = 1 << 20


def duplicate(source: Path, place: Path) -> None:
    """Copy the newest state of a knowledge base to a new folder; the same state, the same bytes."""
    for attempt in range(1, _ATTEMPTS + 1):
        folder = data_folder(source)
        try:
            with building(place) as target:
                _copy_data(folder, target)
            return
        except (KnowledgeBaseError, OSError):
            # A build may have replaced the data meanwhile; otherwise the trouble is real.
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
            raise KnowledgeBaseError(f"{path}: the file was cut off; nothing was copied")
        written.flush()
        os.fsync(written.fileno())


def _copy_bytes(read: BinaryIO, written: BinaryIO, size: int) -> int:
    """Copy at most so many bytes, and return how many there were."""
    done = 0
    while done < size and (chunk := read.read(min(_CHUNK, size - done))):
        written.write(chunk)
        done += len(chunk)
    return done
