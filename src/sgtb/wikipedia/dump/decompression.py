"""Decompression of plain, gzip and bzip2 files, part by part and past damage.

A bzip2 stream is a sequence of blocks of up to 900 kB, which begin at any bit with the same 48
bits and have a checksum each. So several processes can decompress one file, of one stream or
many, and a damaged block does not affect others.

    |BZh9|block|block| … |block|end|crc|pad|BZh9|block| …
          ^ 31 41 59 26 53 59   ^ 17 72 45 38 50 90
"""

import bz2
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO, NamedTuple

from sgtb.core.errors import DumpError

GAP = b"\0<unpacking failed>\0"
"""Marks damaged data. XML has no zero bytes, so a page around a gap is never taken for complete."""
_READ = 1 << 16
_RANGE = 1 << 22  # bytes of a bzip2 file that are held at a time
_FOREIGN = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\xfd7zXZ\0": "xz",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_BLOCK = 0x314159265359
_END = 0x177245385090
_END_BITS = 80  # end mark and checksum
_MAX_BLOCK = 1 << 20  # upper bound of a compressed block: 900,000 incompressible bytes and tables
_STREAMS = re.compile(rb"(?:BZh[1-9]\x17rE8P\x90\0{4})*(?:BZh[1-9])?")
"""What may lie between the end of a stream and the next block: empty streams, a header."""


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


@contextmanager
def open_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for reading bytes; raise a DumpError if that fails, here or later."""
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise DumpError(f"{path}: cannot be read: {error.strerror or error}") from None


def decompress(path: Path, compression: str, step: int) -> Iterator[tuple[bytes, int]]:
    """Yield parts of up to `step` bytes, or blocks of bzip2, with the position; GAP: damaged."""
    with open_file(path) as file:
        if compression == "plain":
            while data := file.read(step):
                yield data, file.tell()
        elif compression == "gzip":
            yield from _decompress_gzip(file, step)
        else:
            size = path.stat().st_size
            for start in range(0, size, _RANGE):
                for block in decompress_blocks(file, start, min(start + _RANGE, size)):
                    yield (block.data or b"") + (b"" if block.contiguous else GAP), block.end


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


class Bzip2Block(NamedTuple):
    """A decompressed block."""

    data: bytes | None  # content; None: damaged
    contiguous: bool  # whether the next block, or the end of the file, follows directly
    end: int  # byte of the file in which the next block begins


def decompress_blocks(file: BinaryIO, start: int, end: int) -> Iterator[Bzip2Block]:
    """Yield the blocks that begin in the bytes from `start` to before `end`, in order."""
    file.seek(start)
    data = file.read(end - start + 7)
    bits = [bit for bit in _find(data, _BLOCK) if bit < 8 * (end - start)]
    if not bits:
        return
    data += file.read(_MAX_BLOCK)
    rest = bits[-1] // 8
    stops = [8 * rest + bit for bit in _find(data[rest:], _BLOCK) if bit >= 8]
    stop = stops[0] if stops else 8 * len(data)
    for bit, next_bit in zip(bits, [*bits[1:], stop], strict=True):
        yield Bzip2Block(*_decompress(data, bit, next_bit), start + next_bit // 8)


def _find(data: bytes, mark: int) -> list[int]:
    """Return the bit positions at which a mark of 48 bits begins."""
    found = []
    for shift in range(8):
        # Of the seven bytes that the mark spans, the middle five are whole.
        middle = (mark << (8 - shift)).to_bytes(7, "big")[1:6]
        at = data.find(middle)
        while at >= 0:
            bit = 8 * (at - 1) + shift
            if bit >= 0 and _bits(data, bit, 48) == mark:
                found.append(bit)
            at = data.find(middle, at + 1)
    return sorted(found)


def _bits(data: bytes, bit: int, count: int) -> int:
    """Return bits as a number, padded with zeros beyond the end."""
    first, last = bit // 8, (bit + count + 7) // 8
    padded = data[first:last].ljust(last - first, b"\0")
    return (int.from_bytes(padded, "big") >> (8 * last - bit - count)) & ((1 << count) - 1)


def _decompress(data: bytes, start: int, stop: int) -> tuple[bytes | None, bool]:
    """Decompress the block between two bits; it may end before `stop`, the next block's start."""
    # Between the blocks of two streams: end mark, checksum, up to 7 bits, and "BZh9".
    near = [stop - _END_BITS - before for before in (*range(32, 40), *range(8))]
    ends = [bit for bit in near if bit > start and _bits(data, bit, 48) == _END]
    end = ends[0] if ends else stop
    text = _decompress_exact(data, start, end)
    if text is None:  # something else precedes the next block
        ends = [bit for bit in _find(data[start // 8 : stop // 8 + 1], _END) if bit >= 8]
        if ends:
            end = start // 8 * 8 + ends[0]
            text = _decompress_exact(data, start, end)
        if text is None:
            return _salvage(data, start, stop), False
    between = data[(end + _END_BITS + 7) // 8 : stop // 8]
    return text, end == stop or _STREAMS.fullmatch(between) is not None


def _decompress_exact(data: bytes, start: int, end: int) -> bytes | None:
    """Decompress a block with known ends; None: it is damaged."""
    decompressor = bz2.BZ2Decompressor()
    try:
        text = decompressor.decompress(_as_stream(data, start, end))
    except (OSError, ValueError):
        return None
    # Unused data mean that an end mark occurs within the block.
    return text if decompressor.eof and not decompressor.unused_data else None


def _as_stream(data: bytes, start: int, end: int) -> bytes:
    """Return a block as a stream of its own, whose checksum is the block's."""
    count = end - start
    crc = _bits(data, start + 48, 32)
    number = (_bits(data, start, count) << _END_BITS) | (_END << 32) | crc
    padding = -count % 8
    return b"BZh9" + (number << padding).to_bytes((count + _END_BITS + padding) // 8, "big")


def _salvage(data: bytes, start: int, stop: int) -> bytes | None:
    """Decompress a block with garbage after it, byte by byte: an error comes after the block."""
    stream = _as_stream(data, start, stop)
    decompressor = bz2.BZ2Decompressor()
    text = bytearray()
    try:
        for i in range(len(stream) - _END_BITS // 8):
            text += decompressor.decompress(stream[i : i + 1])
    except (OSError, ValueError, EOFError):
        pass  # what was returned before has the right checksum
    return bytes(text) or None
