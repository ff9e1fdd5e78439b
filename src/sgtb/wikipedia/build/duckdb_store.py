"""DuckDbStore: a DuckDB file for counts that do not fit into memory."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError, import_extra

Arrays = dict[str, npt.NDArray[Any]]
_NO_NULL = "\x01"  # occurs in no field, so that an empty field is an empty string
_BUCKETS = 4096
_THREAD_BYTES = 128 << 20  # memory per DuckDB thread; with less, it fails before it spills
_GROUP_BYTES = 256  # memory per group of a GROUP BY
_MAX_LINE = 1 << 16
"""Longest line of a TSV; DuckDB allocates buffers for several, per thread and file."""
_GLOB = re.compile(r"[\[\]*?]")


class DuckDbStore:
    """A database that spills to disk. Only an ORDER BY on unique keys gives rows an order."""

    def __init__(self, folder: Path, memory: int, threads: int) -> None:
        duckdb = import_extra("duckdb", "wiki", "building from a dump needs")
        if "?" in str(folder):  # DuckDB parses what follows as options
            raise KnowledgeBaseError(
                f"{folder}: the path has a question mark; choose a path without one"
            )
        self._folder = folder
        self._memory = memory
        self._errors = (duckdb.IOException, duckdb.OutOfMemoryException)
        self._connection: Any = duckdb.connect(
            str(folder / "count.duckdb"),
            config={
                "memory_limit": f"{memory // 1024}KiB",
                "temp_directory": str(folder / "spill"),
                "threads": max(1, min(threads, memory // _THREAD_BYTES)),
                "preserve_insertion_order": False,
            },
        )
        self._connection.execute("SET enable_progress_bar = false")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def run(self, sql: str, *values: object) -> None:
        """Run statements."""
        with self._translated_errors():
            self._connection.execute(sql, values or None)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self._translated_errors():
            found: list[tuple[Any, ...]] = self._connection.execute(sql, values or None).fetchall()
        return found

    def number(self, sql: str, *values: object) -> int:
        """Return the single number that a query yields; 0 for NULL."""
        return int(self.rows(sql, *values)[0][0] or 0)

    def counts(self, key: str, source: str) -> Counter[Any]:
        """Return the number of rows of a table, or of what follows FROM, by a key."""
        return Counter(dict(self.rows(f"SELECT {key}, count(*) FROM {source} GROUP BY 1")))

    def arrays(self, sql: str, *values: object) -> Arrays:
        """Return the columns of a query, which must not contain NULL."""
        with self._translated_errors():
            found: Arrays = self._connection.execute(sql, values or None).fetchnumpy()
        return found

    def append(self, table: str, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Append arrays to the columns of a table."""
        if not len(next(iter(columns.values()))):
            return
        with self._translated_errors():
            self._connection.register("given_arrays", dict(columns))
            try:
                self._connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM given_arrays")
            finally:
                self._connection.unregister("given_arrays")

    def key_ranges(self, table: str, key: str, rows: int) -> Iterator[tuple[int, int]]:
        """Yield inclusive ranges of a key, which sorts the table, with about `rows` rows each."""
        low, high = self.rows(f"SELECT min({key}), max({key}) FROM {table}")[0]
        if low is None:
            return
        width = max((high - low) // _BUCKETS + 1, 1)
        buckets = self.rows(
            f"SELECT ({key} - $1) // $2 AS bucket, count(*) FROM {table} GROUP BY 1 ORDER BY 1",
            low, width,
        )  # fmt: skip
        begin, size = low, 0
        for bucket, count in buckets:
            end = low + bucket * width
            if size and size + count > rows:
                yield begin, end - 1
                begin, size = end, 0
            size += count
        yield begin, high

    def batches(
        self, table: str, key: str, rows: int, columns: str, order: str = ""
    ) -> Iterator[Arrays]:
        """Yield columns of a table, about `rows` rows at a time, in the order of the key."""
        for low, high in self.key_ranges(table, key, rows):
            yield self.arrays(
                f"SELECT {columns} FROM {table} WHERE {key} BETWEEN $1 AND $2 "
                f"ORDER BY {order or key}",
                low, high,
            )  # fmt: skip

    def group(self, table: str, select: str, source: str, keys: str, having: str = "") -> None:
        """Create a table by a GROUP BY, in parts: DuckDB needs much memory to spill groups."""
        parts = self.count_of(source) * _GROUP_BYTES // self._memory + 1
        for part in range(parts):
            begin = f"INSERT INTO {table}" if part else f"CREATE TABLE {table} AS"
            where = f"WHERE hash({keys}) % {parts} = {part}" if parts > 1 else ""
            self.run(f"{begin} SELECT {select} FROM {source} {where} GROUP BY {keys} {having}")

    def count_of(self, table: str) -> int:
        """Return the number of rows of a table."""
        return self.number(f"SELECT count(*) FROM {table}")

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Raise errors of disk and memory as KnowledgeBaseError with advice."""
        try:
            yield
        except self._errors as error:
            first = str(error).strip().splitlines()[0]
            raise KnowledgeBaseError(
                f"{self._folder}: counting failed: {first}; free disk space there, or allow more "
                "memory"
            ) from None


def tsv(folder: Path, pattern: str, columns: Mapping[str, str]) -> str:
    """Return the FROM clause that reads the TSV shards that match a pattern."""
    fields = ", ".join(f"'{name}': '{type}'" for name, type in columns.items())
    escaped = _GLOB.sub(r"[\g<0>]", str(folder))
    paths = f"{escaped}/{pattern}".replace("'", "''")
    return (
        f"read_csv('{paths}', delim='\t', quote='', escape='', header=false, "
        f"auto_detect=false, nullstr='{_NO_NULL}', new_line='\\n', filename=true, "
        f"max_line_size={_MAX_LINE}, buffer_size={16 * _MAX_LINE}, columns={{{fields}}})"
    )


def as_ints(array: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Return an array as i4 entity numbers."""
    return np.ascontiguousarray(array, np.int32)
