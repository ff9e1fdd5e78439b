"""Unpacked: the bytes of a plain or packed file, one stretch after the other."""

import bz2
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sgtb.core.errors import DumpError

GAP = b"\0<unpacking failed>\0"
"""Stands where packed data could not be unpacked. No text holds a zero byte, so what stands
around it is never taken for whole."""

_PACKED = 1 << 16
_FOREIGN = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\xfd7zXZ\0": "xz",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}


def packing(path: Path) -> str:
    """Return how a file is packed, by its first bytes: "plain", "gzip" or "bzip2"."""
    with open_file(path) as file:
        start = file.read(16)
    if start.startswith(b"\x1f\x8b"):
        return "gzip"
    if start.startswith(b"BZh") and start[3:4] in b"123456789":
        return "bzip2"
    for magic, name in _FOREIGN.items():
        if start.startswith(magic):
            raise DumpError(f"{path}: packed with {name}; unpack it, or pack it with bzip2 or gzip")
    return "plain"


def open_file(path: Path) -> BinaryIO:
    """Open a file to read its bytes; what goes wrong is a DumpError."""
    try:
        return open(path, "rb")
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path | str, error: OSError) -> DumpError:
    """Return the error that says why a file cannot be read."""
    return DumpError(f"{path}: cannot be read: {error.strerror or error}")


def unpack(path: Path, kind: str, step: int) -> Iterator[tuple[bytes, int]]:
    """Yield stretches of up to `step` bytes, each with how far the file on disk has been read.

    Where the file is damaged a GAP comes, and nothing after it.
    """
    with open_file(path) as file:
        try:
            if kind == "plain":
                while data := file.read(step):
                    yield data, file.tell()
            elif kind == "gzip":
                yield from _unpack_gzip(file, step)
            else:
                yield from _unpack_bzip2(file, step)
        except OSError as error:
            raise unreadable(path, error) from None


def _unpack_gzip(file: BinaryIO, step: int) -> Iterator[tuple[bytes, int]]:
    unpacker = zlib.decompressobj(31)
    data = file.read(_PACKED)
    while data:
        before = unpacker.copy()
        try:
            text = unpacker.decompress(data, step)
        except zlib.error:
            yield _salvage_gzip(before, data), file.tell()
            yield GAP, file.tell()
            return
        if text:
            yield text, file.tell()
        if unpacker.eof:
            data = unpacker.unused_data
            if len(data) < 2:
                data += file.read(_PACKED)
            if not data.startswith(b"\x1f\x8b"):  # whatever is glued to the end is ignored
                return
            unpacker = zlib.decompressobj(31)
        else:
            data = unpacker.unconsumed_tail or file.read(_PACKED)
    if not unpacker.eof:
        yield unpacker.flush(), file.tell()
        yield GAP, file.tell()


def _salvage_gzip(unpacker: "zlib._Decompress", data: bytes) -> bytes:
    """Return what comes before the damage, which is found byte by byte."""
    text = bytearray()
    try:
        for place in range(len(data)):
            text += unpacker.decompress(data[place : place + 1])
    except zlib.error:
        pass
    return bytes(text)


def _unpack_bzip2(file: BinaryIO, step: int) -> Iterator[tuple[bytes, int]]:
    unpacker = bz2.BZ2Decompressor()
    data = file.read(_PACKED)
    while data or not unpacker.needs_input:
        try:
            text = unpacker.decompress(data, step)
        except (OSError, ValueError):
            yield GAP, file.tell()
            return
        if text:
            yield text, file.tell()
        data = b""
        if unpacker.eof:
            data = unpacker.unused_data
            if len(data) < 3:
                data += file.read(_PACKED)
            if not data.startswith(b"BZh"):
                return
            unpacker = bz2.BZ2Decompressor()
        elif unpacker.needs_input:
            data = file.read(_PACKED)
    if not unpacker.eof:
        yield GAP, file.tell()
