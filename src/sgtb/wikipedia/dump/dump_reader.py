"""Dump: a file of a wiki's pages, read in chunks by several processes.

    dumps = [open_dump(path) for path in paths]
    for outcome in map_chunks(dumps, count_links, workers=4):
        total += outcome.result

A dump is plain XML, gzip, or bzip2 of one or many streams, whatever its name. Worker processes
decompress bzip2 themselves. Pages come in the order of the file, and chunks, results and dropped
pages do not depend on the number of workers.
"""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, groupby
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Generic, TypeAlias, TypeVar

from sgtb.core.errors import DumpError
from sgtb.core.workers import TaskPool, ordered_results
from sgtb.wikipedia.dump.bzip2_blocks import decompress_blocks
from sgtb.wikipedia.dump.chunk_pages import (
    ChunkJoiner,
    ChunkPages,
    PageGroup,
    ParsedChunk,
    parse_chunk,
)
from sgtb.wikipedia.dump.decompression import (
    GAP,
    decompress,
    detect_compression,
    open_file,
    unreadable,
)
from sgtb.wikipedia.dump.page_xml import Dropped
from sgtb.wikipedia.dump.site import Site

CHUNK_SIZE = 4 << 20
"""Target size of a chunk in bytes of XML."""

_HEAD = 1 << 20  # bytes in which <mediawiki> or <page> must occur
_READ = 1 << 18
_MIN_RANGE = 16  # bytes of a bzip2 file per chunk
_LAST = 8  # a chunk has at most this share of what is left of a file, down to this share of a chunk
_MAX_GROWTH = 16  # a bzip2 chunk is split beyond this multiple of its target size

_PAGE_END = b"</page>"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DumpChunk:
    """A part of a dump: XML, or a range of a plain or bzip2 file that a worker reads.

    number    index of the chunk in its file
    file      path of the dump
    position  end of the chunk in the file on disk
    start     start of the range
    max_size  bytes of XML after which the rest of a bzip2 range becomes another chunk; 0: the
              range is plain
    text      the XML; None: that of the range from `start` to `position`
    """

    number: int
    file: str
    position: int
    start: int
    max_size: int
    text: bytes | None


@dataclass(frozen=True, slots=True)
class ChunkReading:
    """A parsed chunk, and the rest of it that was not read yet."""

    parsed: ParsedChunk
    rest: DumpChunk | None

    @property
    def pages(self) -> ChunkPages:
        """The complete pages of the chunk."""
        return self.parsed.pages


@dataclass(frozen=True, slots=True)
class ChunkOutcome(Generic[T]):
    """Result of a function for some pages.

    number      index of the outcome
    position    bytes on disk read so far, over all dumps
    dropped     unreadable parts, with their lines in the file
    result      return value of the function
    first_line  line of the file that is line 1 of the pages
    """

    number: int
    position: int
    dropped: tuple[Dropped, ...]
    result: T
    first_line: int


@dataclass(frozen=True)
class Dump:
    """A dump file.

    site         the wiki of the dump
    size         bytes on disk
    compression  "plain", "gzip" or "bzip2"
    growth       bytes of XML per byte on disk, estimated from the beginning (bzip2 only)
    """

    path: Path
    site: Site
    size: int
    compression: str
    growth: float

    def chunks(self, size: int = CHUNK_SIZE) -> Iterator[DumpChunk]:
        """Yield chunks of about `size` bytes of XML.

        The last ones of a file on disk are smaller, so that no worker is left with a large one.
        """
        if size < 1:
            raise ValueError(f"chunks of {size} bytes: at least 1 is needed")
        if self.compression == "gzip":
            return self._texts(size)
        return self._ranges(size)

    def _ranges(self, size: int) -> Iterator[DumpChunk]:
        plain = self.compression == "plain"
        step = max(round(size / self.growth), 1 if plain else _MIN_RANGE)
        start = 0
        with open_file(self.path) as file:
            for number in count():
                if start >= self.size:
                    return
                last = max((self.size - start) // _LAST, step // _LAST, _MIN_RANGE)
                end = min(start + min(step, last), self.size)
                if plain:
                    end = _page_end(file, end, 4 * max(size, _READ)) or self.size
                yield DumpChunk(
                    number=number,
                    file=str(self.path),
                    position=end,
                    start=start,
                    max_size=0 if plain else size * _MAX_GROWTH,
                    text=None,
                )
                start = end

    def _texts(self, size: int) -> Iterator[DumpChunk]:
        """Cut after a page where possible, so that few pages have to be joined."""
        numbers = count()
        buffer = bytearray()
        for data, position in decompress(self.path, self.compression, min(size, _READ)):
            seen = max(len(buffer) - len(_PAGE_END), 0)
            buffer += data
            if len(buffer) < size:
                continue
            end = buffer.rfind(_PAGE_END, seen) + len(_PAGE_END)
            if end < len(_PAGE_END):  # not found
                if len(buffer) < 4 * max(size, _READ):
                    continue
                end = len(buffer)
            yield self._text(next(numbers), bytes(buffer[:end]), position)
            del buffer[:end]
        if buffer:
            yield self._text(next(numbers), bytes(buffer), self.size)

    def _text(self, number: int, text: bytes, position: int) -> DumpChunk:
        return DumpChunk(
            number=number, file=str(self.path), position=position, start=0, max_size=0, text=text
        )


def open_dump(path: str | PathLike[str]) -> Dump:
    """Open a dump; raise a DumpError if the file does not begin like one."""
    path = Path(path)
    compression = detect_compression(path)
    size = path.stat().st_size
    head, growth = _head(path, compression, size)
    if not re.search(rb"<(?:mediawiki|page)[\s>]", head):
        line = head.count(b"\n") + 1
        raise DumpError(
            f"{path}, lines 1 to {line}: neither <mediawiki> nor <page> in the first "
            f"{len(head):,} bytes: not a dump of a wiki's pages (pages-articles.xml)"
        )
    return Dump(
        path=path,
        site=Site.parse(head),
        size=size,
        compression=compression,
        growth=max(growth, 1.0),
    )


def _page_end(file: BinaryIO, start: int, most: int) -> int:
    """Return where the first page ends after `start`, or a position `most` bytes behind; 0: none.

    Chunks of plain XML end there, so that few pages have to be joined.
    """
    before, position = b"", start
    try:
        file.seek(start)
        while data := file.read(_READ):
            found = (before + data).find(_PAGE_END)
            if found >= 0:
                return position - len(before) + found + len(_PAGE_END)
            position += len(data)
            if position - start >= most:
                return position
            before = data[1 - len(_PAGE_END) :]
    except OSError as error:
        raise unreadable(file.name, error) from None
    return 0


def read_chunk(chunk: DumpChunk, site: Site) -> ChunkReading:
    """Read a chunk on its own; lines count from 1."""
    rest = None
    if chunk.text is not None:
        text = chunk.text
    elif not chunk.max_size:
        text = _read_range(chunk)
    else:
        text, next_start = _decompress_range(chunk)
        if next_start is not None:
            rest = replace(chunk, start=next_start)
    return ChunkReading(parse_chunk(text, chunk.file, site), rest)


def map_chunks(
    dumps: Sequence[Dump],
    function: Callable[[ChunkPages], T],
    workers: int = 1,
    chunk_size: int = CHUNK_SIZE,
    strict: bool = False,
    pool: TaskPool | None = None,
) -> Iterator[ChunkOutcome[T]]:
    """Apply a function to the pages of all dumps, chunk by chunk, and yield outcomes in order.

    function  picklable, as is its result, because it runs in worker processes. Pages that cross
              a border of chunks are passed to it in this process, often one at a time
    workers   number of processes; 1: this process only
    strict    raise a DumpError instead of dropping a page
    pool      executes the function instead of own processes
    """
    if workers < 1:
        raise ValueError(f"{workers} workers: at least 1 is needed")
    chunks = (
        (i, chunk, dump.site) for i, dump in enumerate(dumps) for chunk in dump.chunks(chunk_size)
    )
    done = ordered_results(partial(_numbered, function), chunks, workers, pool)
    # Closing ends the workers even if an error keeps this frame alive.
    with closing(_results(dumps, function, done)) as results:
        for number, (position, group, result) in enumerate(results):
            dropped = group.dropped()
            if strict and dropped:
                raise DumpError(f"{dropped[0]}; without strict, it is skipped")
            yield ChunkOutcome(
                number=number,
                position=position,
                dropped=dropped,
                result=result,
                first_line=group.first_line,
            )


_Result: TypeAlias = tuple[ChunkReading, list[T]]
"""Result of a worker: a reading without its pages, and the function's results (0 or 1)."""


def _work(chunk: DumpChunk, site: Site, function: Callable[[ChunkPages], T]) -> _Result[T]:
    reading = read_chunk(chunk, site)
    pages = reading.pages
    results = [function(pages)] if pages.pages or pages.dropped else []
    without_pages = replace(reading.parsed, pages=replace(pages, pages=()))
    return replace(reading, parsed=without_pages), results


def _results(
    dumps: Sequence[Dump],
    function: Callable[[ChunkPages], T],
    numbered: Generator[tuple[int, DumpChunk, _Result[T]], None, None],
) -> Generator[tuple[int, PageGroup, T], None, None]:
    """Yield position on disk, pages and the function's result."""
    before = 0
    with closing(_in_order(dumps, numbered)) as done:
        for index, group in groupby(done, key=itemgetter(0)):
            dump = dumps[index]
            joiner = ChunkJoiner(str(dump.path), dump.site)
            for _, chunk, first in group:
                for reading, results in _with_rest(first, dump.site, function):
                    if joiner.ended:
                        continue
                    joined, own = joiner.add(reading.parsed)
                    if joined.pages.pages or joined.pages.dropped:
                        yield before + chunk.position, joined, function(joined.pages)
                    for value in results:
                        yield before + chunk.position, own, value
            before += dump.size
            last = joiner.finish()
            if last.pages.pages or last.pages.dropped:
                yield before, last, function(last.pages)


def _with_rest(
    result: _Result[T], site: Site, function: Callable[[ChunkPages], T]
) -> Iterator[_Result[T]]:
    """Yield a result, and those of the rest of its chunk."""
    yield result
    while (rest := result[0].rest) is not None:
        result = _work(rest, site, function)
        yield result


def _in_order(
    dumps: Sequence[Dump], numbered: Generator[tuple[int, DumpChunk, _Result[T]], None, None]
) -> Generator[tuple[int, DumpChunk, _Result[T]], None, None]:
    """Yield index of the dump, chunk and result, in the order of chunks."""
    try:
        with closing(numbered) as results:
            yield from results
    except BrokenExecutor:
        raise DumpError(
            f"a worker process ended while reading {', '.join(str(d.path) for d in dumps)}, "
            "perhaps because memory ran out; use fewer workers or smaller chunks"
        ) from None


def _numbered(
    function: Callable[[ChunkPages], T], given: tuple[int, DumpChunk, Site]
) -> tuple[int, DumpChunk, _Result[T]]:
    number, chunk, site = given
    # Without the text, which callers do not need.
    return number, replace(chunk, text=None), _work(chunk, site, function)


def _read_range(chunk: DumpChunk) -> bytes:
    """Return the XML of a range of a plain file."""
    with open_file(Path(chunk.file)) as file:
        try:
            file.seek(chunk.start)
            return file.read(chunk.position - chunk.start)
        except OSError as error:
            raise unreadable(chunk.file, error) from None


def _decompress_range(chunk: DumpChunk) -> tuple[bytes, int | None]:
    """Return the XML of a range of a bzip2 file, and the start of the rest, if any."""
    texts: list[bytes] = []
    size = 0
    with open_file(Path(chunk.file)) as file:
        try:
            for block in decompress_blocks(file, chunk.start, chunk.position):
                if size > chunk.max_size:
                    return b"".join(texts), block.start
                text = block.data or GAP
                texts.append(text)
                size += len(text)
                # Anything may follow the end of the dump.
                if not block.contiguous and not text.rstrip().endswith(b"</mediawiki>"):
                    texts.append(GAP)
        except OSError as error:
            raise unreadable(chunk.file, error) from None
    return b"".join(texts), None


def _head(path: Path, compression: str, size: int) -> tuple[bytes, float]:
    """Return the beginning of a dump's XML, and the bytes of XML per byte on disk."""
    text = b""
    position = 0
    if compression != "bzip2":
        for data, _ in decompress(path, compression, _READ):
            text += data
            if len(text) >= _HEAD:
                break
        return text[:_HEAD], 1.0
    with open_file(path) as file:
        for block in decompress_blocks(file, 0, min(size, 2 * _HEAD)):
            position = block.start
            if len(text) >= _HEAD:
                break
            text += block.data or GAP
        else:
            position = min(size, 2 * _HEAD)
    return text[:_HEAD], len(text) / max(position, 1)
