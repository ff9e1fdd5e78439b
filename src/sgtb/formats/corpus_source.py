"""SourceFile: the content of a corpus file or archive member; page titles as corpora have them."""

import bz2
import codecs
import gzip
import io
import lzma
import re
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

from sgtb.core.errors import CorpusError
from sgtb.core.files import is_unpacked, open_unpacked, read_limited, replacing
from sgtb.core.limits import FileLimits

_PACKERS: dict[str, Callable[[BinaryIO], Any]] = {
    # Without name and time, so that equal documents give equal bytes.
    ".gz": lambda file: gzip.GzipFile("", "wb", fileobj=file, mtime=0),
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
}
"""Compressed files to write, by their endings."""
_DAMAGE = (lzma.LZMAError, zlib.error, tarfile.TarError, EOFError, OSError, ValueError)
"""Exceptions of the standard library on damaged data."""
_BLOCK = 512  # block of a tar archive; a block of zeros ends it
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Content of a file."""

    name: str  # path, or `archive.tar.xz:member`
    data: bytes  # decompressed bytes

    def error(self, line: int, message: str) -> CorpusError:
        """Return an error with file and line, counted from 1."""
        return CorpusError(f"{self.name}, line {line}: {message}")

    def text(self) -> str:
        """Return the content decoded as UTF-8, with its byte order mark."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            raise self.error(line, not_utf8(error)) from None

    def lines(self) -> list[str]:
        """Return the lines without LF or CRLF, and without a byte order mark."""
        # str.splitlines would also split at U+0085 and others, which may be part of a name.
        lines = self.text().removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        if not lines[-1]:
            lines.pop()
        return lines


def shown(value: str, width: int = 60) -> str:
    """Return a value for messages: quoted, escaped and truncated."""
    return repr(value if len(value) <= width else value[:width] + "…")


def not_utf8(error: UnicodeDecodeError) -> str:
    """Return the message for a byte that is not UTF-8."""
    return f"byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8"


def occurrences(text: str, name: str, start: int = 0, stop: int = sys.maxsize) -> list[int]:
    """Return where a name begins in text[start:stop]; occurrences may overlap."""
    pattern = re.compile(f"(?={re.escape(name)})")
    return [match.start() for match in pattern.finditer(text, start, stop)] if name else []


def read_source(path: Path) -> SourceFile:
    """Read a whole file; compressed ones are decompressed."""
    with open_lines(path) as file:
        if path.suffix in _PACKERS and not is_unpacked(file):
            raise _broken(path, f"not compressed as {path.suffix}")
        return SourceFile(str(path), read_limited(file))


@contextmanager
def open_lines(path: Path) -> Iterator[BinaryIO]:
    """Open a file for streaming; its compression is detected from its first bytes."""
    try:
        with open_unpacked(path) as (file, _):
            yield file
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise _broken(path, error) from None
    except OSError as error:
        if error.errno is None:  # how bzip2 and xz report damaged data
            raise _broken(path, error) from None
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield number, from 1, and bytes of each line, without a byte order mark."""
    with open_lines(path) as stream:
        number, limits = 0, FileLimits.current()
        while raw := stream.readline(limits.line + 1):
            number += 1
            if len(raw) > limits.line:
                raise CorpusError(f"{path}, line {number}: too long; {limits.advice('line')}")
            yield number, raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line, as in `SourceFile.lines`."""
    for number, raw in raw_lines(path):
        try:
            yield number, raw.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise CorpusError(f"{path}, line {number}: {not_utf8(error)}") from None


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write, all or nothing; compressed if it ends in .xz, .gz or .bz2."""
    with replacing(path) as file:
        if path.suffix in _PACKERS:
            with _PACKERS[path.suffix](file) as packed:
                yield packed
        else:
            yield file


def uncompressed_name(path: Path) -> Path:
    """Return a path without the suffix of its compression."""
    return path.with_suffix("") if path.suffix in _PACKERS else path


def read_members(path: Path) -> Iterator[tuple[str, SourceFile]]:
    """Yield relative path and content of the files in a tar archive or folder."""
    if not path.is_dir():
        yield from _read_archive(path)
        return
    for file in sorted(path.rglob("*")):
        if file.is_file():
            try:
                with open(file, "rb") as opened:
                    data = read_limited(opened)
            except OSError as error:
                why = error.strerror or error
                raise CorpusError(f"{file}: cannot be read: {why}") from None
            yield file.relative_to(path).as_posix(), SourceFile(str(file), data)


def _read_archive(path: Path) -> Iterator[tuple[str, SourceFile]]:
    # Decompressed first and checked for a proper end: tarfile itself accepts an archive that is
    # truncated or damaged between two members.
    data = read_source(path).data
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                if not 0 <= member.size <= len(data):  # a sparse file may state any size
                    raise tarfile.ReadError(f"a file of {member.size:,} bytes")
                file = archive.extractfile(member) if member.isreg() else None
                if file is not None:
                    yield member.name, SourceFile(f"{path}:{member.name}", file.read())
            if data[archive.offset : archive.offset + _BLOCK] != bytes(_BLOCK):
                raise tarfile.ReadError("it is truncated")
    except _DAMAGE as error:
        raise _broken(path, error) from None


def _broken(path: Path, why: object) -> CorpusError:
    return CorpusError(f"{path}: cannot be decompressed: {why}; fetch the file again")


def unescape_title(title: str) -> str:
    r"""Return a title with `\uXXXX` decoded and spaces for underscores."""
    if "\\" in title:
        title = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), title)
        # Java escapes characters beyond U+FFFF as surrogate pairs.
        title = title.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return title.replace("_", " ")


def title_of_url(url: str) -> str:
    """Return the title in the URL of a Wikipedia page."""
    _, _, title = url.rpartition("/wiki/")
    return unescape_title(unquote(title))
