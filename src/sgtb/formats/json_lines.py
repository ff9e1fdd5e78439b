"""JSON Lines: one object a line, read with validation and written one at a time."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sgtb.core.errors import CorpusError, SgtbError
from sgtb.core.limits import check_items
from sgtb.core.records import Document
from sgtb.formats.annotated import Annotation
from sgtb.formats.corpus_format import Format, write_file
from sgtb.formats.corpus_source import not_utf8, raw_lines
from sgtb.formats.error_handler import ErrorHandler

T = TypeVar("T")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


class JsonLine(NamedTuple):
    """The object of a line, or an object within it, with its position for errors."""

    file: str
    number: int
    fields: dict[str, Any]
    part: str = ""  # name of the object within the line, followed by a colon

    def error(self, message: str) -> CorpusError:
        """Return an error with file and line."""
        return CorpusError(f"{self.file}, line {self.number}: {self.part}{message}")

    def within(self, value: Any, name: str, expected: str) -> "JsonLine":
        """Return an object within this one, by its name; `expected` are its fields."""
        found = self._replace(fields=value, part=f"{name}: ")
        if not isinstance(value, dict):
            raise found.error(f"not an object with {expected}, but {json_shown(value)}")
        return found

    def text(self, key: str) -> str:
        """Return a field that must be a string without lone surrogates."""
        value = self.fields.get(key)
        if not isinstance(value, str):
            raise self.error(f'"{key}" should be a string, not {json_shown(value)}')
        try:
            value.encode()
        except UnicodeEncodeError as problem:
            raise self.error(
                f'character {problem.start} of "{key}" is half of a surrogate pair'
            ) from None
        return value

    def optional_text(self, key: str) -> str | None:
        """Return a field that may be missing or null, and otherwise must be a string."""
        return None if self.fields.get(key) is None else self.text(key)

    def id(self) -> str:
        """Return the field "id" as a string; default: the line number."""
        value = self.fields.get("id", self.number)
        return "" if value == "" else self._replace(fields={"id": value}).entity("id")

    def entity(self, key: str) -> str:
        """Return a field that must be an id, a string or an integer, as a string."""
        value = self.fields.get(key)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise self.error(f'"{key}" should be a string or a number, not {json_shown(value)}')
        return self._replace(fields={key: str(value)}).text(key)

    def span(self, key: str) -> tuple[int, int]:
        """Return a field that must be a pair of integers."""
        value = self.fields.get(key)
        if not isinstance(value, list) or len(value) != 2:
            raise self.error(f'"{key}" should be a pair of numbers, not {json_shown(value)}')
        return whole_number(value[0], key, self.error), whole_number(value[1], key, self.error)

    def items(self, key: str) -> list[Any]:
        """Return a field that must be a list; a missing one is empty."""
        return [] if self.fields.get(key) is None else self.required_items(key)

    def required_items(self, key: str) -> list[Any]:
        """Return a field that must be a list."""
        value = self.fields.get(key)
        if not isinstance(value, list):
            raise self.error(f'"{key}" should be a list, not {json_shown(value)}')
        return value


def line_format(
    document: Callable[[JsonLine, ErrorHandler], Document],
    fields: Callable[[Document], Iterable[dict[str, Any]]],
    **declared: Any,
) -> Format:
    """Return a format of one document a line; `declared` are its further fields."""

    def read(path: Path, handler: ErrorHandler) -> Iterator[Document]:
        for line in iterate_lines(path, handler):
            with handler.skipping():
                yield document(line, handler)

    return Format(read=read, write=partial(write_lines, fields), **declared)


def iterate_lines(path: Path, handler: ErrorHandler) -> Iterator[JsonLine]:
    """Yield the objects of a file, one at a time."""
    for number, raw in raw_lines(path):
        if not raw.strip():
            continue
        try:
            fields = json_object(raw)
        except ValueError as error:
            handler.error(CorpusError(f"{path}, line {number}: {error}"))
        else:
            yield JsonLine(str(path), number, fields)


def readable(
    items: Iterable[T], parse: Callable[[int, T], Annotation], handler: ErrorHandler
) -> list[Annotation]:
    """Return the annotations of items, numbered from 1, without those that cannot be parsed."""
    found = []
    for i, item in enumerate(items, 1):
        try:
            found.append(parse(i, item))
        except CorpusError as error:
            handler.error(error)
    return found


def write_lines(
    dump: Callable[[Document], Iterable[dict[str, Any]]], documents: Iterable[Document], path: Path
) -> int:
    """Write a file, all or nothing; `dump` returns the objects of a document, one a line."""

    def lines(document: Document) -> Iterator[str]:
        return (json.dumps(fields, ensure_ascii=False) + "\n" for fields in dump(document))

    return write_file(lines, documents, path)


def whole_number(value: Any, key: str, error: Callable[[str], SgtbError]) -> int:
    """Return a field that must be an integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise error(f'"{key}" should be a whole number, not {json_shown(value)}')
    return value


def number_or_text(id: str) -> int | str:
    """Return an id as a number if that is lossless."""
    return int(id) if _NUMBER.fullmatch(id) else id


def json_shown(value: Any) -> str:
    """Return a value as JSON for messages, truncated if long."""
    text = "missing" if value is None else json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:39]}…"


def json_object(raw: bytes) -> dict[str, Any]:
    """Return the object of a line; ValueError with the reason if it is none."""
    check_items(raw)
    try:
        fields = json.loads(raw.decode())
    except UnicodeDecodeError as error:
        raise ValueError(not_utf8(error)) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}; each line is one object") from None
    if not isinstance(fields, dict):
        raise ValueError(f"not a JSON object, but {json_shown(fields)}")
    return fields
