"""Entity lists as JSON Lines or CSV, read and validated line by line."""

import codecs
import csv
import io
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.files import open_unpacked
from sgtb.kb.build.usable_names import is_id
from sgtb.kb.entity import TYPES
from sgtb.kb.layout import MAX_DIMENSIONS, MAX_KEY, MAX_SPELLING, MAX_TEXT
from sgtb.kb.name_index import MAX_COUNT
from sgtb.text.normalization import normal_name

GIVEN = "given"
"""The default source of names."""
MAX_SOURCES = 32
_MAX_SOURCE = 100
_SEPARATOR = "|"

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EntityLine:
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


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """The first line of an export."""

    line: int
    sources: tuple[str, ...]
    dimensions: int
    origin: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NameLine:
    """On how many pages a name is a link, and on how many it occurs."""

    line: int
    name: str
    linked: int
    pages: int


@dataclass(frozen=True, slots=True)
class PairLine:
    """Number of pages on which two entities are linked near each other."""

    line: int
    a: str
    b: str
    count: int


@dataclass(frozen=True, slots=True)
class WordLine:
    """The vector of a word."""

    line: int
    word: str
    vector: Vector


Line = EntityLine | HeaderLine | NameLine | PairLine | WordLine
ByteProgress = Callable[[int], None]
"""Progress callback; takes the number of bytes read."""

_KEYS = {
    "entity": "id name aliases description type popularity links vector in_links out_links",
    "kb": "sources dimensions origin",
    "name": "name linked pages",
    "pair": "a b count",
    "word": "word vector",
}


class EntityList:
    """A file of entities, which can be read several times.

    partial  records need only an id, as for updates; otherwise a name, too
    """

    def __init__(self, path: Path, *, csv: bool = False, partial: bool = False) -> None:
        self.path = path
        self._csv = csv
        self._partial = partial

    def error(self, line: int, message: str) -> KnowledgeBaseError:
        """Return an error with file and line."""
        return KnowledgeBaseError(f"{self.path}, line {line}: {message}")

    def __iter__(self) -> Iterator[Line]:
        return self.read()

    def read(self, progress: ByteProgress | None = None) -> Iterator[Line]:
        """Yield the lines of the file."""
        try:
            with open_unpacked(self.path) as (file, position):
                records = self._csv_records(file) if self._csv else self._json_records(file)
                for count, (line, record) in enumerate(records):
                    yield self._line(line, record)
                    if progress is not None and count % 1000 == 0:
                        progress(position())
        except (EOFError, zlib.error) as error:
            raise KnowledgeBaseError(f"{self.path}: damaged: {error}") from None
        except OSError as error:  # also of damaged compressed data
            raise KnowledgeBaseError(
                f"{self.path}: cannot be read: {error.strerror or error}"
            ) from None

    def _json_records(self, file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, raw in enumerate(file, 1):
            if number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            if not raw.strip():
                continue
            try:
                record = _JSON.decode(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError:
                raise self.error(number, "not UTF-8; save the file as UTF-8") from None
            except (ValueError, RecursionError) as error:
                raise self.error(number, f"not JSON: {error}; each line is one object") from None
            if not isinstance(record, dict):
                raise self.error(number, f"a {type(record).__name__}, not an object {{…}}")
            yield number, record

    def _csv_records(self, file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
        # Bytes that are not UTF-8 become lone surrogates, so that errors can name their line.
        text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
        number = 1
        try:
            first = text.readline(1 << 16)
            delimiter = max(",;\t", key=first.count)
            columns = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
            if "id" not in columns:
                raise self.error(1, f"no column `id` among {columns}; the first line names columns")
            if len(set(columns)) < len(columns):
                raise self.error(1, f"a column is named twice: {columns}")
            rows = csv.reader(text, delimiter=delimiter, strict=True)
            while (row := next(rows, None)) is not None:
                number = rows.line_num + 1
                if not row:
                    continue
                if len(row) != len(columns):
                    raise self.error(number, f"{len(row)} cells for {len(columns)} columns")
                if not _is_unicode("".join(row)):
                    raise self.error(number, "not UTF-8; save the file as UTF-8")
                cells = {c: v.strip() for c, v in zip(columns, row, strict=True) if v.strip()}
                yield number, self._from_cells(number, cells)
        except csv.Error as error:
            raise self.error(number + 1, f"not CSV: {error}") from None

    def _from_cells(self, line: int, cells: dict[str, str]) -> dict[str, Any]:
        record: dict[str, Any] = dict(cells)
        for key in ("aliases", "links"):
            if key in cells:
                parts = map(str.strip, cells[key].split(_SEPARATOR))
                record[key] = [part for part in parts if part]
        try:
            for key, kind in (("popularity", float), ("in_links", int), ("out_links", int)):
                if key in cells:
                    record[key] = kind(cells[key])
            if "vector" in cells:
                record["vector"] = [float(v) for v in cells["vector"].split()]
        except ValueError as error:
            raise self.error(line, f"not a number: {error}") from None
        return record

    def _line(self, line: int, record: dict[str, Any]) -> Line:
        kind = record.pop("kind", "entity")
        reader = _READERS.get(kind) if isinstance(kind, str) else None
        if reader is None:
            raise self.error(line, f"kind {kind!r} is none of {sorted(_READERS)}")
        try:
            if unknown := record.keys() - _KEYS[kind].split():
                _refuse(f"unknown key {min(unknown)!r}; known are {_KEYS[kind]}")
            return reader(self, line, record)
        except _InvalidRecordError as error:
            raise self.error(line, str(error)) from None
        except KeyError as error:
            raise self.error(line, f"key {error.args[0]!r} is missing") from None

    def _entity(self, line: int, record: dict[str, Any]) -> EntityLine:
        id_ = _text(record, "id", MAX_KEY)
        if not is_id(id_):
            _refuse(f"id {id_!r} is empty or has control characters")
        if "name" not in record and not self._partial:
            _refuse(f"entity {id_!r} has no `name`")
        name = _clean_name(record["name"]) if "name" in record else ""
        type_ = _text(record, "type", 100)
        if type_ not in TYPES:
            _refuse(f"type {type_!r} is none of {', '.join(TYPES[1:])}")
        return EntityLine(
            line=line,
            id=id_,
            keys=frozenset(record),
            name=name,
            aliases=tuple(_alias(item) for item in _list(record, "aliases")),
            description=" ".join(_text(record, "description", MAX_TEXT).split()),
            type=type_,
            popularity=_popularity(record.get("popularity")),
            links=tuple(_id(item) for item in _list(record, "links")),
            vector=_vector(record["vector"]) if record.get("vector") is not None else None,
            in_links=_count(record, "in_links", -1),
            out_links=_count(record, "out_links", -1),
        )

    def _header(self, line: int, record: dict[str, Any]) -> HeaderLine:
        sources = [_source(item) for item in _list(record, "sources")]
        origin = record.get("origin", {})
        dimensions = _count(record, "dimensions", 0)
        if GIVEN not in sources:
            _refuse(f"sources {sources!r} have no {GIVEN!r} among them")
        if len(set(sources)) != len(sources) or not 1 <= len(sources) <= MAX_SOURCES:
            _refuse(f"1 to {MAX_SOURCES} different sources are possible, not {sources!r}")
        known = isinstance(origin, dict) and _is_unicode(json.dumps(origin, ensure_ascii=False))
        if not known or dimensions > MAX_DIMENSIONS:
            _refuse("not the header of an export")
        return HeaderLine(line, tuple(sources), dimensions, origin)

    def _name(self, line: int, record: dict[str, Any]) -> NameLine:
        linked, pages = _count(record, "linked"), _count(record, "pages")
        if linked > pages:
            _refuse(f"linked on {linked} pages but found on {pages} only")
        return NameLine(line, _clean_name(record["name"]), linked, pages)

    def _pair(self, line: int, record: dict[str, Any]) -> PairLine:
        a, b = _id(record["a"]), _id(record["b"])
        if a == b:
            _refuse(f"a pair of {a!r} with itself")
        count = _count(record, "count")
        if not count:
            _refuse("count is 0; leave the pair out")
        return PairLine(line, a, b, count)

    def _word(self, line: int, record: dict[str, Any]) -> WordLine:
        word = normal_name(_text(record, "word", MAX_TEXT))  # the form of look-ups
        if not 0 < len(word.encode()) <= MAX_KEY:
            _refuse(f"word {_shown(word)} has not 1 to {MAX_KEY} bytes in its normal form")
        return WordLine(line, word, _vector(record["vector"]))


class _InvalidRecordError(Exception):
    """An invalid record; the caller adds file and line."""


_READERS: dict[str, Callable[[EntityList, int, dict[str, Any]], Line]] = {
    "entity": EntityList._entity,
    "kb": EntityList._header,
    "name": EntityList._name,
    "pair": EntityList._pair,
    "word": EntityList._word,
}


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


_JSON = json.JSONDecoder(parse_constant=_no_constant)


def _refuse(message: str) -> NoReturn:
    raise _InvalidRecordError(message)


def _text(record: Mapping[str, Any], key: str, limit: int) -> str:
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        _refuse(f"{key} is {_shown(value)}, not a string")
    return _checked(value, key, limit)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _checked(value: str, key: str, limit: int) -> str:
    if not _is_unicode(value):
        _refuse(f"{key} {_shown(value)} has half a surrogate pair in it")
    size = len(value.encode())
    if size > limit:
        _refuse(f"{key} {_shown(value)} has {size:,} bytes; {limit:,} are allowed")
    return value


def _clean_name(value: Any) -> str:
    """Return a validated name with single spaces."""
    if not isinstance(value, str):
        _refuse(f"name {_shown(value)} is not a string")
    name = " ".join(_checked(value, "name", MAX_TEXT).split())
    normal = normal_name(name)
    if not normal:
        _refuse(f"name {_shown(value)} is empty")
    for size, limit in ((len(normal.encode()), MAX_KEY), (len(name.encode()), MAX_SPELLING)):
        if size > limit:
            _refuse(f"name {_shown(value)} has {size:,} bytes; {limit:,} are allowed")
    return name


def _alias(item: Any) -> tuple[str, str, int]:
    if isinstance(item, str):
        return _clean_name(item), "", 1
    if not isinstance(item, dict) or not set(item) <= {"name", "count", "source"}:
        _refuse(f'alias {_shown(item)} is neither a string nor {{"name", "count", "source"}}')
    source = _source(item["source"]) if "source" in item else ""
    count = _count(item, "count", 1)
    if count < 1:
        _refuse(f"alias {_shown(item)}: a count is at least 1")
    return _clean_name(item.get("name")), source, count


def _source(item: Any) -> str:
    if not isinstance(item, str) or not 0 < len(item) <= _MAX_SOURCE or not item.isprintable():
        _refuse(f"source {_shown(item)} is not a name of 1 to {_MAX_SOURCE} characters")
    return item


def _id(item: Any) -> str:
    if not isinstance(item, str):
        _refuse(f"id {_shown(item)} is not a string")
    return item


def _list(record: Mapping[str, Any], key: str) -> list[Any]:
    value = record.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        _refuse(f"{key} is {_shown(value)}, not a list")
    return value


def _count(record: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = record.get(key)
    if value is None and default is not None:
        return default
    value = record[key]  # a KeyError names what is missing
    if type(value) is not int or not 0 <= value <= MAX_COUNT >> (key in ("in_links", "out_links")):
        _refuse(f"{key} is {_shown(value)}, not a count")
    return value


def _popularity(value: Any) -> float:
    if value is None:
        return math.nan
    if type(value) not in (int, float) or not abs(value) < 3e38:
        _refuse(f"popularity is {_shown(value)}, not a finite number")
    return float(value)


def _vector(value: Any) -> Vector:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_DIMENSIONS:
        _refuse(f"vector is {_shown(value)}, not a list of 1 to {MAX_DIMENSIONS} numbers")
    if not all(type(v) in (int, float) and abs(v) < 1e30 for v in value):
        _refuse("vector has values that are not finite numbers")
    vector = np.array(value, np.float32)
    if not vector.any():
        _refuse("vector is all zeros; leave it out where there is none")
    return vector


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
