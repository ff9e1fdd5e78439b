"""JSON Lines: one object a line, read and written one at a time and without trust."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sgtb.core.errors import CorpusError
from sgtb.core.records import Document
from sgtb.formats.complaints import Complaints
from sgtb.formats.corpus_source import packing, raw_lines

_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


class Line(NamedTuple):
    """An object, and the place that errors name."""

    file: str
    number: int
    fields: dict[str, Any]

    def error(self, message: str) -> CorpusError:
        """Return the error that says what is wrong with this line."""
        return CorpusError(f"{self.file}, line {self.number}: {message}")

    def text(self, key: str) -> str:
        """Return a field that must be a string, and one that can be encoded."""
        return checked_text(self.fields, key, self.error)

    def optional_text(self, key: str) -> str | None:
        """Return a field that may be missing or null, or else is a string."""
        return None if self.fields.get(key) is None else self.text(key)

    def id(self) -> str:
        """Return the field "id" as a string; where there is none, the number of the line."""
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


def read_lines(
    path: Path, parse: Callable[[Line], Document], complaints: Complaints
) -> Iterator[Document]:
    """Yield what is made of every line; empty ones are passed over."""
    for line in iterate_lines(path, complaints):
        try:
            document = parse(line)
        except CorpusError as error:
            complaints.wrong(error)
            continue
        yield document


def iterate_lines(path: Path, complaints: Complaints) -> Iterator[Line]:
    """Yield the objects of a file, one at a time."""
    for number, raw in raw_lines(path):
        if not raw.strip():
            continue
        try:
            line = Line(str(path), number, _object(raw))
        except ValueError as error:
            complaints.wrong(CorpusError(f"{path}, line {number}: {error}"))
            continue
        yield line


def write_lines(
    path: Path, documents: Iterable[Document], dump: Callable[[Document], Iterable[dict[str, Any]]]
) -> int:
    """Write a file of lines, whole or not at all; return how many documents there were.

    dump  gives the objects of a document, one a line
    """
    count = 0
    with packing(path) as stream:
        for document in documents:
            for fields in dump(document):
                stream.write(json.dumps(fields, ensure_ascii=False).encode() + b"\n")
            count += 1
    return count


def checked_text(fields: dict[str, Any], key: str, error: Callable[[str], CorpusError]) -> str:
    """Return a field that must be a string without halves of surrogate pairs."""
    value = fields.get(key)
    if not isinstance(value, str):
        raise error(f'"{key}" should be a string, not {json_shown(value)}')
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        raise error(f'character {problem.start} of "{key}" is half of a surrogate pair') from None
    return value


def id_text(value: Any, key: str, error: Callable[[str], CorpusError]) -> str:
    """Return an id, which may be a string or a whole number, as a string."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise error(f'"{key}" should be a string or a number, not {json_shown(value)}')
    return checked_text({key: str(value)}, key, error)


def whole_number(value: Any, key: str, error: Callable[[str], CorpusError]) -> int:
    """Return a field that must be a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise error(f'"{key}" should be a whole number, not {json_shown(value)}')
    return value


def span_of(value: Any, key: str, error: Callable[[str], CorpusError]) -> tuple[int, int]:
    """Return a span that is written as a pair of numbers."""
    if not isinstance(value, list) or len(value) != 2:
        raise error(f'"{key}" should be a pair of numbers, not {json_shown(value)}')
    return whole_number(value[0], key, error), whole_number(value[1], key, error)


def number_or_text(id: str) -> int | str:
    """Return an id as a number, as many formats have them, where that changes nothing."""
    return int(id) if _NUMBER.fullmatch(id) else id


def json_shown(value: Any) -> str:
    """Return a value as JSON has it, cut where it is long."""
    text = "missing" if value is None else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _object(raw: bytes) -> dict[str, Any]:
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
