"""SourceFile: the content of a corpus file or archive member, with its name for errors."""

import bz2
import codecs
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from sgtb.core.errors import CorpusError
from sgtb.core.files import open_unpacked, replacing

_DECOMPRESS: Mapping[str, Callable[[bytes], bytes]] = {
    ".xz": lzma.decompress,
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
}
_DAMAGE = (lzma.LZMAError, zlib.error, tarfile.TarError, EOFError, OSError, ValueError)
"""Exceptions of the standard library on damaged data."""

MAX_LINE = 1 << 27
"""Limit of a line in bytes, to bound the memory."""

_BLOCK = 512
"""Block of a tar archive; a block of zeros ends it."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Content of a file.

    name  path, or `archive.tar.xz:member`
    data  decompressed bytes
    """

    name: str
    data: bytes

    def error(self, line: int, message: str) -> CorpusError:
        """Return an error with file and line, counted from 1."""
        return CorpusError(f"{self.name}, line {line}: {message}")

    def text(self) -> str:
        """Return the content decoded as UTF-8, with its byte order mark."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            byte = self.data[error.start]
            raise self.error(
                line, f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8"
            ) from None

    def lines(self) -> list[str]:
        """Return the lines without LF or CRLF, and without a byte order mark.

        `str.splitlines` would also split at U+0085 and others, which may be part of a name.
        """
        lines = self.text().removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        if not lines[-1]:
            lines.pop()
        return lines


def shown(value: str, width: int = 60) -> str:
    """Return a value for messages: quoted, escaped and truncated."""
    return repr(value if len(value) <= width else value[:width] + "…")


def read_source(path: Path) -> SourceFile:
    """Read a file; .xz, .gz and .bz2 are decompressed."""
    data = _read_bytes(path)
    decompress = _DECOMPRESS.get(path.suffix)
    if decompress is not None:
        try:
            data = decompress(data)
        except _DAMAGE as error:
            raise _broken(path, error) from None
    return SourceFile(str(path), data)


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
        number = 0
        while raw := stream.readline(MAX_LINE + 1):
            number += 1
            if len(raw) > MAX_LINE:
                raise CorpusError(f"{path}, line {number}: longer than {MAX_LINE:,} bytes")
            yield number, raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line, as in `SourceFile.lines`."""
    for number, raw in raw_lines(path):
        try:
            yield number, raw.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"{path}, line {number}: byte 0x{raw[error.start]:02x} is not UTF-8; "
                "save the file as UTF-8"
            ) from None


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write, all or nothing; compressed if it ends in .xz, .gz or .bz2."""
    with replacing(path) as file:
        if path.suffix == ".gz":
            # Without name and time, so that equal documents give equal bytes.
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                yield cast(BinaryIO, packed)
        elif path.suffix == ".bz2":
            with bz2.BZ2File(file, "wb") as packed:
                yield cast(BinaryIO, packed)
        elif path.suffix == ".xz":
            with lzma.LZMAFile(file, "wb") as packed:
                yield cast(BinaryIO, packed)
        else:
            yield file


def uncompressed_name(path: Path) -> Path:
    """Return a path without the suffix of its compression."""
    return path.with_suffix("") if path.suffix in _DECOMPRESS else path


def read_members(path: Path) -> Iterator[tuple[str, SourceFile]]:
    """Yield relative path and content of the files in a tar archive or folder."""
    if not path.is_dir():
        yield from _read_archive(path)
        return
    for file in sorted(path.rglob("*")):
        if file.is_file():
            yield file.relative_to(path).as_posix(), SourceFile(str(file), _read_bytes(file))


def _read_archive(path: Path) -> Iterator[tuple[str, SourceFile]]:
    # Decompressed first and checked for a proper end: tarfile itself accepts an archive that is
    # truncated or damaged between two members.
    data = read_source(path).data
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                if member.size < 0:
                    raise tarfile.ReadError("a file of negative size")
                file = archive.extractfile(member) if member.isreg() else None
                if file is not None:
                    yield member.name, SourceFile(f"{path}:{member.name}", file.read())
            if data[archive.offset : archive.offset + _BLOCK] != bytes(_BLOCK):
                raise tarfile.ReadError("it is truncated")
    except _DAMAGE as error:
        raise _broken(path, error) from None


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None


def _broken(path: Path, why: object) -> CorpusError:
    return CorpusError(f"{path}: cannot be decompressed: {why}; fetch the file again")
