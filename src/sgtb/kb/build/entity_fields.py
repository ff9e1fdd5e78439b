"""Fields of list records: values read and validated one by one."""

import json
from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from sgtb.kb.build.type_names import coarse_type
from sgtb.kb.build.usable_names import is_id
from sgtb.kb.layout import MAX_DIMENSIONS, MAX_KEY, MAX_SPELLING, MAX_TEXT
from sgtb.kb.name_index import MAX_COUNT
from sgtb.kb.name_variants import VARIANT
from sgtb.text.normalization import normal_name

GIVEN = "given"  # the default source of names
MAX_SOURCES = 32  # sources of a list, besides that of variants
_MAX_SOURCE = 100
_MAX_TYPE = 100
_SEPARATOR = "|"

Vector = npt.NDArray[np.float32]
Alias = tuple[str, str, int]  # name, source, count
T = TypeVar("T")


class FieldError(Exception):
    """An invalid value; the caller adds file, line and column."""


class Fields:
    """The fields of a record; null is as good as absent.

    cells   values are texts of table cells
    errors  key and message of each value that was refused
    """

    def __init__(self, record: Mapping[str, Any], *, cells: bool = False) -> None:
        self._record = record
        self._cells = _CELLS if cells else {}
        self.errors: list[tuple[str, str]] = []

    def all(self, kind: Any, keys: Iterable[str], needed: Container[str] | None = None) -> Any:
        """Return the values of keys; the defaults of a named tuple for absent and refused ones.

        needed  keys that must be present; None: those without a default
        """
        defaults = kind._field_defaults
        found = {key: defaults.get(key) for key in keys}
        if needed is None:
            needed = found.keys() - defaults.keys()
        for key in found:
            value = self._record.get(key)
            if value is not None:
                try:
                    cell = self._cells.get(key)
                    found[key] = _READERS[key](value if cell is None else cell(value))
                except FieldError as error:
                    self.errors.append((key, str(error)))
            elif key in needed:
                self.errors.append((key, "missing; every record needs one"))
        return found


def shown(value: Any) -> str:
    """Return a value for messages, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_id(value: Any) -> str:
    """Return an entity's id."""
    id_ = _text(value, MAX_KEY)
    if not is_id(id_):
        _refuse(f"{shown(id_)} is empty or has control characters; give an id of visible ones")
    return id_


def read_name(value: Any) -> str:
    """Return a name with single spaces."""
    name = " ".join(_text(value, MAX_TEXT).split())
    normal = normal_name(name)
    if not normal:
        _refuse(f"{shown(value)} is empty; a name has at least one visible character")
    _text(normal, MAX_KEY)
    return _text(name, MAX_SPELLING)


def read_type(value: Any) -> str:
    """Return a coarse type, or the name of an own type."""
    name = " ".join(_text(value, _MAX_TYPE).split())
    if not name.isprintable():
        _refuse(f"{shown(value)} has control characters; remove them")
    return coarse_type(name)


def read_popularity(value: Any) -> float:
    """Return a finite number."""
    if type(value) not in (int, float) or not abs(value) < 3e38:
        _refuse(f"{shown(value)} is not a finite number; write one like 12.5, or leave it out")
    return float(value)


def read_link(value: Any) -> str:
    """Return an id, which may be unknown."""
    if not isinstance(value, str):
        _refuse(f"{shown(value)} is not a string; put it in quotes")
    return value


def read_vector(value: Any) -> Vector:
    """Return numbers that are not all zero."""
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_DIMENSIONS:
        _refuse(f"{shown(value)} is not a list of 1 to {MAX_DIMENSIONS} numbers")
    if not all(type(v) in (int, float) and abs(v) < 1e30 for v in value):
        _refuse(f"{shown(value)} has values that are not finite numbers")
    vector = np.array(value, np.float32)
    if not vector.any():
        _refuse("all zeros; leave it out where there is none")
    return vector


def read_count(value: Any, limit: int = MAX_COUNT) -> int:
    """Return a count of up to 32 bits, or up to a limit."""
    if type(value) is not int or not 0 <= value <= limit:
        _refuse(f"{shown(value)} is not a count; write a whole number from 0 to {limit:,}")
    return value


read_link_count = partial(read_count, limit=MAX_COUNT >> 1)
read_dimensions = partial(read_count, limit=MAX_DIMENSIONS)


def read_sources(value: Any) -> tuple[str, ...]:
    """Return the sources of a knowledge base."""
    sources = [_source(item) for item in _list(value)]
    if GIVEN not in sources:
        _refuse(f"{sources!r} has no {GIVEN!r} among them; add it")
    if len(set(sources)) != len(sources) or not 1 <= len({*sources} - {VARIANT}) <= MAX_SOURCES:
        _refuse(f"1 to {MAX_SOURCES} different sources are possible, not {sources!r}")
    return tuple(sources)


def read_origin(value: Any) -> dict[str, Any]:
    """Return what a knowledge base was built from."""
    if not isinstance(value, dict) or not is_unicode(json.dumps(value, ensure_ascii=False)):
        _refuse(f"{shown(value)} is not the origin of an export; leave it out")
    return value


def read_word(value: Any) -> str:
    """Return a word in normal form."""
    word = normal_name(_text(value, MAX_TEXT))  # the form of look-ups
    if not 0 < len(word.encode()) <= MAX_KEY:
        _refuse(f"{shown(word)} has not 1 to {MAX_KEY} bytes in its normal form")
    return word


def _refuse(message: str) -> NoReturn:
    raise FieldError(message)


def _text(value: Any, limit: int) -> str:
    text = read_link(value)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        _refuse(f"{shown(text)} has half a surrogate pair in it; save the file as UTF-8")
    if size > limit:
        _refuse(f"{shown(text)} has {size:,} bytes; {limit:,} are allowed")
    return text


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        _refuse(f"{shown(value)} is not a list; put it in [ ]")
    return value


def _alias(item: Any) -> Alias:
    """Return name, source and count of an alias; source "": not stated."""
    if isinstance(item, str):
        return read_name(item), "", 1
    if not isinstance(item, dict) or not set(item) <= {"name", "count", "source"}:
        _refuse(f'alias {shown(item)} is neither a string nor {{"name", "count", "source"}}')
    source = _source(item["source"]) if "source" in item else ""
    count = read_count(item["count"]) if item.get("count") is not None else 1
    if count < 1:
        _refuse(f"alias {shown(item)}: a count is at least 1")
    return read_name(item.get("name")), source, count


def _source(item: Any) -> str:
    if not isinstance(item, str) or not 0 < len(item) <= _MAX_SOURCE or not item.isprintable():
        _refuse(f"source {shown(item)} is not a name of 1 to {_MAX_SOURCE} characters")
    return item


# Cells of tables, before the readers above.


def _parts(cell: str) -> list[str]:
    return [part for part in map(str.strip, cell.split(_SEPARATOR)) if part]


def _converted(convert: Callable[[str], T], problem: str) -> Callable[[str], T]:
    def cell_value(cell: str) -> T:
        try:
            return convert(cell)
        except ValueError:
            _refuse(f"{shown(cell)} is {problem}, or leave the cell empty")

    return cell_value


_number = _converted(float, "not a number; write one like 12.5")
_whole = _converted(int, "not a count; write a whole number")
_CELLS: dict[str, Callable[[str], Any]] = {
    "aliases": _parts,
    "links": _parts,
    "popularity": _number,
    "in_links": _whole,
    "out_links": _whole,
    "vector": lambda cell: [_number(part) for part in cell.split()],
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "id": read_id, "name": read_name,
    "aliases": lambda value: tuple(map(_alias, _list(value))),
    "description": lambda value: " ".join(_text(value, MAX_TEXT).split()),
    "type": read_type, "popularity": read_popularity,
    "links": lambda value: tuple(map(read_link, _list(value))), "vector": read_vector,
    "in_links": read_link_count, "out_links": read_link_count,
    "sources": read_sources, "dimensions": read_dimensions, "origin": read_origin,
    "linked": read_count, "pages": read_count, "a": read_link, "b": read_link, "count": read_count,
    "word": read_word,
}  # fmt: skip
