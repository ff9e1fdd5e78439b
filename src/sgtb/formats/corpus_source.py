"""Source: the bytes of one corpus file, packed or not, with a name that errors can point to."""

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

_UNPACK: Mapping[str, Callable[[bytes], bytes]] = {
    ".xz": lzma.decompress,
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
}
_DAMAGE = (lzma.LZMAError, zlib.error, tarfile.TarError, EOFError, OSError, ValueError)
"""What the standard library raises on damaged compressed data, by format and kind of damage."""

LONGEST_LINE = 1 << 27
"""Bytes of a line at most: what is longer is hardly one document, and memory is to be bounded."""

_XZ = b"\xfd7zXZ\0"
_BLOCK = 512
"""The unit of a tar archive; a block of zeros ends it."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file's content.

    name  where it is: a path, or `archive.tar.xz:member`
    data  its bytes, unpacked
    """

    name: str
    data: bytes

    def error(self, line: int, message: str) -> CorpusError:
        """Return the error that says what is wrong in which line, counted from 1."""
        return CorpusError(f"{self.name}, line {line}: {message}")

    def text(self) -> str:
        """Return the whole content, which must be UTF-8; a byte order mark stays in it."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            byte = self.data[error.start]
            raise self.error(
                line, f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8"
            ) from None

    def lines(self) -> list[str]:
        """Return the lines without their ends, be these LF or CRLF, and without a byte order mark.

        `str.splitlines` would also break at U+0085 and its like, which may stand inside a name.
        """
        lines = self.text().removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        if not lines[-1]:
            lines.pop()
        return lines


def shown(value: str, width: int = 60) -> str:
    """Return a value as an error message quotes it: escaped, and cut where it is long."""
    return repr(value if len(value) <= width else value[:width] + "…")


def read_source(path: Path) -> Source:
    """Read a file; one whose name ends in .xz, .gz or .bz2 is unpacked."""
    data = _read_bytes(path)
    unpack = _UNPACK.get(path.suffix)
    if unpack is not None:
        try:
            data = unpack(data)
        except _DAMAGE as error:
            raise _broken(path, error) from None
    return Source(str(path), data)


@contextmanager
def open_lines(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be read piece by piece; its first bytes tell whether and how it is packed."""
    try:
        if _is_xz(path):
            with lzma.open(path, "rb") as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            with open_unpacked(path) as (file, _):
                yield file
    except (lzma.LZMAError, zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise _broken(path, error) from None
    except OSError as error:
        if error.errno is None:  # of damaged data: bz2 says no more
            raise _broken(path, error) from None
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file one at a time, numbered from 1, without a byte order mark."""
    with open_lines(path) as stream:
        number = 0
        while raw := stream.readline(LONGEST_LINE + 1):
            number += 1
            if len(raw) > LONGEST_LINE:
                raise CorpusError(f"{path}, line {number}: longer than {LONGEST_LINE:,} bytes")
            yield number, raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file one at a time, as `Source.lines` has them."""
    for number, raw in raw_lines(path):
        try:
            yield number, raw.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"{path}, line {number}: byte 0x{raw[error.start]:02x} is not UTF-8; "
                "save the file as UTF-8"
            ) from None


@contextmanager
def packing(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write, whole or not at all; packed if its name ends in .xz, .gz or .bz2."""
    with replacing(path) as file:
        if path.suffix == ".gz":
            # Without name and time: the same documents give the same bytes.
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


def unpacked_name(path: Path) -> Path:
    """Return a path without the ending that says how the file is packed."""
    return path.with_suffix("") if path.suffix in _UNPACK else path


def read_members(path: Path) -> Iterator[tuple[str, Source]]:
    """Yield the files in a tar archive, or below a folder, each with its path inside."""
    if not path.is_dir():
        yield from _read_archive(path)
        return
    for file in sorted(path.rglob("*")):
        if file.is_file():
            yield file.relative_to(path).as_posix(), Source(str(file), _read_bytes(file))


def _read_archive(path: Path) -> Iterator[tuple[str, Source]]:
    # Unpacked as a whole before tarfile sees it, and checked for a proper end: tarfile itself
    # takes an archive that breaks off, or is damaged, between two members for a complete one.
    data = read_source(path).data
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                if member.size < 0:
                    raise tarfile.ReadError("a file of negative size")
                file = archive.extractfile(member) if member.isreg() else None
                if file is not None:
                    yield member.name, Source(f"{path}:{member.name}", file.read())
            if data[archive.offset : archive.offset + _BLOCK] != bytes(_BLOCK):
                raise tarfile.ReadError("it breaks off")
    except _DAMAGE as error:
        raise _broken(path, error) from None


def _is_xz(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_XZ)) == _XZ


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None


def _broken(path: Path, why: object) -> CorpusError:
    return CorpusError(f"{path}: cannot be unpacked: {why}; fetch the file again")
