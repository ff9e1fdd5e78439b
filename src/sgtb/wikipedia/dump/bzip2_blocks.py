"""Blocks of a bzip2 file: found anywhere in it and unpacked one by one.

A bzip2 stream is a row of blocks of up to 900 kB, which begin at any bit with the same 48 bits.
Each is packed for itself and carries a checksum. So several processes can unpack one file, be
it one stream or many, and a damaged block takes no other with it.

    |BZh9|block|block| … |block|end|crc|pad|BZh9|block| …
          ^ 31 41 59 26 53 59   ^ 17 72 45 38 50 90
"""

import bz2
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

MAGIC = b"BZh"
_BLOCK = 0x314159265359
_END = 0x177245385090
_END_BITS = 80  # the mark and a checksum
_LARGEST = 1 << 20
"""No packed block takes more bytes: 900,000 of what does not shrink, and its tables."""

_STREAMS = re.compile(rb"(?:BZh[1-9]\x17rE8P\x90\0{4})*(?:BZh[1-9])?")
"""What may stand between the end of a stream and the next block: empty streams, a beginning."""


class Block(NamedTuple):
    """A block.

    start   the byte of the file it begins in
    data    what it holds; None: it is damaged
    joined  whether the next block, or the end of the file, follows at once
    """

    start: int
    data: bytes | None
    joined: bool


def unpack_blocks(file: BinaryIO, start: int, end: int) -> Iterator[Block]:
    """Yield the blocks that begin in the bytes from `start` up to `end` of a file, in order."""
    file.seek(start)
    data = file.read(end - start + 7)
    bits = [bit for bit in _find(data, _BLOCK) if bit < 8 * (end - start)]
    if not bits:
        return
    data += file.read(_LARGEST)
    rest = bits[-1] // 8
    stops = [8 * rest + bit for bit in _find(data[rest:], _BLOCK) if bit >= 8]
    stop = stops[0] if stops else 8 * len(data)
    for bit, next_bit in zip(bits, [*bits[1:], stop], strict=True):
        yield _unpack(data, bit, next_bit, start)


def _find(data: bytes, mark: int) -> list[int]:
    """Return at which bits of some bytes a mark of 48 bits begins."""
    found = []
    for shift in range(8):
        # Of the seven bytes that the mark touches, the middle ones are whole.
        middle = (mark << (8 - shift)).to_bytes(7, "big")[1:6]
        place = data.find(middle)
        while place >= 0:
            bit = 8 * (place - 1) + shift
            if bit >= 0 and _bits(data, bit, 48) == mark:
                found.append(bit)
            place = data.find(middle, place + 1)
    return sorted(found)


def _bits(data: bytes, bit: int, count: int) -> int:
    """Return some bits of some bytes as a number; zeros stand for what lies beyond the end."""
    first, last = bit // 8, (bit + count + 7) // 8
    piece = data[first:last].ljust(last - first, b"\0")
    return (int.from_bytes(piece, "big") >> (8 * last - bit - count)) & ((1 << count) - 1)


def _unpack(data: bytes, start: int, stop: int, offset: int) -> Block:
    """Unpack the block at a bit of some bytes that ends where the next one starts, or before."""
    place = offset + start // 8
    # Between the blocks of two streams stand the mark, a checksum, up to 7 bits, and "BZh9".
    near = [stop - _END_BITS - before for before in (*range(32, 40), *range(8))]
    ends = [bit for bit in near if bit > start and _bits(data, bit, 48) == _END]
    end = ends[0] if ends else stop
    text = _unpack_one(data, start, end)
    if text is None:  # other things stand before the next block
        ends = [bit for bit in _find(data[start // 8 : stop // 8 + 1], _END) if bit >= 8]
        if ends:
            end = start // 8 * 8 + ends[0]
            text = _unpack_one(data, start, end)
        if text is None:
            return Block(place, _salvage(data, start, stop), False)
    if end == stop:
        return Block(place, text, True)
    between = data[(end + _END_BITS + 7) // 8 : stop // 8]
    return Block(place, text, _STREAMS.fullmatch(between) is not None)


def _unpack_one(data: bytes, start: int, end: int) -> bytes | None:
    """Unpack a block of which both ends are known; None: it is damaged."""
    unpacker = bz2.BZ2Decompressor()
    try:
        text = unpacker.decompress(_as_stream(data, start, end))
    except (OSError, ValueError):
        return None
    # Where it ended before, the mark that ends a stream stands somewhere within.
    return text if unpacker.eof and not unpacker.unused_data else None


def _as_stream(data: bytes, start: int, end: int) -> bytes:
    """Return one block as a stream of its own: the stream's checksum is the block's."""
    count = end - start
    crc = _bits(data, start + 48, 32)
    number = (_bits(data, start, count) << _END_BITS) | (_END << 32) | crc
    padding = -count % 8
    return b"BZh9" + (number << padding).to_bytes((count + _END_BITS + padding) // 8, "big")


def _salvage(data: bytes, start: int, stop: int) -> bytes | None:
    """Unpack a block that is whole but for what follows it, as where a file breaks off.

    Given a byte at a time, the unpacker hands out the block before it sees what follows.
    """
    stream = _as_stream(data, start, stop)
    unpacker = bz2.BZ2Decompressor()
    text = bytearray()
    try:
        for place in range(len(stream) - _END_BITS // 8):
            text += unpacker.decompress(stream[place : place + 1])
    except (OSError, ValueError, EOFError):
        pass  # what it has handed out by then has the right checksum
    return bytes(text) or None
