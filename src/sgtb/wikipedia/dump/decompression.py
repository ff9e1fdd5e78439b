"""Decompression of plain, gzip and bzip2 files, part by part and past damage."""

import bz2
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sgtb.core.errors import DumpError

GAP = b"\0<unpacking failed>\0"
"""Marks damaged data. XML has no zero bytes, so a page around a gap is never taken for complete."""

_READ = 1 << 16
_FOREIGN = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\xfd7zXZ\0": "xz",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}


def detect_compression(path: Path) -> str:
    """Return "plain", "gzip" or "bzip2" by the first bytes of a file."""
    with open_file(path) as file:
        start = file.read(16)
    if start.startswith(b"\x1f\x8b"):
        return "gzip"
    if start.startswith(b"BZh") and start[3:4] in b"123456789":
        return "bzip2"
    for magic, name in _FOREIGN.items():
        if start.startswith(magic):
            raise DumpError(f"{path}: compressed with {name}; use gzip, bzip2 or no compression")
    return "plain"


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading bytes; raise a DumpError on failure."""
    try:
        return open(path, "rb")
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path | str, error: OSError) -> DumpError:
    """Return the error for a file that cannot be read."""
    return DumpError(f"{path}: cannot be read: {error.strerror or error}")


def decompress(path: Path, compression: str, step: int) -> Iterator[tuple[bytes, int]]:
    """Yield parts of up to `step` bytes, each with the position reached in the file on disk.

    Damage yields a GAP as the last part.
    """
    with open_file(path) as file:
        try:
            if compression == "plain":
                while data := file.read(step):
                    yield data, file.tell()
            elif compression == "gzip":
                yield from _decompress_gzip(file, step)
            else:
                yield from _decompress_bzip2(file, step)
        except OSError as error:
            raise unreadable(path, error) from None


def _decompress_gzip(file: BinaryIO, step: int) -> Iterator[tuple[bytes, int]]:
    decompressor = zlib.decompressobj(31)
    data = file.read(_READ)
    while data:
        before = decompressor.copy()
        try:
            text = decompressor.decompress(data, step)
        except zlib.error:
            yield _salvage_gzip(before, data), file.tell()
            yield GAP, file.tell()
            return
        if text:
            yield text, file.tell()
        if decompressor.eof:
            data = decompressor.unused_data
            if len(data) < 2:
                data += file.read(_READ)
            if not data.startswith(b"\x1f\x8b"):  # ignore trailing garbage
                return
            decompressor = zlib.decompressobj(31)
        else:
            data = decompressor.unconsumed_tail or file.read(_READ)
    if not decompressor.eof:
        yield decompressor.flush(), file.tell()
        yield GAP, file.tell()


def _salvage_gzip(decompressor: "zlib._Decompress", data: bytes) -> bytes:
    """Return the data before the damage, found byte by byte."""
    text = bytearray()
    try:
        for i in range(len(data)):
            text += decompressor.decompress(data[i : i + 1])
    except zlib.error:
        pass
    return bytes(text)


def _decompress_bzip2(file: BinaryIO, step: int) -> Iterator[tuple[bytes, int]]:
    decompressor = bz2.BZ2Decompressor()
    data = file.read(_READ)
    while data or not decompressor.needs_input:
        try:
            text = decompressor.decompress(data, step)
        except (OSError, ValueError):
            yield GAP, file.tell()
            return
        if text:
            yield text, file.tell()
        data = b""
        if decompressor.eof:
            data = decompressor.unused_data
            if len(data) < 3:
                data += file.read(_READ)
            if not data.startswith(b"BZh"):
                return
            decompressor = bz2.BZ2Decompressor()
        elif decompressor.needs_input:
            data = file.read(_READ)
    if not decompressor.eof:
        yield GAP, file.tell()
