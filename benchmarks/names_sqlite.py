"""Names in SQLite: the alternative to the name look-up, with the same names, tuned.

One table without row ids, ordered by name and rank, so that a name's candidates lie side by
side; another for ids and titles. Opened read-only, immutable and memory-mapped.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sgtb.kb.knowledge_base import TOP, KnowledgeBase
from sgtb.text.normalization import normal_name

Rows = list[tuple[int, float]]

_BATCH = 10_000
_ALL = 1 << 30
_ONE = "SELECT entity, prior FROM names WHERE name = ? ORDER BY rank LIMIT ?"
_ONE_TITLED = (
    "SELECT e.id, n.entity, e.title, n.prior FROM names n JOIN entities e ON e.number = n.entity "
    "WHERE n.name = ? ORDER BY n.rank LIMIT ?"
)
_MANY = (
    "SELECT j.key, n.entity, n.prior FROM json_each(?) j CROSS JOIN names n "
    "ON n.name = j.value AND n.rank < ?"
)


@dataclass(frozen=True)
class Filled:
    """Numbers of rows, and the size of the file with names alone, and with titles."""

    rows: int
    names_bytes: int
    bytes: int


def fill(kb: KnowledgeBase, path: Path) -> Filled:
    """Write all names of a knowledge base, with all their candidates, into a new file."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
        "CREATE TABLE names (name TEXT, rank INTEGER, entity INTEGER, prior REAL,"
        " PRIMARY KEY (name, rank)) WITHOUT ROWID;"
        "CREATE TABLE entities (number INTEGER PRIMARY KEY, id TEXT, title TEXT);"
    )
    with connection:
        connection.executemany("INSERT INTO names VALUES (?, ?, ?, ?)", _rows(kb))
    rows = connection.execute("SELECT count(*) FROM names").fetchone()[0]
    names_bytes = path.stat().st_size
    with connection:
        connection.executemany(
            "INSERT INTO entities VALUES (?, ?, ?)",
            ((n, kb.id_of(n), kb.title_of(n)) for n in range(len(kb.rows))),
        )
    connection.close()
    return Filled(rows, names_bytes, path.stat().st_size)


def _rows(kb: KnowledgeBase) -> Iterator[tuple[str, int, int, float]]:
    names = kb.names()
    while batch := list(islice(names, _BATCH)):
        lists = kb.candidate_lists(batch, _ALL)
        entity, prior, ends = lists.entity.tolist(), lists.prior.tolist(), lists.offsets.tolist()
        for i, name in enumerate(batch):
            for rank, at in enumerate(range(ends[i], ends[i + 1])):
                yield name, rank, entity[at], prior[at]


class SqliteNames:
    """The SQLite file, open for reading."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True
        )
        self._connection.execute(f"PRAGMA mmap_size = {1 << 40}")
        self._connection.execute("PRAGMA query_only = ON")

    def one_by_one(self, names: Iterable[str], k: int = TOP) -> list[Rows]:
        """Look up many names, one query each with the same prepared statement."""
        execute = self._connection.execute
        return [execute(_ONE, (normal_name(name), k)).fetchall() for name in names]

    def in_one_query(self, names: Sequence[str], k: int = TOP) -> Rows:
        """Look up many names with a single query."""
        keys = json.dumps([normal_name(name) for name in names])
        return self._connection.execute(_MANY, (keys, k)).fetchall()

    def titled(self, name: str, k: int = TOP) -> list[tuple[str, int, str, float]]:
        """Look up one name, and the ids and titles of its candidates."""
        return self._connection.execute(_ONE_TITLED, (normal_name(name), k)).fetchall()
