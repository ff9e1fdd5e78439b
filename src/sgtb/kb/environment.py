"""Environment: the LMDB file of a data folder, opened once in a process and shared.

LMDB forbids opening a file twice in one process. Readers and a writer in the same process get
the same environment here; the last to leave closes it. A forked child opens the file for itself:
what it inherits is its parent's, neither to be used nor to be closed.
"""

import errno
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import lmdb

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb.columns import Extent
from sgtb.kb.layout import COLUMNS, FORMAT, MAX_DIMENSIONS, NAMES

MAP_SIZE = 1 << 38
"""Address space, not memory: the most that names.mdb may ever grow to."""
_DATABASES = (b"ids", b"names", b"words", b"rows")
_STATE = b"state"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LITTLE = 1 << 20
"""Bytes: where fewer are free, an error in writing is one of a full disk."""
_READERS = 1024
_LOCK_SIZE = (64 * _READERS + 4096) // 4096 * 4096
"""Bytes: LMDB has 64 for a reader, and some for itself."""


@dataclass(frozen=True, slots=True)
class State:
    """What a transaction makes valid.

    build        names the build that all files belong to
    generation   counts the changes since
    fingerprint  of all that is in the knowledge base, and of the changes that led to it
    """

    build: str
    generation: int
    fingerprint: str
    sources: tuple[str, ...]
    dimensions: int
    columns: Mapping[str, Extent]
    entities: int
    names: int
    aliases: int
    links: int
    origin: Mapping[str, Any]

    def pack(self) -> bytes:
        """Return the record that LMDB keeps."""
        return json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True).encode()

    @classmethod
    def unpack(cls, path: Path, data: bytes | None) -> "State":
        """Read a record, trusting nothing."""
        try:
            fields = json.loads(data or b"")
            if fields.pop("format") != FORMAT:
                raise ValueError("format")
            columns = {name: Extent(**fields["columns"][name]) for name in COLUMNS}
            state = cls(**{**fields, "columns": columns, "sources": tuple(fields["sources"])})
            numbers = (state.generation, state.entities, state.names, state.aliases, state.links)
            extents = [(extent.items, extent.crc) for extent in columns.values()]
            if not all(type(n) is int and n >= 0 for n in (*numbers, *sum(extents, ()))):
                raise ValueError("counts")
            if not 0 <= state.dimensions <= MAX_DIMENSIONS or len(bytes.fromhex(state.build)) != 16:
                raise ValueError("dimensions or build")
            if not all(isinstance(s, str) for s in state.sources) or not state.sources:
                raise ValueError("sources")
        except (ValueError, TypeError, KeyError, AttributeError):
            raise KnowledgeBaseError(
                f"{path}: damaged: its state record cannot be read; build the knowledge base again"
            ) from None
        return state


class Environment:
    """An open names.mdb with its databases."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.users = 0
        try:
            self.lmdb = _open(path)
        except lmdb.Error as error:
            raise _unreadable(path, error) from None
        except OSError as error:
            raise KnowledgeBaseError(f"{path}: cannot be opened: {error.strerror}") from None
        try:
            _check_length(path, self.size())  # before a page is touched
            self.ids, self.names, self.words, self.rows = (
                self.lmdb.open_db(name, create=False) for name in _DATABASES
            )
        except lmdb.NotFoundError:
            self.lmdb.close()
            raise KnowledgeBaseError(f"{path}: damaged: a table is missing") from None
        except lmdb.Error as error:
            self.lmdb.close()
            raise _unreadable(path, error) from None
        except BaseException:
            self.lmdb.close()
            raise

    def size(self) -> int:
        """Return the bytes of the file that are in use, or were."""
        return int((self.lmdb.info()["last_pgno"] + 1) * self.lmdb.stat()["psize"])

    def state(self, transaction: lmdb.Transaction) -> State:
        """Return the state that a transaction sees."""
        data = transaction.get(_STATE)
        return State.unpack(self.path, None if data is None else bytes(data))

    def put_state(self, transaction: lmdb.Transaction, state: State) -> None:
        """Make a state the valid one, once the transaction commits."""
        transaction.put(_STATE, state.pack())


def create(path: Path) -> lmdb.Environment:
    """Make a new file with all databases, for a build: unsafe until it is synced."""
    _reserve_lock(path)
    environment = lmdb.open(
        str(path), subdir=False, map_size=MAP_SIZE, max_dbs=8, sync=False, metasync=False
    )
    for name in _DATABASES:
        environment.open_db(name)
    return environment


def write_error(place: Path, error: Exception) -> KnowledgeBaseError:
    """Return what to raise when something could not be written; what was there is as it was."""
    if isinstance(error, lmdb.Error):
        # LMDB has an error for a full disk, but of a page written in part it says no more than
        # that input or output failed, and of a limit it tells in words.
        full = isinstance(error, lmdb.DiskError | lmdb.MapFullError) or _free(place) < _LITTLE
        full = full or any(os.strerror(code) in str(error) for code in _FULL)
    else:
        full = getattr(error, "errno", None) in _FULL
    if full:
        return KnowledgeBaseError(f"{place}: the disk is full; nothing was changed")
    reason = getattr(error, "strerror", None) or error
    return KnowledgeBaseError(f"{place}: cannot be written: {reason}; nothing was changed")


Key = tuple[int, int, int]
_open_ones: dict[Key, Environment] = {}
_guard = threading.RLock()  # the end of a reader may come while another is opened


def key_of(folder: Path) -> Key:
    """Return what tells the environment of a data folder from others, in this process."""
    path = folder / NAMES
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise KnowledgeBaseError(f"{path}: missing; the knowledge base is not whole") from None
    return os.getpid(), status.st_dev, status.st_ino


def acquire(folder: Path) -> Environment:
    """Return the environment of a data folder, opened if nobody has it open."""
    with _guard:
        key = key_of(folder)
        environment = _open_ones.get(key)
        if environment is None:
            environment = _open_ones[key] = Environment(folder / NAMES)
        environment.users += 1
    return environment


def release(environment: Environment) -> None:
    """Give an environment back."""
    with _guard:
        environment.users -= 1
        if environment.users:
            return
        for key, known in list(_open_ones.items()):
            if known is environment:
                del _open_ones[key]
                if key[0] == os.getpid():
                    environment.lmdb.close()


@contextmanager
def acquired(folder: Path) -> Iterator[Environment]:
    """Hold an environment for a while."""
    environment = acquire(folder)
    try:
        yield environment
    finally:
        release(environment)


def _open(path: Path) -> lmdb.Environment:
    options: dict[str, Any] = {"subdir": False, "max_dbs": 8, "max_readers": _READERS}
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        _reserve_lock(path)
        environment = lmdb.open(str(path), map_size=MAP_SIZE, create=False, **options)
        environment.reader_check()  # readers that were killed hold on to old pages
        return environment
    # Without a lock file of its own to write, a reader is safe only while nobody writes.
    lock = os.access(f"{path}-lock", os.W_OK)
    return lmdb.open(str(path), map_size=MAP_SIZE, readonly=True, lock=lock, **options)


def _reserve_lock(path: Path) -> None:
    """Make room for LMDB's lock file, which it maps: to touch what a full disk has no room for
    would kill the process. A build leaves the file, so that its readers need no room."""
    if not hasattr(os, "posix_fallocate"):
        return
    with open(f"{path}-lock", "ab") as file:
        if os.fstat(file.fileno()).st_blocks * 512 < _LOCK_SIZE:
            os.posix_fallocate(file.fileno(), 0, _LOCK_SIZE)


def _check_length(path: Path, needed: int) -> None:
    """Refuse a file that was cut off: touching what is missing would kill the process."""
    if path.stat().st_size < needed:
        raise KnowledgeBaseError(
            f"{path}: {path.stat().st_size:,} bytes, but {needed:,} should be there; "
            "the file was cut off"
        )


def _unreadable(path: Path, error: lmdb.Error) -> KnowledgeBaseError:
    way = "build the knowledge base again"
    if isinstance(error, lmdb.MemoryError):
        way = f"it needs {MAP_SIZE >> 30} GiB of address space, which `ulimit -v` limits"
    return KnowledgeBaseError(f"{path}: cannot be opened: {error}; {way}")


def _free(place: Path) -> int:
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return _LITTLE


def _own_files_only() -> None:
    """Let a forked child open what its parent has open.

    py-lmdb keeps a list of the files that are open in a process, and a forked child inherits it.
    """
    try:
        from lmdb import _envid  # since 3.0
    except ImportError:
        return
    files: Callable[..., tuple[Any, ...]] = _envid.env_keys
    _envid.env_keys = lambda *which: tuple((os.getpid(), key) for key in files(*which))


_own_files_only()
