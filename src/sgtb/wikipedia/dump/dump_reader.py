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
from itertools import groupby
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Generic, TypeAlias, TypeVar

from sgtb.core.errors import DumpError
from sgtb.core.workers import TaskPool, ordered_results
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
    decompress_blocks,
    detect_compression,
    open_file,
)
from sgtb.wikipedia.dump.page_xml import Dropped
from sgtb.wikipedia.dump.site import Site

CHUNK_SIZE = 4 << 20  # target size of a chunk in bytes of XML
_HEAD = 1 << 20  # bytes in which <mediawiki> or <page> must occur
_READ = 1 << 18
_MIN_RANGE = 16  # bytes of a bzip2 file per chunk
_LAST = 8  # a chunk has at most this share of what is left of a file, down to this share of a chunk
_MAX_GROWTH = 16  # a bzip2 chunk is split beyond this multiple of its target size
_PAGE_END = b"</page>"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DumpChunk:
    """A part of a dump: XML, or a range of a plain or bzip2 file that a worker reads."""

    file: str  # path of the dump
    start: int  # start of the range
    position: int  # end of the chunk in the file on disk
    max_size: int = 0  # XML bytes after which the rest of a bzip2 range is another chunk; 0: plain
    text: bytes | None = None  # the XML; None: that of the range from `start` to `position`


@dataclass(frozen=True, slots=True)
class ChunkOutcome(Generic[T]):
    """Result of a function for some pages."""

    number: int  # index of the outcome
    position: int  # bytes on disk read so far, over all dumps
    dropped: tuple[Dropped, ...]  # unreadable parts, with their lines in the file
    result: T  # return value of the function
    first_line: int  # line of the file that is line 1 of the pages


@dataclass(frozen=True)
class Dump:
    """A dump file."""

    path: Path
    site: Site  # the wiki of the dump
    size: int  # bytes on disk
    compression: str  # "plain", "gzip" or "bzip2"
    growth: float  # bytes of XML per byte on disk, estimated from the beginning (bzip2 only)

    def chunks(self, size: int = CHUNK_SIZE) -> Iterator[DumpChunk]:
        """Yield chunks of about `size` bytes of XML; the last are smaller, to share the work."""
        if size < 1:
            raise ValueError(f"chunks of {size} bytes: at least 1 is needed")
        return self._texts(size) if self.compression == "gzip" else self._ranges(size)

    def _ranges(self, size: int) -> Iterator[DumpChunk]:
        plain = self.compression == "plain"
        step = max(round(size / self.growth), 1 if plain else _MIN_RANGE)
        max_size = 0 if plain else size * _MAX_GROWTH
        start = 0
        with open_file(self.path) as file:
            while start < self.size:
                last = max((self.size - start) // _LAST, step // _LAST, _MIN_RANGE)
                end = min(start + min(step, last), self.size)
                if plain:
                    end = _page_end(file, end, 4 * max(size, _READ)) or self.size
                yield DumpChunk(str(self.path), start, end, max_size)
                start = end

    def _texts(self, size: int) -> Iterator[DumpChunk]:
        """Cut after a page where possible, so that few pages have to be joined."""
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
            yield DumpChunk(str(self.path), 0, position, text=bytes(buffer[:end]))
            del buffer[:end]
        if buffer:
            yield DumpChunk(str(self.path), 0, self.size, text=bytes(buffer))


def open_dump(path: str | PathLike[str]) -> Dump:
    """Open a dump; raise a DumpError if the file does not begin like one."""
    path = Path(path)
    compression = detect_compression(path)
    text, position = b"", 1
    for data, reached in decompress(path, compression, _READ):
        text, position = text + data, reached
        if len(text) >= _HEAD:
            break
    head = text[:_HEAD]
    if not re.search(rb"<(?:mediawiki|page)[\s>]", head):
        line = head.count(b"\n") + 1
        raise DumpError(
            f"{path}, lines 1 to {line}: neither <mediawiki> nor <page> in the first "
            f"{len(head):,} bytes: not a dump of a wiki's pages (pages-articles.xml)"
        )
    growth = max(len(text) / position, 1.0) if compression == "bzip2" else 1.0
    return Dump(path, Site.parse(head), path.stat().st_size, compression=compression, growth=growth)


def one_site(dumps: Sequence[Dump]) -> Site:
    """Return the common wiki of all dumps."""
    if not dumps:
        raise DumpError("no dump given; name at least one file")
    for dump in dumps[1:]:
        first, other = dumps[0].site, dump.site
        if (first.dbname, first.language) != (other.dbname, other.language):
            raise DumpError(
                f"{dump.path} is from {other.dbname or 'an unknown wiki'} ({other.language}), but "
                f"{dumps[0].path} from {first.dbname or 'an unknown wiki'} ({first.language}); "
                "give dumps of one wiki"
            )
    return dumps[0].site


def _page_end(file: BinaryIO, start: int, most: int) -> int:
    """Return the end of the first page after `start`, or a position `most` bytes behind."""
    before, position = b"", start
    file.seek(start)
    while data := file.read(_READ):
        found = (before + data).find(_PAGE_END)
        if found >= 0:
            return position - len(before) + found + len(_PAGE_END)
        position += len(data)
        if position - start >= most:
            return position
        before = data[1 - len(_PAGE_END) :]
    return 0


def read_chunk(chunk: DumpChunk, site: Site) -> ParsedChunk:
    """Read a chunk on its own; lines count from 1."""
    text, rest = chunk.text, None
    if text is None:
        with open_file(chunk.file) as file:
            if chunk.max_size:
                text, rest = _decompress_range(file, chunk)
            else:
                file.seek(chunk.start)
                text = file.read(chunk.position - chunk.start)
    return replace(parse_chunk(text, chunk.file, site), rest=rest)


def _decompress_range(file: BinaryIO, chunk: DumpChunk) -> tuple[bytes, int | None]:
    """Return the XML of a range of a bzip2 file, and the start of the rest, if any."""
    texts: list[bytes] = []
    size = 0
    for block in decompress_blocks(file, chunk.start, chunk.position):
        text = block.data or GAP
        texts.append(text)
        size += len(text)
        # Anything may follow the end of the dump.
        if not block.contiguous and not text.rstrip().endswith(b"</mediawiki>"):
            texts.append(GAP)
        if size > chunk.max_size and block.end < chunk.position:
            return b"".join(texts), block.end
    return b"".join(texts), None


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
    done = ordered_results(partial(_work, function), chunks, workers, pool)
    # Closing ends the workers even if an error keeps this frame alive.
    with closing(done), closing(_results(dumps, function, done)) as results:
        for number, (position, group, result) in enumerate(results):
            dropped = group.dropped()
            if strict and dropped:
                raise DumpError(f"{dropped[0]}; without strict, it is skipped")
            yield ChunkOutcome(number, position, dropped, result, first_line=group.first_line)


_Done: TypeAlias = tuple[int, DumpChunk, ParsedChunk, list[T]]
"""What a worker returns: index of the dump, chunk without text, the chunk parsed, but without its
pages, and the function's results (0 or 1)."""


def _work(function: Callable[[ChunkPages], T], given: tuple[int, DumpChunk, Site]) -> _Done[T]:
    index, chunk, site = given
    parsed = read_chunk(chunk, site)
    results = [function(parsed.pages)] if parsed.pages else []
    without_pages = replace(parsed, pages=replace(parsed.pages, pages=()))
    return index, replace(chunk, text=None), without_pages, results


def _results(
    dumps: Sequence[Dump], function: Callable[[ChunkPages], T], done: Iterator[_Done[T]]
) -> Generator[tuple[int, PageGroup, T], None, None]:
    """Yield position on disk, pages and the function's result."""
    before = 0
    try:
        for index, group in groupby(done, key=itemgetter(0)):
            dump = dumps[index]
            joiner = ChunkJoiner(str(dump.path), dump.site)
            for first in group:
                for chunk, parsed, results in _with_rest(first, dump.site, function):
                    if joiner.ended:
                        break
                    joined, own = joiner.add(parsed)
                    if joined.pages:
                        yield before + chunk.position, joined, function(joined.pages)
                    for value in results:
                        yield before + chunk.position, own, value
            before += dump.size
            last = joiner.finish()
            if last.pages:
                yield before, last, function(last.pages)
    except BrokenExecutor:
        raise DumpError(
            f"a worker process ended while reading {', '.join(str(d.path) for d in dumps)}, "
            "perhaps because memory ran out; use fewer workers or smaller chunks"
        ) from None


def _with_rest(
    done: _Done[T], site: Site, function: Callable[[ChunkPages], T]
) -> Iterator[tuple[DumpChunk, ParsedChunk, list[T]]]:
    """Yield the result of a chunk, and those of the rest of its range."""
    index, chunk, parsed, results = done
    yield chunk, parsed, results
    while parsed.rest is not None:
        rest = replace(chunk, start=parsed.rest)
        _, chunk, parsed, results = _work(function, (index, rest, site))
        yield chunk, parsed, results
