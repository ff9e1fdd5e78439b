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
from sgtb.formats.corpus_format import Format
from sgtb.formats.corpus_source import open_output, raw_lines
from sgtb.formats.error_handler import ErrorHandler

T = TypeVar("T")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


class JsonLine(NamedTuple):
    """The object of a line, with its position for errors."""

    file: str
    number: int
    fields: dict[str, Any]

    def error(self, message: str) -> CorpusError:
        """Return an error with file and line."""
        return CorpusError(f"{self.file}, line {self.number}: {message}")

    def error_in(self, part: str) -> Callable[[str], CorpusError]:
        """Return the function that makes errors of a part of the object."""
        return lambda message: self.error(f"{part}: {message}")

    def text(self, key: str) -> str:
        """Return a field that must be an encodable string."""
        return checked_text(self.fields, key, self.error)

    def optional_text(self, key: str) -> str | None:
        """Return a field that may be missing or null, and otherwise must be a string."""
        return None if self.fields.get(key) is None else self.text(key)

    def id(self) -> str:
        """Return the field "id" as a string; default: the line number."""
        value = self.fields.get("id", self.number)
        return "" if value == "" else id_text(value, "id", self.error)

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
    return Format(
        read=partial(read_lines, document), write=partial(write_lines, fields), **declared
    )


def read_lines(
    parse: Callable[[JsonLine, ErrorHandler], Document], path: Path, handler: ErrorHandler
) -> Iterator[Document]:
    """Yield the document of every non-empty line."""
    for line in iterate_lines(path, handler):
        try:
            document = parse(line, handler)
        except CorpusError as error:
            handler.error(error)
            continue
        yield document


def iterate_lines(path: Path, handler: ErrorHandler) -> Iterator[JsonLine]:
    """Yield the objects of a file, one at a time."""
    for number, raw in raw_lines(path):
        if not raw.strip():
            continue
        try:
            line = JsonLine(str(path), number, json_object(raw))
        except ValueError as error:
            handler.error(CorpusError(f"{path}, line {number}: {error}"))
            continue
        yield line


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
    """Write a file, all or nothing; return the number of documents.

    dump  returns the objects of a document, one a line
    """
    count = 0
    with open_output(path) as stream:
        for document in documents:
            for fields in dump(document):
                stream.write(json.dumps(fields, ensure_ascii=False).encode() + b"\n")
            count += 1
    return count


def checked_text(fields: dict[str, Any], key: str, error: Callable[[str], CorpusError]) -> str:
    """Return a field that must be a string without lone surrogates."""
    value = fields.get(key)
    if not isinstance(value, str):
        raise error(f'"{key}" should be a string, not {json_shown(value)}')
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        raise error(f'character {problem.start} of "{key}" is half of a surrogate pair') from None
    return value


def id_text(value: Any, key: str, error: Callable[[str], CorpusError]) -> str:
    """Return an id as a string; it may be a string or an integer."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise error(f'"{key}" should be a string or a number, not {json_shown(value)}')
    return checked_text({key: str(value)}, key, error)


def whole_number(value: Any, key: str, error: Callable[[str], SgtbError]) -> int:
    """Return a field that must be an integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise error(f'"{key}" should be a whole number, not {json_shown(value)}')
    return value


def span_of(value: Any, key: str, error: Callable[[str], CorpusError]) -> tuple[int, int]:
    """Return a span, a pair of integers."""
    if not isinstance(value, list) or len(value) != 2:
        raise error(f'"{key}" should be a pair of numbers, not {json_shown(value)}')
    return whole_number(value[0], key, error), whole_number(value[1], key, error)


def number_or_text(id: str) -> int | str:
    """Return an id as a number if that is lossless."""
    return int(id) if _NUMBER.fullmatch(id) else id


def json_shown(value: Any) -> str:
    """Return a value as JSON for messages, truncated if long."""
    text = "missing" if value is None else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def json_object(raw: bytes) -> dict[str, Any]:
    """Return the object of a line; ValueError with the reason if it is none."""
    check_items(raw)
    try:
        fields = json.loads(raw.decode())
    except UnicodeDecodeError as error:
        raise ValueError(
            f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}; each line is one object") from None
    if not isinstance(fields, dict):
        raise ValueError(f"not a JSON object, but {json_shown(fields)}")
    return fields
