"""Counting: a DuckDB file for counts that do not fit into memory, and ways in and out of it."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError, MissingExtraError

Arrays = dict[str, npt.NDArray[Any]]

_NO_NULL = "\x01"  # a mark that no field holds: an empty field is an empty string
_BUCKETS = 4096
_THREAD = 128 << 20
"""What DuckDB needs for each of its threads, lest it find no room to spill from."""
_GROUP = 256
"""Bytes of a group, while groups are being counted."""
_LINE = 1 << 16
"""The longest line of a TSV. DuckDB's buffers hold some of them, by the thread and the file."""
_GLOB = re.compile(r"[\[\]*?]")


class Counting:
    """A database that spills to disk. Rows have no order but by an ORDER BY on unique keys.

    memory  bytes that DuckDB may hold; the counts may be many times as much
    """

    def __init__(self, folder: Path, memory: int, threads: int) -> None:
        try:
            duckdb = import_module("duckdb")
        except ImportError:
            raise MissingExtraError(
                "building from a dump needs the package duckdb: pip install 'sgtb[wiki]'"
            ) from None
        if "?" in str(folder):  # DuckDB takes what follows for options
            raise KnowledgeBaseError(f"{folder}: no path with a question mark is possible here")
        self._folder = folder
        self._memory = memory
        self._errors = (duckdb.IOException, duckdb.OutOfMemoryException)
        self._connection: Any = duckdb.connect(
            str(folder / "count.duckdb"),
            config={
                "memory_limit": f"{memory // 1024}KiB",
                "temp_directory": str(folder / "spill"),
                "threads": max(1, min(threads, memory // _THREAD)),
                "preserve_insertion_order": False,
            },
        )
        self._connection.execute("SET enable_progress_bar = false")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def run(self, sql: str, *values: object) -> None:
        """Run statements."""
        with self._blamed():
            self._connection.execute(sql, values or None)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query: a few."""
        with self._blamed():
            found: list[tuple[Any, ...]] = self._connection.execute(sql, values or None).fetchall()
        return found

    def number(self, sql: str, *values: object) -> int:
        """Return the one number that a query gives; 0 for none."""
        return int(self.rows(sql, *values)[0][0] or 0)

    def arrays(self, sql: str, *values: object) -> Arrays:
        """Return the columns of a query; none of them may hold NULL."""
        with self._blamed():
            found: Arrays = self._connection.execute(sql, values or None).fetchnumpy()
        return found

    def append(self, table: str, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Append arrays to a table, by the names of its columns."""
        if not len(next(iter(columns.values()))):
            return
        with self._blamed():
            self._connection.register("given_arrays", dict(columns))
            try:
                self._connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM given_arrays")
            finally:
                self._connection.unregister("given_arrays")

    def spans(self, table: str, key: str, rows: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of a key, both ends in, that hold about so many rows of a table each.

        A table that was made in the order of the key answers for a range without reading others.
        """
        low, high = self.rows(f"SELECT min({key}), max({key}) FROM {table}")[0]
        if low is None:
            return
        width = max((high - low) // _BUCKETS + 1, 1)
        counted = self.rows(
            f"SELECT ({key} - $1) // $2 AS bucket, count(*) FROM {table} GROUP BY 1 ORDER BY 1",
            low, width,
        )  # fmt: skip
        begin, held = low, 0
        for bucket, count in counted:
            end = low + bucket * width
            if held and held + count > rows:
                yield begin, end - 1
                begin, held = end, 0
            held += count
        yield begin, high

    def group(self, table: str, select: str, source: str, keys: str, having: str = "") -> None:
        """Make a table by a GROUP BY of keys, part by part: so many groups as fit into memory.

        DuckDB can spill groups by itself, but needs hundreds of megabytes to do so.
        """
        parts = self.count_of(source) * _GROUP // self._memory + 1
        for part in range(parts):
            begin = f"INSERT INTO {table}" if part else f"CREATE TABLE {table} AS"
            some = f"WHERE hash({keys}) % {parts} = {part}" if parts > 1 else ""
            self.run(f"{begin} SELECT {select} FROM {source} {some} GROUP BY {keys} {having}")

    def count_of(self, table: str) -> int:
        """Return how many rows a table has."""
        return self.number(f"SELECT count(*) FROM {table}")

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """Turn what DuckDB says of disk and memory into what to do about it."""
        try:
            yield
        except self._errors as error:
            first = str(error).strip().splitlines()[0]
            raise KnowledgeBaseError(
                f"{self._folder}: counting failed: {first}; free disk space there, or allow more "
                "memory"
            ) from None


def tsv(folder: Path, pattern: str, columns: Mapping[str, str]) -> str:
    """Return a table for FROM: the TSV shards in a folder that a pattern names."""
    fields = ", ".join(f"'{name}': '{type}'" for name, type in columns.items())
    plain = _GLOB.sub(r"[\g<0>]", str(folder))
    paths = f"{plain}/{pattern}".replace("'", "''")
    return (
        f"read_csv('{paths}', delim='\t', quote='', escape='', header=false, "
        f"auto_detect=false, nullstr='{_NO_NULL}', new_line='\\n', filename=true, "
        f"max_line_size={_LINE}, buffer_size={16 * _LINE}, columns={{{fields}}})"
    )


def as_ints(array: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Return an array as entity numbers."""
    return np.ascontiguousarray(array, np.int32)
