"""Pages of a chunk of XML that was cut anywhere, and the joining of consecutive chunks.

A chunk is parsed without its predecessor, into three parts:

    head   up to the first <page: the rest of a page of the chunk before, or the dump's header
    pages  complete pages
    tail   from an unclosed <page, or after the last </page>

The ChunkJoiner gets the chunks in order, joins tail and head, and counts lines. Pages are
delimited by their tags alone: text could contain these only in CDATA sections, which MediaWiki
does not write.
"""

import re
from dataclasses import dataclass, replace

from sgtb.wikipedia.dump.decompression import GAP
from sgtb.wikipedia.dump.page_xml import (
    DAMAGED,
    BadPageError,
    Dropped,
    DumpPage,
    read_page,
    title_in,
)
from sgtb.wikipedia.dump.site import Site

PAGE_LIMIT = 64 << 20  # larger pages are dropped, to bound the memory
_TAG = re.compile(rb"<(?:(page)[\s>/]|(/page)\s*>|/mediawiki\s*>)")
_PART_OF_PAGE = re.compile(rb"</page|<title[\s>]|" + re.escape(GAP))
_PAGE_END = b"</page"
_UNCLOSED = "no </page> before the next page"
_STUB = 1 << 16  # bytes kept of a page that is too large, to find its title


@dataclass(frozen=True, slots=True)
class ChunkPages:
    """Pages in order, and dropped parts; lines count from the chunk's first."""

    file: str
    pages: tuple[DumpPage, ...] = ()
    dropped: tuple[Dropped, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pages or self.dropped)


@dataclass(frozen=True, slots=True)
class ParsedChunk:
    """A parsed chunk."""

    pages: ChunkPages
    head: bytes
    lines: int  # number of line ends
    tail: bytes = b""
    tail_line: int = 0  # line of the chunk in which the tail begins, from 1
    closed: bool = False  # it has a <page or the dump's end, so no earlier page is still open
    ended: bool = False  # it has the dump's end
    rest: int | None = None  # start of what was not read of the chunk's range; None: nothing


@dataclass(frozen=True, slots=True)
class PageGroup:
    """Consecutive pages, and the line of the file that is their line 1."""

    first_line: int
    pages: ChunkPages

    def dropped(self) -> tuple[Dropped, ...]:
        """Return dropped parts with their lines in the file."""
        before = self.first_line - 1
        return tuple(replace(part, line=part.line + before) for part in self.pages.dropped)


def parse_chunk(text: bytes, file: str, site: Site) -> ParsedChunk:
    """Parse XML that was cut anywhere."""
    first = _TAG.search(text)
    while first is not None and first[2]:
        first = _TAG.search(text, first.end())
    if first is None:
        return ParsedChunk(ChunkPages(file), head=text, lines=text.count(b"\n"))
    scanner = _PageScanner(text, file, site, start=first.start())
    tail = b"" if scanner.ended else text[scanner.rest :]
    tail_line = scanner.line_at(scanner.rest)
    lines = scanner.line_at(len(text)) - 1
    return ParsedChunk(
        scanner.found(), text[: first.start()], lines, tail, tail_line=tail_line, closed=True,
        ended=scanner.ended,
    )  # fmt: skip


class ChunkJoiner:
    """Joins the chunks of one file, in order."""

    def __init__(self, file: str, site: Site) -> None:
        self.ended = False  # what follows the dump's end is ignored
        self._file, self._site = file, site
        self._pending = bytearray()  # what follows the last processed page
        self._pending_line = 1
        self._lines = 0
        self._lost = 0  # bytes beyond PAGE_LIMIT that `pending` does not hold
        self._header = True

    def add(self, chunk: ParsedChunk) -> tuple[PageGroup, PageGroup]:
        """Return the pages that the chunk's head completes, if any, and the chunk's own pages."""
        own = PageGroup(self._lines + 1, chunk.pages)
        self._keep(chunk.head)
        if chunk.closed:
            before = self._flush(_UNCLOSED)
            self._pending += chunk.tail
            self._pending_line = self._lines + chunk.tail_line
        else:
            before = self._take(len(chunk.head))
        self._lines += chunk.lines
        self.ended = chunk.ended
        return before, own

    def finish(self) -> PageGroup:
        """Return the pages that the end of the file completes, if any."""
        return self._flush("the file ends before </page>")

    def _keep(self, text: bytes) -> None:
        if self._lost or len(self._pending) + len(text) > PAGE_LIMIT:
            self._lost += len(self._pending) + len(text)
            self._pending += text[:_STUB]
            del self._pending[_STUB:]
            self._lost -= len(self._pending)
        else:
            self._pending += text

    def _take(self, new: int) -> PageGroup:
        """Return the page that the last `new` bytes complete, if any."""
        if self._lost or _PAGE_END not in self._pending[-new - len(_PAGE_END) :]:
            return PageGroup(self._pending_line, ChunkPages(self._file))
        scanner = self._scanner()
        found = PageGroup(self._pending_line, scanner.found())
        self._pending_line += scanner.line_at(scanner.rest) - 1
        del self._pending[: scanner.rest]
        self._header = self._header and scanner.header
        return found

    def _flush(self, reason: str) -> PageGroup:
        if self._lost:
            stub = bytes(self._pending)
            too_large = f"no </page> within {PAGE_LIMIT >> 20} MB"
            dropped = _dropped(self._file, 1, stub, too_large, len(stub) + self._lost)
            found = ChunkPages(self._file, (), (dropped,))
        else:
            scanner = self._scanner()
            scanner.close(len(self._pending), reason)
            found = scanner.found()
        self._pending.clear()
        self._lost = 0
        self._header = False
        return PageGroup(self._pending_line, found)

    def _scanner(self) -> "_PageScanner":
        return _PageScanner(bytes(self._pending), self._file, self._site, header=self._header)


class _PageScanner:
    """Finds the pages of a text that begins outside of a page."""

    def __init__(
        self, text: bytes, file: str, site: Site, start: int = 0, header: bool = False
    ) -> None:
        self.rest = start  # everything before is processed; an open page begins here
        self.ended = False
        self.header = header  # the dump's header is still to come
        self._text, self._file, self._site = text, file, site
        self._open = False
        self._pages: list[DumpPage] = []
        self._dropped: list[Dropped] = []
        self._counted = (0, 1)
        for tag in _TAG.finditer(text, start):
            if tag[1]:
                self.close(tag.start(), _UNCLOSED)
                self._open = True
            elif not tag[2]:
                self.close(tag.start(), "the dump ends before </page>")
                self._end(tag.end())
                break
            elif self._open:
                self._read(tag.end())

    def found(self) -> ChunkPages:
        """Return the pages read so far."""
        return ChunkPages(self._file, tuple(self._pages), tuple(self._dropped))

    def close(self, end: int, reason: str) -> None:
        """Drop everything up to `end` that is neither a page nor white space."""
        xml = self._text[self.rest : end]
        if self._open:
            self._drop(xml, DAMAGED if GAP in xml else reason)
        elif xml.strip() and not (self.header and not _PART_OF_PAGE.search(xml)):
            self._drop(xml, _stray(xml))
        self.rest = end
        self.header = False
        self._open = False

    def line_at(self, position: int) -> int:
        """Return the line of a position, from 1; positions must ascend between calls."""
        before, line = self._counted
        line += self._text.count(b"\n", before, position)
        self._counted = (position, line)
        return line

    def _read(self, end: int) -> None:
        xml = self._text[self.rest : end]
        try:
            if len(xml) > PAGE_LIMIT:
                raise BadPageError(f"larger than {PAGE_LIMIT >> 20} MB")
            self._pages.append(read_page(xml, self._site, self.line_at(self.rest)))
        except BadPageError as error:
            self._drop(xml, str(error))
        self.rest = end
        self._open = False

    def _drop(self, xml: bytes, reason: str) -> None:
        line = self.line_at(self.rest)
        self._dropped.append(_dropped(self._file, line, xml, reason, len(xml.strip())))

    def _end(self, end: int) -> None:
        self.ended = True
        self.rest = end
        if GAP in self._text[end:]:
            self._drop(GAP, f"{DAMAGED} after the last page")


def _dropped(file: str, line: int, xml: bytes, reason: str, size: int) -> Dropped:
    """Return a dropped part; its line is that of the first character that is not white space."""
    line += xml.count(b"\n", 0, len(xml) - len(xml.lstrip()))
    return Dropped(file=file, line=line, title=title_in(xml), reason=reason, bytes=size)


def _stray(xml: bytes) -> str:
    if GAP in xml:
        return f"{DAMAGED} between pages; some may be missing"
    if b"</page" in xml:
        return "</page> without <page>"
    return "not a page"
