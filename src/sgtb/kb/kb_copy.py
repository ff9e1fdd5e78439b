"""Copy of a knowledge base to another folder, also while it is changed.

LMDB copies names.mdb as of one transaction. Columns only grow, and the state in the copy has their
valid sizes. So copying needs no lock and no write access.
"""

import os
import shutil
from pathlib import Path

import lmdb

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb.columns import column_end, column_path
from sgtb.kb.environment import State, acquired, write_error
from sgtb.kb.kb_folder import building, with_data
from sgtb.kb.layout import COLUMNS, NAMES


def duplicate(source: Path, path: Path) -> None:
    """Copy the newest state of a knowledge base to a new folder; equal states give equal bytes."""

    def copy(folder: Path) -> None:
        with building(path) as target:
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

    with_data(source, copy)


def _copy_column(folder: Path, target: Path, column: str, state: State) -> None:
    """Copy the valid part of a column."""
    size = column_end(column, state.columns[column], state.dimensions)
    path = column_path(folder, column)
    with open(path, "rb") as read, open(column_path(target, column), "xb") as written:
        shutil.copyfileobj(read, written)
        if written.tell() < size:
            raise KnowledgeBaseError(f"{path}: the file is truncated; nothing was copied")
        written.truncate(size)
        written.flush()
        os.fsync(written.fileno())
