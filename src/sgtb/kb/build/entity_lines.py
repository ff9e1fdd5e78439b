"""Entity lists as JSON Lines, CSV or Excel, read and validated line by line."""

import codecs
import io
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from io import BufferedReader
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, TypeVar, cast

from sgtb.core.errors import EntityListError, KnowledgeBaseError
from sgtb.core.files import open_unpacked
from sgtb.core.limits import FileLimits, check_items
from sgtb.core.thread_pool import cores
from sgtb.core.workers import ThreadTasks, ordered_results
from sgtb.kb.build.entity_fields import Fields, Vector, is_unicode, shown
from sgtb.kb.build.list_tables import (
    EXCEL_ERRORS,
    KEYS,
    ListFormat,
    Row,
    csv_rows,
    excel_rows,
    key_of,
    keys_of,
    list_format,
)  # fmt: skip
from sgtb.kb.build.type_names import coarse_type
from sgtb.native import read_entity_line
from sgtb.text.normalization import name_table

MAX_ERRORS = 100  # reading ends after this many errors
_MAX_COLUMNS = 1000
_BLOCK = 1 << 20  # bytes of lines that a kernel reads at a time
_MAX_THREADS = 4  # threads of a kernel; what follows it is done in one
_LONG_NAME = 60
_NOT_UTF8 = "not UTF-8; save the file as UTF-8"
_ENTITY_KEYS = frozenset(KEYS)


class EntityLine(NamedTuple):
    """A record of an entity; `keys` are the fields it has."""

    line: int
    id: str
    keys: frozenset[str]
    name: str = ""
    aliases: tuple[tuple[str, str, int], ...] = ()  # name, source, count
    description: str = ""
    type: str = ""
    popularity: float = math.nan
    links: tuple[str, ...] = ()
    vector: Vector | None = None
    in_links: int = -1
    out_links: int = -1


class HeaderLine(NamedTuple):
    """The first line of an export."""

    line: int
    sources: tuple[str, ...]
    dimensions: int = 0
    origin: Mapping[str, Any] = {}


class NameLine(NamedTuple):
    """On how many pages a name is a link, and on how many it occurs."""

    line: int
    name: str
    linked: int
    pages: int


class PairLine(NamedTuple):
    """Number of pages on which two entities are linked near each other."""

    line: int
    a: str
    b: str
    count: int  # type: ignore[assignment]  # no tuple.count


class WordLine(NamedTuple):
    """The vector of a word."""

    line: int
    word: str
    vector: Vector


Line = EntityLine | HeaderLine | NameLine | PairLine | WordLine


class LineBatch(NamedTuple):
    """Consecutive lines that a kernel has read, a span of a block."""

    first: int  # number of the first line
    lines: int
    text: memoryview  # of the lines
    read: Any  # result of the kernel for the block
    span: int


Kernel = Callable[[bytes, int], Any]
"""Reads a block of lines with a limit of bytes per line; its result has `spans`: begin, end and
number of lines, 0 for a line that it has not read."""
R = TypeVar("R")


class LineError(KnowledgeBaseError):
    """An error in a line of a list."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class EntityList:
    """A file of entities, which can be read several times.

    Errors are collected; `check` raises all of them. A record with an error in one field is
    yielded without that field as long as it has an id.

    partial   records need only an id, as for updates; otherwise a name, too
    sheet     name of an Excel sheet; None: the first one
    format    detected when it is read
    complete  whether all records so far had a readable id
    """

    def __init__(self, path: Path, *, partial: bool = False, sheet: str | None = None) -> None:
        self.path = path
        self.format: ListFormat = "jsonl"
        self.complete = True
        self._partial = partial
        self._sheet = sheet
        self._errors: dict[str, int] = {}  # message, line
        self._columns: Mapping[str, str] = {}  # as they are named in the file, by key
        self._unknown: set[str] = set()  # columns reported once

    @property
    def failed(self) -> bool:
        """Whether there are errors."""
        return bool(self._errors)

    @property
    def unit(self) -> str:
        """The word for a line."""
        return "row" if self.format == "xlsx" else "line"

    def error(self, line: int, message: str, key: str = "") -> LineError:
        """Return an error with file, line and column."""
        unit = "key" if self.format == "jsonl" else "column"
        name = self._columns.get(key, key)
        name = name if name.isprintable() and len(name) <= _LONG_NAME else shown(name)
        column = f", {unit} {name}" if key else ""
        return LineError(f"{self.path}, {self.unit} {line}{column}: {message}", line)

    def repeated(self, line: EntityLine, first: int) -> LineError:
        """Return the error of an id that is given twice."""
        message = f"{line.id!r} is given twice, first in {self.unit} {first}; keep one"
        return self.error(line.line, message, "id")

    def attempt(self, action: Callable[..., None], *args: Any) -> None:
        """Call an action and collect its error."""
        try:
            action(*args)
        except LineError as error:
            self.collect(error)

    def collect(self, error: LineError) -> None:
        """Keep an error until `check`; the last one possible raises all of them."""
        self._errors.setdefault(str(error), error.line)
        if len(self._errors) == MAX_ERRORS:
            self.check()

    def check(self) -> None:
        """Raise all errors so far, by line."""
        errors = sorted(self._errors, key=self._errors.__getitem__)
        if len(errors) > 1:
            more = ", and perhaps more" if len(errors) == MAX_ERRORS else ""
            errors.append(f"{self.path}: {len(errors)} errors{more}; nothing was built or changed")
        if errors:
            raise EntityListError(*errors)

    def __iter__(self) -> Iterator[Line]:
        """Yield the lines of the file, then check."""
        yield from self.read()
        self.check()

    def read(self) -> Iterator[Line]:
        """Yield the lines of the file and collect errors."""
        return self._read(self._lines, None)

    def read_batches(
        self, kernel: Kernel, progress: Callable[[int], None]
    ) -> Iterator[Line | LineBatch]:
        """Yield the same, but lines that a kernel reads in batches; `progress` takes bytes read."""
        return self._read(partial(self._batches, kernel), progress)

    def lines_of(self, batch: LineBatch) -> Iterator[Line]:
        """Yield the lines of a batch."""
        for number, raw in enumerate(io.BytesIO(batch.text), batch.first):
            if (line := self._json_line(number, raw)) is not None:
                yield line

    def _read(
        self, parts: Callable[[BinaryIO], Iterator[R]], progress: Callable[[int], None] | None
    ) -> Iterator[R]:
        self._columns, self._unknown = {}, set()
        try:
            with open_unpacked(self.path) as (file, position):
                # Without reading, as a pipe can be read only once.
                self.format = list_format(self.path, cast(BufferedReader, file).peek(4096))
                if self._sheet is not None and self.format != "xlsx":
                    raise KnowledgeBaseError(f"{self.path}: not an Excel file; leave out the sheet")
                for count, part in enumerate(parts(file)):
                    yield part
                    if progress is not None and (count % 1000 == 0 or isinstance(part, LineBatch)):
                        progress(position())  # which a pipe has not
        except (EOFError, zlib.error) as error:
            raise KnowledgeBaseError(f"{self.path}: damaged: {error}") from None
        except OSError as error:  # also of damaged compressed data
            raise KnowledgeBaseError(
                f"{self.path}: cannot be read: {error.strerror or error}"
            ) from None

    def _lines(self, file: BinaryIO) -> Iterator[Line]:
        if self.format == "jsonl":
            raw_lines = iter(partial(file.readline, FileLimits.current().line + 1), b"")
            numbered = takewhile(lambda item: self._is_short(*item), enumerate(raw_lines, 1))
            found = (self._json_line(number, raw) for number, raw in numbered)
        else:
            excel = self.format == "xlsx"
            rows = excel_rows(self.path, file, self._sheet) if excel else csv_rows(file)
            found = (self._entity(line, record) for line, record in self._table_records(rows))
        yield from (line for line in found if line is not None)

    def _batches(self, kernel: Kernel, file: BinaryIO) -> Iterator[Line | LineBatch]:
        if self.format != "jsonl":
            yield from self._lines(file)
            return
        limit = FileLimits.current().line

        def read(block: bytes) -> tuple[memoryview, Any]:
            return memoryview(block), kernel(block, limit)

        number = 1
        with ThreadTasks(min(cores(), _MAX_THREADS)) as pool:
            for block, found in ordered_results(read, _blocks(file, limit), 1, pool):
                for span, (begin, end, lines) in enumerate(found.spans):
                    text = block[begin:end]
                    if lines:
                        yield LineBatch(number, lines, text, found, span)
                    elif not self._is_short(number, text):
                        return
                    elif (line := self._json_line(number, bytes(text))) is not None:
                        yield line
                    number += lines or 1

    def _refuse(self, line: int, message: str, key: str = "") -> None:
        """Collect the error of a record that is left out."""
        self.complete = False
        self.collect(self.error(line, message, key))

    def _is_short(self, number: int, raw: bytes | memoryview) -> bool:
        """Return whether a line is within the limit; if not, nothing after it is read."""
        limits = FileLimits.current()
        if len(raw) > limits.line:
            self._refuse(number, f"too long; {limits.advice('line')}; each line is one object")
        return len(raw) <= limits.line

    def _json_line(self, number: int, raw: bytes) -> Line | None:
        if number == 1:
            raw = raw.removeprefix(codecs.BOM_UTF8)
        if plain := read_entity_line(name_table(), raw):
            self._columns = {}
            bits, *values = plain
            given = dict(zip(_PLAIN_KEYS, values, strict=True))
            given["type"] = _plain_type(given["type"])
            return EntityLine(number, keys=_keys(bits), **given)
        if not raw.strip():
            return None
        try:
            check_items(raw)
            record = _JSON.decode(raw.decode())
        except UnicodeDecodeError:
            self._refuse(number, _NOT_UTF8)
        except (ValueError, RecursionError) as error:
            self._refuse(number, f"not JSON: {error}; each line is one object")
        else:
            if isinstance(record, dict):
                return self._json_record(number, record)
            self._refuse(number, f"a {type(record).__name__}, not an object {{…}}")
        return None

    def _table_records(self, rows: Iterator[Row]) -> Iterator[tuple[int, dict[str, str]]]:
        columns: list[str] | None = None
        for line, row in rows:
            cells = [] if isinstance(row, str) else [cell.strip() for cell in row]
            if isinstance(row, str):
                self._refuse(line, row)
            elif not any(cells):
                continue
            elif not is_unicode("".join(cells)):
                self._refuse(line, _NOT_UTF8)
            elif columns is None:
                columns = cells if self._has_header(line, cells) else None
            elif self._has_width(line, cells, len(columns)):
                yield line, self._record(line, columns, cells)
            if columns is None:
                return
        if columns is None:
            self._refuse(1, f"no column `id`; the first {self.unit} names the columns")

    def _has_header(self, line: int, cells: list[str]) -> bool:
        """Set the columns; return whether the rows below can be read."""
        named = tuple(filter(None, cells))
        if len(cells) > _MAX_COLUMNS:
            self._refuse(line, f"{len(cells):,} columns; {_MAX_COLUMNS:,} are possible")
            return False
        columns, problems = keys_of(named)
        for column, message in problems:
            self.collect(self.error(line, message, column))
        self._columns = columns
        if "id" not in columns:
            self._refuse(
                line, f"no column `id` among {shown(list(named))}; the first {self.unit} names them"
            )
        return [*map(key_of, named)].count("id") == 1

    def _has_width(self, line: int, cells: list[str], width: int) -> bool:
        """Fill or cut empty cells at the end; return whether the row is as wide as the header."""
        while len(cells) > width and not cells[-1]:
            cells.pop()
        if self.format == "xlsx":
            cells.extend([""] * (width - len(cells)))
        if len(cells) != width:
            self._refuse(line, f"{len(cells)} cells for {width} columns; quote cells with commas")
        return len(cells) == width

    def _record(self, line: int, columns: list[str], cells: list[str]) -> dict[str, str]:
        by_column = {column: cell for column, cell in zip(columns, cells, strict=True) if cell}
        if "" in by_column and "" not in self._unknown:
            self._unknown.add("")
            message = f"{shown(by_column[''])} is in a column without a name; name or remove it"
            self.collect(self.error(line, message))
        record = {
            key: by_column[column] for key, column in self._columns.items() if column in by_column
        }
        for key in [key for key, cell in record.items() if cell in EXCEL_ERRORS]:
            if self.format == "xlsx":
                message = f"{record.pop(key)!r} is an error of Excel; correct the formula"
                self.collect(self.error(line, message, key))
        return record

    def _json_record(self, line: int, record: dict[str, Any]) -> Line | None:
        kind = record.pop("kind", "entity")
        self._columns = {}
        if kind == "entity":
            if not record.keys() <= _ENTITY_KEYS:
                record = self._renamed(line, record)
            return self._entity(line, record)
        known = _OTHERS.get(kind) if isinstance(kind, str) else None
        if known is None:
            self._refuse(line, f"{shown(kind)} is none of {sorted(['entity', *_OTHERS])}", "kind")
            return None
        keys = known._fields[1:]
        values = Fields(record)
        given = values.all(known, keys)
        if unknown := record.keys() - set(keys):
            values.errors.append((min(unknown), f"unknown; known are {' '.join(keys)}"))
        found: Line | None = None
        if not values.errors:
            found = known(line, **given)
            values.errors += _conflicts(found)
        return found if self._valid(line, values) else None

    def _renamed(self, line: int, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record with its keys as they are named here."""
        columns, problems = keys_of(tuple(record))
        for column, message in problems:
            if column not in self._unknown:
                self._unknown.add(column)
                self.collect(self.error(line, message, column))
        self._columns = columns
        return {key: record[column] for key, column in self._columns.items()}

    def _entity(self, line: int, record: dict[str, Any]) -> EntityLine | None:
        values = Fields(record, cells=self.format != "jsonl")
        needs_name = "name" in record or not self._partial
        given = values.all(EntityLine, KEYS, ("id", "name") if needs_name else ("id",))
        self._valid(line, values)
        if not given["id"]:
            self.complete = False
            return None
        return EntityLine(line, keys=frozenset(record), **given)

    def _valid(self, line: int, values: Fields) -> bool:
        """Collect the errors of a record; return whether there are none."""
        for key, message in values.errors:
            self.collect(self.error(line, message, key))
        return not values.errors


def _blocks(file: BinaryIO, limit: int) -> Iterator[bytes]:
    """Yield blocks of whole lines; one beyond the limit may be cut and is the last of its block."""
    while block := file.read(_BLOCK):
        yield block if block.endswith(b"\n") else block + file.readline(limit + 1)


@cache
def _keys(bits: int) -> frozenset[str]:
    """Return the keys of a line that a kernel has read."""
    return frozenset(key for i, key in enumerate(_PLAIN_KEYS) if bits >> i & 1)


_plain_type = lru_cache(coarse_type)
_PLAIN_KEYS = tuple(key for key in KEYS if key != "vector")
_OTHERS: dict[str, Any] = {"kb": HeaderLine, "name": NameLine, "pair": PairLine, "word": WordLine}
"""Kinds of lines besides entities."""


def _conflicts(line: Line) -> Iterator[tuple[str, str]]:
    """Yield key and message of values that do not go together."""
    if isinstance(line, NameLine) and line.linked > line.pages:
        yield "linked", f"{line.linked}, but found on {line.pages} pages only"
    if isinstance(line, PairLine) and line.a == line.b:
        yield "b", f"a pair of {line.a!r} with itself; leave it out"
    if isinstance(line, PairLine) and not line.count:
        yield "count", "0; leave the pair out"


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


_JSON = json.JSONDecoder(parse_constant=_no_constant)
