"""Environment: the LMDB file of a data folder, opened once per process.

LMDB forbids opening a file twice in one process, so readers and writers share a reference-counted
environment. A forked child opens the file again; it must neither use nor close its parent's.
"""

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import lmdb

from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.files import FULL
from sgtb.kb.columns import Extent, truncated, unusable
from sgtb.kb.layout import COLUMNS, FORMAT, MAX_DIMENSIONS, NAMES

MAP_SIZE = 1 << (34 if os.name == "nt" else 38)  # Windows may reserve it on disk
"""Reserved address space, the limit of names.mdb."""
_DATABASES = (b"ids", b"names", b"words", b"rows")
_STATE = b"state"
_COUNTS = ("generation", "entities", "names", "aliases", "links", "indexed")
_NEARLY_FULL = 1 << 20  # with fewer free bytes, a write error is taken for a full disk
_READERS = 1024
_LOCK_SIZE = (64 * _READERS + 4096) // 4096 * 4096
"""Size of LMDB's lock file: 64 bytes per reader and a header."""


@dataclass(frozen=True, slots=True)
class State:
    """State of a knowledge base, as of a transaction."""

    build: str  # identifier of the build that all files belong to
    generation: int  # number of changes since the build
    fingerprint: str  # hash of content and history
    sources: tuple[str, ...]
    dimensions: int
    columns: Mapping[str, Extent]
    entities: int
    names: int
    aliases: int
    links: int
    indexed: int  # number of entities whose names the fuzzy index has
    origin: Mapping[str, Any]
    own_types: tuple[str, ...] = ()  # names of types other than the coarse ones

    def pack(self) -> bytes:
        """Return the record for LMDB; earlier versions read it if there are no own types."""
        fields = {"format": FORMAT, **asdict(self)}
        if not self.own_types:
            del fields["own_types"]
        return json.dumps(fields, sort_keys=True).encode()

    @classmethod
    def unpack(cls, path: Path, data: bytes | None) -> "State":
        """Parse and validate a record."""
        try:
            fields = json.loads(data or b"")
            if fields.pop("format") != FORMAT:
                raise ValueError("format")
            columns = {name: Extent(**fields["columns"][name]) for name in COLUMNS}
            lists = {key: tuple(fields.get(key, ())) for key in ("sources", "own_types")}
            state = cls(**{**fields, "columns": columns, **lists})
            counts = [getattr(state, key) for key in _COUNTS]
            counts += [n for extent in columns.values() for n in (extent.items, extent.crc)]
            if not all(type(n) is int and n >= 0 for n in counts):
                raise ValueError("counts")
            if not 0 <= state.dimensions <= MAX_DIMENSIONS or len(bytes.fromhex(state.build)) != 16:
                raise ValueError("dimensions or build")
            texts = (*state.sources, *state.own_types)
            if not all(isinstance(s, str) for s in texts) or not state.sources:
                raise ValueError("sources or types")
        except (ValueError, TypeError, KeyError, AttributeError):
            raise unusable(path, "damaged: its state record cannot be read") from None
        return state


class Environment:
    """An open names.mdb with its databases; `inode` is the device and number of the file."""

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
            # Before a page is touched: access to missing ones would kill the process.
            if (size := path.stat().st_size) < self.size():
                raise truncated(path, size, self.size())
            self.inode = key_of(path.parent)[1:]
            self.ids, self.names, self.words, self.rows = (
                self.lmdb.open_db(name, create=False) for name in _DATABASES
            )
        except BaseException as error:
            self.lmdb.close()
            if isinstance(error, lmdb.NotFoundError):
                raise KnowledgeBaseError(f"{path}: damaged: a table is missing") from None
            if isinstance(error, lmdb.Error):
                raise _unreadable(path, error) from None
            raise

    def size(self) -> int:
        """Return the allocated size of the file in bytes."""
        return int((self.lmdb.info()["last_pgno"] + 1) * self.lmdb.stat()["psize"])

    def state(self, transaction: lmdb.Transaction) -> State:
        """Return the state of a transaction."""
        data = transaction.get(_STATE)
        return State.unpack(self.path, None if data is None else bytes(data))

    def put_state(self, transaction: lmdb.Transaction, state: State) -> None:
        """Store a state, valid when the transaction commits."""
        transaction.put(_STATE, state.pack())


def create(path: Path) -> lmdb.Environment:
    """Create a new file with all databases; not durable until it is synced."""
    _reserve_lock(path)
    environment = lmdb.open(
        str(path), subdir=False, map_size=MAP_SIZE, max_dbs=8, sync=False, metasync=False
    )
    for name in _DATABASES:
        environment.open_db(name)
    return environment


def write_error(path: Path, error: Exception) -> KnowledgeBaseError:
    """Return the error for a failed write that changed nothing."""
    if isinstance(error, lmdb.Error):
        # LMDB has an error for a full disk, but reports a partially written page as an I/O error,
        # and a quota only in its message.
        full = isinstance(error, lmdb.DiskError | lmdb.MapFullError)
        full = full or any(os.strerror(code) in str(error) for code in FULL)
        with suppress(OSError):
            full = full or shutil.disk_usage(path).free < _NEARLY_FULL
    else:
        full = getattr(error, "errno", None) in FULL
    if full:
        return KnowledgeBaseError(f"{path}: the disk is full; nothing was changed")
    reason = getattr(error, "strerror", None) or error
    return KnowledgeBaseError(f"{path}: cannot be written: {reason}; nothing was changed")


Key = tuple[int, int, int]
_environments: dict[Key, Environment] = {}
_guard = threading.RLock()  # a reader may be collected while another is opened


def key_of(folder: Path) -> Key:
    """Return the key of a data folder's environment in this process."""
    path = folder / NAMES
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise unusable(path, "missing") from None
    return os.getpid(), status.st_dev, status.st_ino


def acquire(folder: Path) -> Environment:
    """Return the environment of a data folder; open it if needed."""
    with _guard:
        key = key_of(folder)
        environment = _environments.get(key)
        if environment is None:
            environment = _environments[key] = Environment(folder / NAMES)
        environment.users += 1
    return environment


def release(environment: Environment) -> None:
    """Release an environment; the last user closes it."""
    with _guard:
        environment.users -= 1
        if environment.users:
            return
        for key, known in list(_environments.items()):
            if known is environment:
                del _environments[key]
                if key[0] == os.getpid():
                    environment.lmdb.close()


@contextmanager
def acquired(folder: Path) -> Iterator[Environment]:
    """Context manager around `acquire` and `release`."""
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
        environment.reader_check()  # frees the pages of killed readers
        return environment
    # Without a writable lock file, a reader is only safe while there is no writer.
    lock = os.access(f"{path}-lock", os.W_OK)
    return lmdb.open(str(path), map_size=MAP_SIZE, readonly=True, lock=lock, **options)


def _reserve_lock(path: Path) -> None:
    """Allocate LMDB's lock file, which it maps: on a full disk, access would kill the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    with open(f"{path}-lock", "ab") as file:
        if os.fstat(file.fileno()).st_blocks * 512 < _LOCK_SIZE:
            os.posix_fallocate(file.fileno(), 0, _LOCK_SIZE)


def _unreadable(path: Path, error: lmdb.Error) -> KnowledgeBaseError:
    advice = "build the knowledge base again"
    if isinstance(error, lmdb.MemoryError):
        advice = f"it needs {MAP_SIZE >> 30} GiB of address space, which `ulimit -v` limits"
    return KnowledgeBaseError(f"{path}: cannot be opened: {error}; {advice}")


def _allow_reopening_after_fork() -> None:
    """Make py-lmdb's registry of open files per process; a forked child inherits it."""
    try:
        from lmdb import _envid  # since 3.0
    except ImportError:
        return
    files: Callable[..., tuple[Any, ...]] = _envid.env_keys
    _envid.env_keys = lambda *args: tuple((os.getpid(), key) for key in files(*args))


_allow_reopening_after_fork()
