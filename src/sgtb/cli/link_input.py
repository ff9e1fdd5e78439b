"""Texts to link, read from arguments, files and standard input one at a time."""

import codecs
import gzip
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO, Literal

from sgtb.core.files import open_unpacked
from sgtb.formats.error_handler import ErrorHandler
from sgtb.linking.links import Request
from sgtb.linking.request_json import InputError, request_of

Form = Literal["whole", "lines", "jsonl"]
"""What is a document: a whole input, a line, or a JSON object per line."""

STANDARD_INPUT = "-"
_COMPRESSED = (".gz", ".bz2", ".xz")
_JSONL = (".jsonl", ".ndjson")
_PATH_LIKE = (*_COMPRESSED, *_JSONL, *".txt .json .csv .tsv .md .html .xml .text".split())
_BYTES = {"whole": 4, "lines": 4, "jsonl": 12}
"""Maximum bytes per character: in UTF-8, and as two escapes of a JSON string."""
_OVERHEAD = 1 << 16  # bytes of a line besides its text


@dataclass(frozen=True)
class TextSource:
    """An argument: a text or the name of a file; `-` is standard input."""

    argument: str
    form: Form | None  # None: the argument itself is the text

    @property
    def single(self) -> bool:
        """Whether it is one document."""
        return self.form in (None, "whole")

    @property
    def name(self) -> str:
        """The name of a file, for messages."""
        return "standard input" if self.argument == STANDARD_INPUT else self.argument


@dataclass(frozen=True)
class PlacedRequest:
    """A request and its place, for messages."""

    request: Request
    place: str


def read_requests(
    sources: Sequence[TextSource], max_characters: int, handler: ErrorHandler | None = None
) -> Iterator[PlacedRequest]:
    """Yield the documents of all sources, in order; errors go to the handler, or are raised."""
    handler = handler or ErrorHandler()
    for source in sources:
        try:
            if source.form is None:
                try:
                    source.argument.encode()
                except UnicodeEncodeError as error:
                    at = error.start
                    raise InputError(f"the text: character {at} is not UTF-8") from None
                yield PlacedRequest(Request(source.argument), "the text")
            elif source.form == "whole":
                yield _whole(source, max_characters)
            else:
                yield from _lines(source, source.form, max_characters, handler)
        except InputError as error:
            handler.error(error)


def source_of(argument: str, form: Form | None) -> TextSource:
    """Return the source of an argument; names of existing files and `-` are files.

    form  of a file; None: the argument is a text in any case
    """
    if argument == STANDARD_INPUT or form is None:
        return TextSource(argument, form)
    if _is_file(argument):
        path = PurePath(argument.lower())
        suffix = path.with_suffix("").suffix if path.suffix in _COMPRESSED else path.suffix
        return TextSource(argument, "jsonl" if suffix in _JSONL else form)
    spaces = any(character.isspace() for character in argument)
    if not spaces and ("/" in argument or PurePath(argument).suffix.lower() in _PATH_LIKE):
        raise InputError(f"{argument}: no such file; --text reads it as text")
    return TextSource(argument, None)


def _is_file(argument: str) -> bool:
    try:
        folder, there = Path(argument).is_dir(), Path(argument).exists()
    except (OSError, ValueError):  # too long for a file name
        return False
    if folder and argument:
        raise InputError(f"{argument}: a folder; name the files in it, or --text reads it as text")
    return there and not folder


@contextmanager
def _opened(source: TextSource) -> Iterator[BinaryIO]:
    if source.argument == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    try:
        with open_unpacked(source.argument) as (file, _):
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{source.argument}: damaged: {error}") from None
    except OSError as error:
        raise InputError(f"{source.argument}: cannot be read: {error.strerror or error}") from None


def _whole(source: TextSource, max_characters: int) -> PlacedRequest:
    """Read a file as one document."""
    name, limit = source.name, _BYTES["whole"] * max_characters
    with _opened(source) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise InputError(
            f"{name}: longer than the limit of {max_characters:,} characters per document; "
            "--lines makes every line a document, and so does JSON Lines (.jsonl)"
        )
    text = _decoded(data.removeprefix(codecs.BOM_UTF8), name, len(data))
    id = "" if source.argument == STANDARD_INPUT else source.argument
    return PlacedRequest(Request(text, id=id), name)


def _lines(
    source: TextSource, form: Form, max_characters: int, handler: ErrorHandler
) -> Iterator[PlacedRequest]:
    """Read the lines of a file as documents; empty lines of JSON Lines are skipped."""
    name, limit, offset, number = source.name, _BYTES[form] * max_characters + _OVERHEAD, 0, 0
    with _opened(source) as file:
        while line := file.readline(limit + 1):
            number += 1
            place = f"{name}, line {number}"
            offset += len(line)
            if len(line) > limit:
                handler.error(InputError(
                    f"{place}: longer than the limit of {max_characters:,} characters per document"
                ))  # fmt: skip
                while line and not line.endswith(b"\n"):
                    offset += len(line := file.readline(limit))
                continue
            body = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            id = f"{source.argument}:{number}"
            try:
                text = _decoded(body, place, offset)
                if form == "lines":
                    found = Request(text.rstrip("\r\n"), id=id)
                elif text.strip():
                    found = request_of(text, place, id)
                else:
                    continue
            except InputError as error:
                handler.error(error)
            else:
                yield PlacedRequest(found, place)


def _decoded(data: bytes, place: str, stop: int) -> str:
    """Decode bytes that end at byte `stop` of their input."""
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
