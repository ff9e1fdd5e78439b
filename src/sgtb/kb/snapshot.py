"""Snapshot: the tables, the transaction and the mapped columns of one state, and their owner."""

import ctypes
import mmap
import os
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import lmdb
import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import environment
from sgtb.kb.block_sums import check_sums
from sgtb.kb.columns import column_path, map_column, truncated, unusable
from sgtb.kb.environment import Environment, State
from sgtb.kb.fuzzy_index import FuzzyIndex
from sgtb.kb.kb_folder import with_data
from sgtb.kb.layout import COLUMNS, FUZZY_COLUMNS, HEADER, PATCH, ROW

_MAPS = Path("/proc/self/maps")


class Snapshot(NamedTuple):
    """State of a data folder as of a transaction, which the owner aborts."""

    folder: Path
    state: State
    tables: Environment
    transaction: "lmdb.Transaction[memoryview]"
    # arrays by name; rows changed since the build are patched in memory
    columns: dict[str, npt.NDArray[Any]]
    fuzzy: FuzzyIndex
    patched: bool  # whether there are such rows
    # name, map and header of each column that is not empty
    mapped: tuple[tuple[str, mmap.mmap, bytes], ...]
    size: int  # bytes of names.mdb

    def check_files(self) -> None:
        """Raise if a file was cut or overwritten: access to missing pages kills the process."""
        for name, file, header in self.mapped:
            cut = file.size() < len(file)
            if cut or file[: HEADER.size] != header:
                change = "truncated" if cut else "overwritten"
                path = column_path(self.folder, name)
                raise damaged(path, f"it was {change} while it is open")
        path = self.tables.path
        try:
            status = os.stat(path)
        except OSError:
            return  # the file is open, though its path is gone
        if status.st_size < self.size and (status.st_dev, status.st_ino) == self.tables.inode:
            raise truncated(path, status.st_size, self.size)

    def release_pages(self) -> None:
        """Release the mapped pages of all files, which else count as memory of the process."""
        if not hasattr(mmap, "MADV_DONTNEED"):
            return
        for name, file, _ in self.mapped:
            if name != "entities" or not self.patched:  # changed rows are in memory only
                file.madvise(mmap.MADV_DONTNEED)
        _release_file(self.tables.path)


# Asking the system for the process id takes a tenth of the time of a look-up.
process = SimpleNamespace(pid=os.getpid())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: setattr(process, "pid", os.getpid()))


class SnapshotOwner:
    """Owner of the newest snapshot of a knowledge base: opens, locks, refreshes and closes it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._guard = threading.RLock()
        self._environment: Environment | None = None
        self._transaction: lmdb.Transaction[memoryview]
        self.state: State
        self._open_newest()

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open the knowledge base in a folder."""
        return cls(path)

    def close(self) -> None:
        """Close names.mdb; returned arrays stay valid."""
        with self._guard:
            if self._environment is not None:
                if self._pid == os.getpid():
                    self._transaction.abort()
                environment.release(self._environment)
                self._environment = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Bound here: the names of modules are gone at the end of the interpreter.
    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_environment", None) is not None and not is_finalizing():
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)  # worker processes open it again

    def refresh(self) -> bool:
        """Move to the newest state, unless there is an error; return whether it differs."""
        with self._guard:
            self._opened()
            before = self.state.build, self.state.generation
            self._open_newest()
            return (self.state.build, self.state.generation) != before

    def release(self) -> None:
        """Release memory-mapped pages, which otherwise count as memory of the process."""
        with self._reading():
            self._snapshot.release_pages()

    def check_files(self) -> None:
        """Raise if an open file was truncated or overwritten, which look-ups do not check."""
        with self._reading():
            self._snapshot.check_files()

    def tables(self) -> tuple[Environment, "lmdb.Transaction[memoryview]"]:
        """Return the tables of names.mdb and the transaction of the snapshot, for checks."""
        with self._reading() as found:
            return found

    def _open_newest(self) -> None:
        """Open the newest state; on failure keep the snapshot."""
        with_data(self.path, self._open_data)

    def _open_data(self, folder: Path) -> None:
        generation = self.state.generation if self._environment else 0
        snapshot = open_snapshot(folder, self._environment, generation)
        if snapshot is None:
            return
        self.close()
        self._snapshot, self._pid = snapshot, os.getpid()
        self.folder, self.state = folder, snapshot.state
        self._environment, self._transaction = snapshot.tables, snapshot.transaction
        self._use(snapshot)

    def _use(self, snapshot: Snapshot) -> None:
        """Prepare look-ups in a new snapshot."""

    def _opened(self) -> Environment:
        if self._environment is None:
            raise KnowledgeBaseError(f"{self.path}: this knowledge base was closed; open it again")
        return self._environment

    def _reading(self) -> "_Reading":
        return _Reading(self)

    def _newest(self) -> "tuple[Environment, lmdb.Transaction[memoryview]]":
        """Return the tables and the transaction that all look-ups share."""
        self._opened()
        if self._pid != process.pid:
            self._open_newest()
        return self._opened(), self._transaction

    def _damaged(self, column: str, problem: str) -> KnowledgeBaseError:
        return damaged(column_path(self.folder, column), problem)


class _Reading:
    """Locks the snapshot; gives its tables and transaction.

    A class, because a generator's context manager takes a quarter of the time of a look-up.
    """

    __slots__ = ("_owner",)

    def __init__(self, owner: SnapshotOwner) -> None:
        self._owner = owner

    def __enter__(self) -> "tuple[Environment, lmdb.Transaction[memoryview]]":
        owner = self._owner
        owner._guard.acquire()
        tables = owner._environment
        if tables is not None and owner._pid == process.pid:
            return tables, owner._transaction
        try:
            return owner._newest()
        except BaseException:
            owner._guard.release()
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        owner = self._owner
        try:
            if error is not None and isinstance(error, lmdb.Error | struct.error):
                raise damaged(owner._opened().path, str(error)) from None
        finally:
            owner._guard.release()


def open_snapshot(folder: Path, known: Environment | None, generation: int) -> Snapshot | None:
    """Open the newest state in a data folder; None if it is the known generation."""
    if known is None or known.path.parent != folder:
        check_sums(folder)
    with ExitStack() as undo:
        tables = environment.acquire(folder)
        undo.callback(environment.release, tables)
        try:
            transaction = tables.lmdb.begin(buffers=True)
            undo.callback(transaction.abort)
            state = tables.state(transaction)
            if tables is known and state.generation == generation:
                return None
            columns = _mapped(folder, state, tables, transaction)
            patched = transaction.stat(tables.rows)["entries"] > 0
        except lmdb.Error as error:
            raise KnowledgeBaseError(f"{tables.path}: cannot be read: {error}") from None
        fuzzy = FuzzyIndex(*(columns[column] for column in FUZZY_COLUMNS))
        if wrong := fuzzy.unfit_array:
            path = column_path(folder, f"fuzzy_{wrong}")
            raise damaged(path, "its length does not fit the fuzzy index")
        undo.pop_all()
    bases: dict[str, Any] = {
        name: column.base for name, column in columns.items() if isinstance(column.base, np.memmap)
    }
    mapped = tuple((name, base._mmap, base._mmap[: HEADER.size]) for name, base in bases.items())
    return Snapshot(
        folder, state, tables, transaction, columns, fuzzy, patched, mapped, tables.size()
    )


def damaged(path: Path, problem: str) -> KnowledgeBaseError:
    """Return the error of a damaged file."""
    return unusable(path, f"damaged: {problem}")


def _mapped(
    folder: Path, state: State, tables: Environment, transaction: "lmdb.Transaction[memoryview]"
) -> dict[str, npt.NDArray[Any]]:
    """Map the columns of a transaction's state, and patch rows changed since the build."""
    build = bytes.fromhex(state.build)
    mapped = {
        column: map_column(folder, column, state.columns[column], state.dimensions, build)
        for column in COLUMNS
    }
    rows = mapped["entities"]
    for key, value in transaction.cursor(tables.rows):
        number = PATCH.unpack(key)[0] if len(key) == PATCH.size else len(rows)
        if number >= len(rows) or len(value) != ROW.itemsize:
            raise damaged(tables.path, "a changed row fits no entity")
        rows[number] = np.frombuffer(value, ROW)[0]
    return mapped


def _release_file(path: Path) -> None:
    """Release the pages of a file that a library has mapped (Linux only)."""
    if not _MAPS.exists():
        return
    name = str(path.resolve())
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in _MAPS.read_text("utf-8", "surrogateescape").splitlines():
        if line.endswith(name) and line.split(maxsplit=5)[5:] == [name]:
            begin, end = (int(part, 16) for part in line.split(maxsplit=1)[0].split("-"))
            advise(begin, end - begin, mmap.MADV_DONTNEED)
