"""Dump: a file of a wiki's pages, read in chunks by several processes.

    dumps = [open_dump(path) for path in paths]
    for outcome in map_chunks(dumps, count_links, workers=4):
        total += outcome.result

A dump is XML as it is, packed by gzip, or packed by bzip2 in one or many streams; its name does
not matter. The worker processes unpack bzip2 themselves. The order of pages is the file's, and
chunks, results and what is dropped are the same for any number of workers.
"""

import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count, groupby
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Generic, TypeVar

from sgtb.core.errors import DumpError
from sgtb.core.workers import submit, worker_pool
from sgtb.wikipedia.dump.bzip2_blocks import unpack_blocks
from sgtb.wikipedia.dump.decompression import GAP, open_file, packing, unpack, unreadable
from sgtb.wikipedia.dump.page_xml import Dropped, Page
from sgtb.wikipedia.dump.site import Site
from sgtb.wikipedia.dump.xml_pieces import ChunkPages, Piece, Stitcher, Stretch, read_piece

__all__ = [
    "CHUNK_SIZE",
    "Chunk",
    "ChunkPages",
    "Dropped",
    "Dump",
    "Outcome",
    "Page",
    "Reading",
    "map_chunks",
    "open_dump",
    "read_chunk",
]

CHUNK_SIZE = 4 << 20
"""Bytes of XML that a chunk aims at."""

_HEAD = 1 << 20  # where a dump must show that it is one
_READ = 1 << 18
_LEAST = 16  # bytes of a bzip2 file in a chunk
_BOMB = 16  # a chunk of bzip2 is split where it holds that many times what it aims at

_PAGE_END = b"</page>"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a dump: some XML, or a range of a bzip2 file that a worker unpacks.

    number    of the chunk in its file, from 0 on
    file      its path
    position  up to which byte of the file on disk it goes, to show progress
    start     where the range starts
    most      bytes of XML after which the rest of the range is left for another chunk
    text      the XML; None: it is in the range from `start` to `position`
    """

    number: int
    file: str
    position: int
    start: int
    most: int
    text: bytes | None


@dataclass(frozen=True, slots=True)
class Reading:
    """What `read_chunk` returns: the pages, the ends to be stitched, and what was not read yet."""

    piece: Piece
    rest: Chunk | None

    @property
    def pages(self) -> ChunkPages:
        """The chunk's whole pages."""
        return self.piece.pages


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What became of some pages.

    number      counts the outcomes, from 0 on
    position    how many bytes on disk have been read, of all dumps together
    dropped     what could not be read, with its line in the file
    result      what the function returned
    first_line  the file's line that is line 1 for the pages the function was given
    """

    number: int
    position: int
    dropped: tuple[Dropped, ...]
    result: T
    first_line: int


@dataclass(frozen=True)
class Dump:
    """A dump.

    path    its file
    site    the wiki it is from
    size    bytes on disk
    kind    how it is packed: "plain", "gzip" or "bzip2"
    growth  bytes of XML that a byte on disk unpacks to, by the file's beginning (bzip2 only)
    """

    path: Path
    site: Site
    size: int
    kind: str
    growth: float

    def chunks(self, size: int = CHUNK_SIZE) -> Iterator[Chunk]:
        """Yield the file in parts of about `size` bytes of XML."""
        if size < 1:
            raise ValueError(f"chunks of {size} bytes: at least 1 is needed")
        return self._ranges(size) if self.kind == "bzip2" else self._texts(size)

    def _ranges(self, size: int) -> Iterator[Chunk]:
        step = max(round(size / self.growth), _LEAST)
        for number, start in enumerate(range(0, self.size, step)):
            end = min(start + step, self.size)
            yield Chunk(number, str(self.path), end, start, size * _BOMB, None)

    def _texts(self, size: int) -> Iterator[Chunk]:
        """Cut after a page where there is one, which saves the stitching."""
        numbers = count()
        buffer = bytearray()
        for data, position in unpack(self.path, self.kind, min(size, _READ)):
            seen = max(len(buffer) - len(_PAGE_END), 0)
            buffer += data
            if len(buffer) < size:
                continue
            end = buffer.rfind(_PAGE_END, seen) + len(_PAGE_END)
            if end < len(_PAGE_END):  # not found
                if len(buffer) < 4 * max(size, _READ):
                    continue
                end = len(buffer)
            yield Chunk(next(numbers), str(self.path), position, 0, 0, bytes(buffer[:end]))
            del buffer[:end]
        if buffer:
            yield Chunk(next(numbers), str(self.path), self.size, 0, 0, bytes(buffer))


def open_dump(path: str | PathLike[str]) -> Dump:
    """Look at the beginning of a file; one that holds no dump is a DumpError."""
    path = Path(path)
    kind = packing(path)
    size = path.stat().st_size
    head, growth = _head(path, kind, size)
    if not re.search(rb"<(?:mediawiki|page)[\s>]", head):
        line = head.count(b"\n") + 1
        raise DumpError(
            f"{path}, lines 1 to {line}: neither <mediawiki> nor <page> in the first "
            f"{len(head):,} bytes: not a dump of a wiki's pages (pages-articles.xml)"
        )
    return Dump(path, Site.parse(head), size, kind, max(growth, 1.0))


def read_chunk(chunk: Chunk, site: Site) -> Reading:
    """Read a chunk, anywhere and in any order; its lines count from 1."""
    rest = None
    if chunk.text is not None:
        text = chunk.text
    else:
        text, next_start = _unpack_range(chunk)
        if next_start is not None:
            rest = replace(chunk, start=next_start)
    return Reading(read_piece(text, chunk.file, site), rest)


def map_chunks(
    dumps: Sequence[Dump],
    function: Callable[[ChunkPages], T],
    workers: int = 1,
    chunk_size: int = CHUNK_SIZE,
    strict: bool = False,
) -> Iterator[Outcome[T]]:
    """Yield what a function makes of the pages of all dumps, chunk after chunk, in their order.

    function  runs in worker processes, so it must be one of a module, or a functools.partial of
              one, and what it returns must be picklable. Pages that cross the border of two
              chunks are given to it in this process, often one at a time
    workers   processes; with 1 all is done in this one
    strict    the first page that would be dropped is a DumpError instead
    """
    if workers < 1:
        raise ValueError(f"{workers} workers: at least 1 is needed")
    # Closed at once, and the workers with it, also where an error keeps this frame alive.
    with closing(_results(dumps, function, workers, chunk_size)) as results:
        for number, (position, stretch, result) in enumerate(results):
            dropped = stretch.dropped()
            if strict and dropped:
                raise DumpError(f"{dropped[0]}; if strict is off, reading goes on without it")
            yield Outcome(number, position, dropped, result, stretch.first_line)


@dataclass(frozen=True, slots=True)
class _Result(Generic[T]):
    """What a worker sends back: no pages, but what the function made of them."""

    reading: Reading
    results: list[T]  # one, or none if there was nothing to be given to the function


def _work(chunk: Chunk, site: Site, function: Callable[[ChunkPages], T]) -> _Result[T]:
    reading = read_chunk(chunk, site)
    pages = reading.pages
    results = [function(pages)] if pages.pages or pages.dropped else []
    light = replace(reading.piece, pages=replace(pages, pages=()))
    return _Result(replace(reading, piece=light), results)


def _results(
    dumps: Sequence[Dump], function: Callable[[ChunkPages], T], workers: int, chunk_size: int
) -> Generator[tuple[int, Stretch, T], None, None]:
    """Yield position on disk, where the pages stood, and what the function made of them."""
    before = 0
    with closing(_in_order(dumps, function, workers, chunk_size)) as done:
        for index, group in groupby(done, key=itemgetter(0)):
            dump = dumps[index]
            stitcher = Stitcher(str(dump.path), dump.site)
            for _, chunk, first in group:
                for result in _with_rest(first, dump.site, function):
                    if stitcher.ended:
                        continue
                    joined, own = stitcher.add(result.reading.piece)
                    if joined.pages.pages or joined.pages.dropped:
                        yield before + chunk.position, joined, function(joined.pages)
                    for value in result.results:
                        yield before + chunk.position, own, value
            before += dump.size
            last = stitcher.finish()
            if last.pages.pages or last.pages.dropped:
                yield before, last, function(last.pages)


def _with_rest(
    result: _Result[T], site: Site, function: Callable[[ChunkPages], T]
) -> Iterator[_Result[T]]:
    """Yield a result, and those of what was left of its chunk."""
    yield result
    while result.reading.rest is not None:
        result = _work(result.reading.rest, site, function)
        yield result


def _in_order(
    dumps: Sequence[Dump], function: Callable[[ChunkPages], T], workers: int, chunk_size: int
) -> Generator[tuple[int, Chunk, _Result[T]], None, None]:
    """Yield the number of the dump, the chunk, and its result, in the order of chunks."""
    chunks = ((i, chunk) for i, dump in enumerate(dumps) for chunk in dump.chunks(chunk_size))
    if workers == 1:
        for i, chunk in chunks:
            yield i, chunk, _work(chunk, dumps[i].site, function)
        return
    # Two per worker keep all busy, and hold memory within bounds where one chunk takes long.
    under_way: deque[tuple[int, Chunk, Future[_Result[T]]]] = deque()
    pool = worker_pool(workers)
    try:
        for i, chunk in chunks:
            under_way.append((i, chunk, submit(pool, _work, chunk, dumps[i].site, function)))
            if len(under_way) > 2 * workers:
                yield _wait(*under_way.popleft())
        while under_way:
            yield _wait(*under_way.popleft())
    except BrokenProcessPool:
        raise DumpError(
            f"a worker process ended while reading {', '.join(str(d.path) for d in dumps)}, "
            "perhaps because memory ran out; use fewer workers or smaller chunks"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _wait(number: int, chunk: Chunk, future: "Future[_Result[T]]") -> tuple[int, Chunk, _Result[T]]:
    # The text is no longer needed; a caller that holds on to the chunk should not hold it.
    return number, replace(chunk, text=None), future.result()


def _unpack_range(chunk: Chunk) -> tuple[bytes, int | None]:
    """Return the XML in a range of a bzip2 file, and where the next chunk of it must start."""
    texts: list[bytes] = []
    size = 0
    with open_file(Path(chunk.file)) as file:
        try:
            for block in unpack_blocks(file, chunk.start, chunk.position):
                if size > chunk.most:
                    return b"".join(texts), block.start
                text = block.data or GAP
                texts.append(text)
                size += len(text)
                # After the dump's end something else may follow.
                if not block.joined and not text.rstrip().endswith(b"</mediawiki>"):
                    texts.append(GAP)
        except OSError as error:
            raise unreadable(chunk.file, error) from None
    return b"".join(texts), None


def _head(path: Path, kind: str, size: int) -> tuple[bytes, float]:
    """Return the first stretch of a dump's XML, and to how much a byte on disk unpacks."""
    text = b""
    position = 0
    if kind != "bzip2":
        for stretch, _ in unpack(path, kind, _READ):
            text += stretch
            if len(text) >= _HEAD:
                break
        return text[:_HEAD], 1.0
    with open_file(path) as file:
        for block in unpack_blocks(file, 0, min(size, 2 * _HEAD)):
            position = block.start
            if len(text) >= _HEAD:
                break
            text += block.data or GAP
        else:
            position = min(size, 2 * _HEAD)
    return text[:_HEAD], len(text) / max(position, 1)
