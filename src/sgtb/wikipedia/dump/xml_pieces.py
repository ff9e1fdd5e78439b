"""Pieces: a dump's XML cut anywhere, the pages in each piece, and how the pieces fit together.

A piece is read without knowing what comes before it. It ends up in three parts:

    head   up to the first <page; belongs to a page of the piece before, or is the dump's head
    pages  what lies between
    tail   from the <page that is not closed, or after the last </page>

The Stitcher sees the pieces in order, joins tail and head, and counts lines. Where pages begin
and end is told by the tags alone: text holds them only in a CDATA section, which MediaWiki does
not write.
"""

import re
from dataclasses import dataclass, replace

from sgtb.wikipedia.dump.decompression import GAP
from sgtb.wikipedia.dump.page_xml import DAMAGED, BadPageError, Dropped, Page, read_page, title_in
from sgtb.wikipedia.dump.site import Site

PAGE_LIMIT = 64 << 20
"""A page larger than this many bytes is dropped, so that memory stays bounded."""

_TAG = re.compile(rb"<(?:(page)[\s>/]|(/page)\s*>|/mediawiki\s*>)")
_PART_OF_PAGE = re.compile(rb"</page|<title[\s>]|" + re.escape(GAP))
_PAGE_END = b"</page"
_UNCLOSED = "no </page> before the next page"
_STUB = 1 << 16  # what is kept of a page that is too large, to find its title in


@dataclass(frozen=True, slots=True)
class ChunkPages:
    """Pages in their order, and what had to be dropped; lines count from the chunk's first."""

    file: str
    pages: tuple[Page, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece that has been read.

    lines      how many line ends it holds
    tail_line  which of its lines the tail begins in, from 1 on
    closed     it holds a <page or the dump's end, so that nothing before it is still open
    ended      it holds the dump's end
    """

    pages: ChunkPages
    head: bytes
    tail: bytes
    lines: int
    tail_line: int
    closed: bool
    ended: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """Pages that stand together, and the line of the file that is the first of theirs."""

    first_line: int
    pages: ChunkPages

    def dropped(self) -> tuple[Dropped, ...]:
        """Return what was dropped, with the lines of the file."""
        before = self.first_line - 1
        return tuple(replace(one, line=one.line + before) for one in self.pages.dropped)


def read_piece(text: bytes, file: str, site: Site) -> Piece:
    """Read a piece of XML that was cut anywhere."""
    first = _TAG.search(text)
    while first is not None and first[2]:
        first = _TAG.search(text, first.end())
    if first is None:
        lines = text.count(b"\n")
        return Piece(ChunkPages(file, (), ()), text, b"", lines, lines, False, False)
    cut = _Cut(text, file, site, start=first.start())
    tail_line = cut.line_at(cut.rest)
    return Piece(
        pages=cut.found(),
        head=text[: first.start()],
        tail=b"" if cut.ended else text[cut.rest :],
        lines=cut.line_at(len(text)) - 1,
        tail_line=tail_line,
        closed=True,
        ended=cut.ended,
    )


class Stitcher:
    """Joins the pieces of one file, which come in their order."""

    def __init__(self, file: str, site: Site) -> None:
        self.ended = False  # the dump is over; what comes after it is ignored
        self._file = file
        self._site = site
        self._pending = bytearray()  # what follows the last page that is dealt with
        self._pending_line = 1
        self._lines = 0
        self._lost = 0  # bytes that were too many to keep in `pending`
        self._header = True

    def add(self, piece: Piece) -> tuple[Stretch, Stretch]:
        """Return the pages, if any, that end before a piece's own pages; then these."""
        own = Stretch(self._lines + 1, piece.pages)
        self._keep(piece.head)
        if piece.closed:
            before = self._flush(_UNCLOSED)
            self._pending += piece.tail
            self._pending_line = self._lines + piece.tail_line
        else:
            before = self._take(len(piece.head))
        self._lines += piece.lines
        self.ended = piece.ended
        return before, own

    def finish(self) -> Stretch:
        """Return the pages, if any, that the end of the file completes."""
        return self._flush("the file ends before </page>")

    def _keep(self, text: bytes) -> None:
        if self._lost or len(self._pending) + len(text) > PAGE_LIMIT:
            self._lost += len(self._pending) + len(text)
            self._pending += text[:_STUB]
            del self._pending[_STUB:]
            self._lost -= len(self._pending)
        else:
            self._pending += text

    def _take(self, new: int) -> Stretch:
        """Take the page, if any, that what was just added completes."""
        if self._lost or _PAGE_END not in self._pending[-new - len(_PAGE_END) :]:
            return Stretch(self._pending_line, ChunkPages(self._file, (), ()))
        cut = self._cut()
        found = Stretch(self._pending_line, cut.found())
        self._pending_line += cut.line_at(cut.rest) - 1
        del self._pending[: cut.rest]
        self._header = self._header and cut.header
        return found

    def _flush(self, reason: str) -> Stretch:
        if self._lost:
            found = self._too_large()
        else:
            cut = self._cut()
            cut.close(len(self._pending), reason)
            found = cut.found()
        self._pending.clear()
        self._lost = 0
        self._header = False
        return Stretch(self._pending_line, found)

    def _cut(self) -> "_Cut":
        return _Cut(bytes(self._pending), self._file, self._site, header=self._header)

    def _too_large(self) -> ChunkPages:
        stub = bytes(self._pending)
        line = stub.count(b"\n", 0, len(stub) - len(stub.lstrip())) + 1
        reason = f"no </page> within {PAGE_LIMIT >> 20} MB"
        size = len(stub) + self._lost
        return ChunkPages(
            self._file, (), (Dropped(self._file, line, title_in(stub), reason, size),)
        )


class _Cut:
    """The pages of a text, which begins where no page is open."""

    def __init__(
        self, text: bytes, file: str, site: Site, start: int = 0, header: bool = False
    ) -> None:
        self.rest = start  # all before this is dealt with; an open page begins here
        self.ended = False
        self.header = header  # the dump's head, which is no page, is still to come
        self._text = text
        self._file = file
        self._site = site
        self._open = False
        self._pages: list[Page] = []
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
        """Return what was read so far."""
        return ChunkPages(self._file, tuple(self._pages), tuple(self._dropped))

    def close(self, end: int, reason: str) -> None:
        """Drop what is neither a page nor white space up to a place."""
        xml = self._text[self.rest : end]
        if self._open:
            self._drop(xml, DAMAGED if GAP in xml else reason)
        elif xml and not xml.isspace():
            is_header = self.header and not _PART_OF_PAGE.search(xml)
            if not is_header:
                self._drop(xml, _stray(xml))
        self.rest = end
        self.header = False
        self._open = False

    def line_at(self, place: int) -> int:
        """Return the line of a place, from 1 on; places must come in ascending order."""
        before, line = self._counted
        line += self._text.count(b"\n", before, place)
        self._counted = (place, line)
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
        # White space around it is not meant.
        line = self.line_at(self.rest) + xml.count(b"\n", 0, len(xml) - len(xml.lstrip()))
        self._dropped.append(Dropped(self._file, line, title_in(xml), reason, len(xml.strip())))

    def _end(self, end: int) -> None:
        self.ended = True
        self.rest = end
        if GAP in self._text[end:]:
            self._drop(GAP, f"{DAMAGED} after the last page")


def _stray(xml: bytes) -> str:
    if GAP in xml:
        return f"{DAMAGED} between pages; some may be missing"
    if b"</page" in xml:
        return "</page> without <page>"
    return "not a page"
