"""Inputs: the texts to be linked, out of arguments, files and standard input, one at a time."""

import codecs
import gzip
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal

from sgtb.core.errors import RequestError
from sgtb.core.files import open_unpacked
from sgtb.linking.links import Request, Span

Form = Literal["whole", "lines", "jsonl"]
"""What a document is: all of an input, a line of it, or a JSON object on a line."""

STANDARD_INPUT = "-"
_PACKED = (".gz", ".bz2")
_JSONL = (".jsonl", ".ndjson")
_PATH_LIKE = (*_PACKED, *_JSONL, ".txt", ".json", ".csv", ".tsv", ".md", ".html", ".xml", ".text")
_BYTES = {"whole": 4, "lines": 4, "jsonl": 12}
"""Bytes that a character may take: in UTF-8, and as two escapes of a JSON string."""
_MARKUP = 1 << 16
"""Bytes that a line of JSON may have besides its text, and that are allowed for anyway."""


class InputError(RequestError):
    """An input that cannot be read; says which, and where in it."""


@dataclass(frozen=True)
class Source:
    """An argument: a text, or the name of a file; `-` is standard input.

    form  None: the argument itself is the text
    """

    argument: str
    form: Form | None

    @property
    def single(self) -> bool:
        """Whether it is one document."""
        return self.form in (None, "whole")


@dataclass(frozen=True)
class Placed:
    """A request, and the words that tell where it came from."""

    request: Request
    place: str


def sources_of(arguments: Sequence[str], form: Form) -> list[Source]:
    """Tell files from texts: what names a file is one, and so is `-`."""
    return [_source(argument, form) for argument in arguments]


def texts_of(arguments: Sequence[str]) -> list[Source]:
    """Take every argument as a text."""
    return [Source(argument, None) for argument in arguments]


def read_requests(sources: Sequence[Source], max_characters: int) -> Iterator[Placed]:
    """Yield the documents of all sources, in order; of lines only one is held at a time."""
    for source in sources:
        if source.form is None:
            yield Placed(Request(_encodable(source.argument)), "the text")
        elif source.form == "whole":
            yield _whole(source, max_characters)
        else:
            yield from _lines(source, source.form, max_characters)


def _source(argument: str, form: Form) -> Source:
    if argument == STANDARD_INPUT:
        return Source(argument, form)
    if _is_file(argument):
        return Source(argument, "jsonl" if _suffix(argument) in _JSONL else form)
    if _looks_like_a_path(argument):
        raise InputError(f"{argument}: no such file; --text links it as text")
    return Source(argument, None)


def _is_file(argument: str) -> bool:
    try:
        folder, there = Path(argument).is_dir(), Path(argument).exists()
    except (OSError, ValueError):  # longer than a name can be: a text
        return False
    if folder and argument:
        raise InputError(
            f"{argument}: this is a folder; name the files in it, or --text links it as text"
        )
    return there and not folder


def _looks_like_a_path(argument: str) -> bool:
    if not argument or any(character.isspace() for character in argument):
        return False
    return "/" in argument or PurePath(argument).suffix.lower() in _PATH_LIKE


def _suffix(name: str) -> str:
    """Return a file's suffix, without that of its packing."""
    path = PurePath(name.lower())
    return path.with_suffix("").suffix if path.suffix in _PACKED else path.suffix


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    if source.argument == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    try:
        with open_unpacked(source.argument) as (file, _):
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{source.argument}: damaged: {error}") from None


def _name(source: Source) -> str:
    return "standard input" if source.argument == STANDARD_INPUT else source.argument


def _whole(source: Source, max_characters: int) -> Placed:
    """Read a file as one document."""
    name, limit = _name(source), _BYTES["whole"] * max_characters
    with _opened(source) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise InputError(
            f"{name}: larger than a document can be, which is {max_characters:,} characters; "
            "--lines makes every line a document, and so does JSON Lines (.jsonl)"
        )
    text = _decoded(data.removeprefix(codecs.BOM_UTF8), name, len(data))
    id = "" if source.argument == STANDARD_INPUT else source.argument
    return Placed(Request(text, id=id), name)


def _lines(source: Source, form: Form, max_characters: int) -> Iterator[Placed]:
    """Read the lines of a file as documents; an empty line is an empty one, except in JSON."""
    name, limit, offset, number = _name(source), _BYTES[form] * max_characters + _MARKUP, 0, 0
    with _opened(source) as file:
        while line := file.readline(limit + 1):
            number += 1
            place = f"{name}, line {number}"
            if len(line) > limit:
                raise InputError(
                    f"{place}: longer than a document can be, "
                    f"which is {max_characters:,} characters"
                )
            offset += len(line)
            body = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            text = _decoded(body, place, offset)
            id = f"{source.argument}:{number}"
            if form == "lines":
                yield Placed(Request(text.rstrip("\r\n"), id=id), place)
            elif text.strip():
                yield Placed(request_of(text, place, id), place)


def _decoded(data: bytes, place: str, stop: int) -> str:
    """Return the text of bytes that end at byte `stop` of their input."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{place}: UTF-16, not UTF-8; iconv -f UTF-16 -t UTF-8 converts it")
    begin = stop - len(data)
    if (nul := data.find(b"\0")) >= 0:
        raise InputError(f"{place}: not text: byte {begin + nul:,} is zero")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{place}: byte {begin + error.start:,} is not UTF-8; "
            "if it is Latin-1, iconv -f LATIN1 -t UTF-8 converts it"
        ) from None


def _encodable(text: str) -> str:
    """Return an argument, unless it has bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the text: character {error.start} is not UTF-8") from None
    return text


def request_of(line: str, place: str, id: str = "") -> Request:
    """Read a request from JSON: text, and as it likes id and mentions.

    Of a mention start, end, fixed and candidates are read. Whatever else is there, such as the
    right answer, is not looked at.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON: {error}") from None
    if not isinstance(record, dict):
        raise InputError(f'{place}: not a JSON object such as {{"text": "…"}}')
    text = record.get("text")
    if not isinstance(text, str):
        raise InputError(f'{place}: "text" should be a string, not {_shown(text)}')
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f'{place}: character {error.start} of "text" is half of a surrogate pair'
        ) from None
    given = record.get("id", id)
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise InputError(f'{place}: "id" should be a string, not {_shown(given)}')
    return Request(text, _spans(record.get("mentions"), len(text), place), str(given))


def _spans(mentions: Any, size: int, place: str) -> tuple[Span, ...] | None:
    if mentions is None:
        return None
    if not isinstance(mentions, list):
        raise InputError(f'{place}: "mentions" should be a list, not {_shown(mentions)}')
    return tuple(
        _span(mention, size, f"{place}, mention {i}") for i, mention in enumerate(mentions, 1)
    )


def _span(mention: Any, size: int, place: str) -> Span:
    if not isinstance(mention, dict):
        raise InputError(f"{place}: not an object with start and end, but {_shown(mention)}")
    start, end = (_whole_number(mention, key, place) for key in ("start", "end"))
    if not 0 <= start < end <= size:
        raise InputError(
            f"{place}: start {start} and end {end} are no part of a text of {size:,} characters"
        )
    fixed, candidates = mention.get("fixed"), mention.get("candidates")
    if fixed is not None and not isinstance(fixed, str):
        raise InputError(f'{place}: "fixed" should be the id of an entity, not {_shown(fixed)}')
    if candidates is None:
        return Span(start, end, fixed)
    if not isinstance(candidates, list) or not all(isinstance(id, str) for id in candidates):
        raise InputError(f'{place}: "candidates" should be a list of ids, not {_shown(candidates)}')
    return Span(start, end, fixed, tuple(candidates))


def _whole_number(record: dict[str, Any], key: str, place: str) -> int:
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f'{place}: "{key}" should be a whole number, not {_shown(value)}')
    return value


def _shown(value: Any) -> str:
    """Return a value as JSON has it, cut."""
    text = "missing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"
