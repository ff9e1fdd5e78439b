"""Source: the bytes of one corpus file, packed or not, with a name that errors can point to."""

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sgtb.errors import CorpusError

_UNPACK: Mapping[str, Callable[[bytes], bytes]] = {
    ".xz": lzma.decompress,
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
}
_DAMAGE = (lzma.LZMAError, zlib.error, tarfile.TarError, EOFError, OSError, ValueError)
"""What the standard library raises on damaged compressed data, by format and kind of damage."""

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


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None


def _broken(path: Path, why: object) -> CorpusError:
    return CorpusError(f"{path}: cannot be unpacked: {why}; fetch the file again")
