"""Environment: the LMDB file of a data folder, opened once in a process and shared.

LMDB forbids opening a file twice in one process. Readers and a writer in the same process get
the same environment here; the last to leave closes it.
"""

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import lmdb

from sgtb.errors import KnowledgeBaseError
from sgtb.kb.columns import Extent
from sgtb.kb.layout import COLUMNS, FORMAT, MAX_DIMENSIONS, NAMES

MAP_SIZE = 1 << 38
"""Address space, not memory: the most that names.mdb may ever grow to."""
_DATABASES = (b"ids", b"names", b"words", b"rows")
_STATE = b"state"


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
            self.ids, self.names, self.words, self.rows = (
                self.lmdb.open_db(name, create=False) for name in _DATABASES
            )
            _check_length(path, self.lmdb)
        except lmdb.NotFoundError:
            raise KnowledgeBaseError(f"{path}: damaged: a table is missing") from None
        except lmdb.Error as error:
            raise KnowledgeBaseError(
                f"{path}: cannot be opened: {error}; build the knowledge base again"
            ) from None

    def state(self, transaction: lmdb.Transaction) -> State:
        """Return the state that a transaction sees."""
        data = transaction.get(_STATE)
        return State.unpack(self.path, None if data is None else bytes(data))

    def put_state(self, transaction: lmdb.Transaction, state: State) -> None:
        """Make a state the valid one, once the transaction commits."""
        transaction.put(_STATE, state.pack())


def create(path: Path) -> lmdb.Environment:
    """Make a new file with all databases, for a build: unsafe until it is synced."""
    environment = lmdb.open(
        str(path), subdir=False, map_size=MAP_SIZE, max_dbs=8, sync=False, metasync=False
    )
    for name in _DATABASES:
        environment.open_db(name)
    return environment


_open_ones: dict[tuple[int, str], Environment] = {}
_guard = threading.Lock()


def acquire(folder: Path) -> Environment:
    """Return the environment of a data folder, opened if nobody has it open."""
    path = folder / NAMES
    if not path.is_file():
        raise KnowledgeBaseError(f"{path}: missing; the knowledge base is not whole")
    key = (os.getpid(), os.path.realpath(path))  # a forked child must open it for itself
    with _guard:
        environment = _open_ones.get(key)
        if environment is None:
            environment = _open_ones[key] = Environment(path)
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
    options: dict[str, Any] = {"subdir": False, "max_dbs": 8, "max_readers": 1024}
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        environment = lmdb.open(str(path), map_size=MAP_SIZE, create=False, **options)
        environment.reader_check()  # readers that were killed hold on to old pages
        return environment
    return lmdb.open(str(path), map_size=MAP_SIZE, readonly=True, lock=False, **options)


def _check_length(path: Path, environment: lmdb.Environment) -> None:
    """Refuse a file that was cut off: touching what is missing would kill the process."""
    needed = (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]
    if path.stat().st_size < needed:
        raise KnowledgeBaseError(
            f"{path}: {path.stat().st_size:,} bytes, but {needed:,} should be there; "
            "the file was cut off"
        )
