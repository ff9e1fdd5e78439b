"""The lines of PPRforNED's files: mentions with their candidates, pages, popularity.

    ENTITY     text:… normalName:… predictedType:… q:… qid:… docId:… origText:… url:…
    CANDIDATE  id:… inCount:… outCount:… links:1;2;3 url:… name:… normalName:… …

A tab stands between columns and, on CANDIDATE lines, after the last one.
"""

import re
from typing import NamedTuple

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL
from sgtb.formats.corpus_source import Source, shown

_ENTITY = ("text", "normalName", "predictedType", "q", "qid", "docId", "origText", "url")
_CANDIDATE = (
    *("id", "inCount", "outCount", "links", "url"),
    *("name", "normalName", "normalWikiTitle", "predictedType"),
)
_PATTERNS = {
    "id": r"[1-9][0-9]{0,17}",
    "docId": r"[1-9][0-9]{0,8}",
    "inCount": r"[0-9]{1,9}",
    "outCount": r"[0-9]{1,9}",
    "links": r"[0-9;]*",
}
"""What a column must look like; one that is not listed may hold any text."""
_ANY = r"[^\t]*"


def _line(kind: str, columns: tuple[str, ...], end: str) -> re.Pattern[str]:
    parts = (f"{name}:({_PATTERNS.get(name, _ANY)})" for name in columns)
    return re.compile(r"\t".join((kind, *parts)) + end)


_ENTITY_LINE = _line("ENTITY", _ENTITY, "")
_CANDIDATE_LINE = _line("CANDIDATE", _CANDIDATE, r"\t")
_NO_TYPE = frozenset(("UNK", "UKN"))
"""Both spellings occur; the second on 438 CANDIDATE lines."""


class Page(NamedTuple):
    """What a CANDIDATE line says about a page."""

    id: str
    url: str
    type: str
    in_links: int
    out_links: int


class Pages(NamedTuple):
    """All pages by id, and the ids of the pages that each one links to."""

    rows: dict[str, Page]
    links: dict[str, set[str]]


class Block(NamedTuple):
    """An ENTITY line and the ids on the CANDIDATE lines below it, whose order means nothing."""

    text: str
    gold: str | None
    type: str
    line: int
    candidates: frozenset[str]


def read_blocks(source: Source, document: str, pages: Pages) -> list[Block]:
    """Return the mentions of a document's file, and merge its pages into `pages`."""
    blocks: list[Block] = []
    # A page is a candidate of many mentions of a document, each time with the same line.
    known: dict[str, Page] = {}
    entity: Block | None = None
    candidates: list[Page] = []
    url = ""
    for n, line in enumerate(source.lines(), 1):
        if line.startswith("CANDIDATE"):
            page = known.get(line)
            if page is None:
                page = known[line] = _read_page(source, n, line, pages)
            candidates.append(page)
        else:
            if entity is not None or candidates:
                blocks.append(_block(source, n, entity, url, candidates))
            entity, url = _read_entity(source, n, line, document)
            candidates = []
    if entity is not None or candidates:
        blocks.append(_block(source, n, entity, url, candidates))
    return blocks


def read_popularity(source: Source) -> dict[str, float]:
    """Return the popularity of pages by url. The row for NIL that stands among them is left out."""
    popularity: dict[str, float] = {}
    for n, line in enumerate(source.lines(), 1):
        url, tab, value = line.partition("\t")
        if not tab or not (url == NIL or url.startswith("url:")):
            raise source.error(n, f"expected url:… and a number, found {shown(line)}")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number < 1e30:
            raise source.error(n, f"expected a popularity, found {shown(value)}")
        if url != NIL:
            popularity[url.removeprefix("url:")] = number
    return popularity


def _read_entity(source: Source, n: int, line: str, document: str) -> tuple[Block, str]:
    """Return the mention, candidates still to come, and the url that names its gold."""
    match = _ENTITY_LINE.fullmatch(line)
    if match is None:
        raise _misfit(source, n, line, "ENTITY", _ENTITY)
    # `text` is the name that candidates were looked up by: in every twelfth line a longer one
    # from elsewhere in the document. The name that stands here is `origText`.
    _, _, type_, _, _, number, text, url = match.groups()
    if number != document:
        raise source.error(n, f"docId:{number} in the file of document {document}")
    gold = NIL if url == NIL else None
    return Block(text, gold, "" if type_ in _NO_TYPE else type_, n, frozenset()), url


def _block(source: Source, n: int, entity: Block | None, url: str, candidates: list[Page]) -> Block:
    if entity is None:
        raise source.error(1, "a CANDIDATE before the first ENTITY")
    if not candidates:
        raise source.error(n, f"no CANDIDATE follows the ENTITY of line {entity.line}")
    # The gold is the candidate with exactly the ENTITY's url. In the published files this finds
    # 27,814 of 27,816, as both lines write urls alike: no escape occurs in any. The other two
    # mean pages that no candidate is.
    gold = next((page.id for page in candidates if page.url == url), entity.gold)
    return entity._replace(gold=gold, candidates=frozenset(page.id for page in candidates))


def _read_page(source: Source, n: int, line: str, pages: Pages) -> Page:
    """Return the page of a line, and add what it says to what others said."""
    match = _CANDIDATE_LINE.fullmatch(line)
    if match is None:
        raise _misfit(source, n, line, "CANDIDATE", _CANDIDATE)
    id_, in_count, out_count, links, url, _, _, _, type_ = match.groups()
    page = Page(id_, url, "" if type_ in _NO_TYPE else type_, int(in_count), int(out_count))
    known = pages.rows.setdefault(id_, page)
    if known != page:
        # Never in the published files. Elsewhere the order of files must not decide.
        if known.url != url:
            raise source.error(n, f"id:{id_} is {shown(url)} here, but {shown(known.url)} before")
        pages.rows[id_] = Page(
            id_,
            url,
            max(known.type, page.type),
            max(known.in_links, page.in_links),
            max(known.out_links, page.out_links),
        )
    if links:
        pages.links.setdefault(id_, set()).update(links.split(";"))
    return page


def _misfit(source: Source, n: int, line: str, kind: str, columns: tuple[str, ...]) -> CorpusError:
    """Return the error that says what is wrong with a line that is not as it should be."""
    found, *values = line.split("\t")
    if found != kind:
        return source.error(n, f"expected ENTITY or CANDIDATE, found {shown(line)}")
    for name, value in zip(columns, values, strict=False):
        if not re.fullmatch(f"{name}:{_PATTERNS.get(name, _ANY)}", value):
            return source.error(
                n, f"expected {name}:{_PATTERNS.get(name, '…')}, found {shown(value)}"
            )
    return source.error(
        n, f"expected {len(columns)} columns after {kind}, found {len(values)}: is the line cut?"
    )
