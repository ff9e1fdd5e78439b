"""PPRforNED: the candidates of Pershina et al. (2015) for AIDA, and their entities.

The files list the right candidate of each mention first. To avoid leaking it, candidates are
sorted here by in-links, ties to the lower id. Columns of lines are separated by tabs; CANDIDATE
lines also end with one:

    ENTITY     text:… normalName:… predictedType:… q:… qid:… docId:… origText:… url:…
    CANDIDATE  id:… inCount:… outCount:… links:1;2;3 url:… name:… normalName:… …
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sgtb.core.entities import EntityTable
from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL
from sgtb.formats.corpus_source import SourceFile, read_members, shown, title_of_url

_DOCUMENT = re.compile(r"(?:.*/)?AIDA_candidates/[^/]+/([1-9][0-9]{0,8})")
_POPULARITY = "Freebase_popularity"
_ENTITY = ("text", "normalName", "predictedType", "q", "qid", "docId", "origText", "url")
_CANDIDATE = tuple(
    "id inCount outCount links url name normalName normalWikiTitle predictedType".split()
)
_PATTERNS = {
    "id": r"[1-9][0-9]{0,17}",
    "docId": r"[1-9][0-9]{0,8}",
    "inCount": r"[0-9]{1,9}",
    "outCount": r"[0-9]{1,9}",
    "links": r"[0-9;]*",
}
"""Patterns of columns; others may have any text."""
_ANY = r"[^\t]*"


def _line(kind: str, columns: tuple[str, ...], end: str) -> re.Pattern[str]:
    parts = (f"{name}:({_PATTERNS.get(name, _ANY)})" for name in columns)
    return re.compile(r"\t".join((kind, *parts)) + end)


_ENTITY_LINE = _line("ENTITY", _ENTITY, "")
_CANDIDATE_LINE = _line("CANDIDATE", _CANDIDATE, r"\t")
_NO_TYPE = frozenset(("UNK", "UKN"))  # both spellings occur; the second on 438 CANDIDATE lines


class _CandidatePage(NamedTuple):
    """The page of a CANDIDATE line."""

    id: str
    url: str
    type: str
    in_links: int
    out_links: int


class _Pages(NamedTuple):
    """All pages by id, and the ids of the pages they link to."""

    rows: dict[str, _CandidatePage]
    links: dict[str, set[str]]


@dataclass(frozen=True, slots=True)
class PprMention:
    """A mention with all its candidates: an ENTITY line and the CANDIDATE lines below it."""

    text: str  # the name in the document
    gold: str | None  # the right candidate; NIL: not in the knowledge base; None: not a candidate
    candidates: tuple[str, ...]  # ids by descending in-links, ties to the lower id
    line: int  # line in the document's file


@dataclass(frozen=True)
class PprForNed:
    """All of PPRforNED."""

    entities: EntityTable  # all candidates, by page number
    documents: Mapping[str, tuple[PprMention, ...]]  # mentions by document number in AIDA
    files: Mapping[str, str]  # source of each document, for messages


def read_pprforned(archive: Path) -> PprForNed:
    """Read `pprforned.tar.xz` or its extracted folder."""
    pages = _Pages({}, {})
    blocks: dict[str, list[PprMention]] = {}
    files: dict[str, str] = {}
    popularity: dict[str, float] | None = None
    for name, source in read_members(archive):
        if match := _DOCUMENT.fullmatch(name):
            document = match[1]
            if document in files:
                raise source.error(1, f"document {document} is also in {files[document]}")
            files[document] = source.name
            blocks[document] = _read_blocks(source, document, pages)
        elif name.rpartition("/")[2] == _POPULARITY:
            popularity = _read_popularity(source)
    if not blocks:
        raise CorpusError(f"{archive}: no AIDA_candidates/…/1; give PPRforNED's archive or folder")
    if popularity is None:
        raise CorpusError(f"{archive}: no {_POPULARITY}; fetch it again")
    order = sorted(pages.rows, key=int)
    ranked = sorted(order, key=lambda id: -pages.rows[id].in_links)
    rank = {id: i for i, id in enumerate(ranked)}
    documents = {
        document: tuple(
            replace(one, candidates=tuple(sorted(one.candidates, key=rank.__getitem__)))
            for one in blocks[document]
        )
        for document in sorted(blocks, key=int)
    }
    return PprForNed(_entities(order, pages, popularity), documents, files)


def _entities(order: Sequence[str], pages: _Pages, popularity: Mapping[str, float]) -> EntityTable:
    number = {id: i for i, id in enumerate(order)}
    sources: list[int] = []
    targets: list[int] = []
    for i, id in enumerate(order):
        links = pages.links.get(id, set()) - {id}
        linked = sorted(number[link] for link in links if link in number)
        sources += [i] * len(linked)
        targets += linked
    rows = [pages.rows[id] for id in order]
    return EntityTable(
        ids=tuple(order),
        titles=tuple(title_of_url(page.url) for page in rows),
        types=tuple(page.type for page in rows),
        in_links=np.array([page.in_links for page in rows], np.int32),
        out_links=np.array([page.out_links for page in rows], np.int32),
        popularity=np.array([popularity.get(page.url, np.nan) for page in rows], np.float32),
        link_source=np.array(sources, np.int32),
        link_target=np.array(targets, np.int32),
    )


def _read_blocks(source: SourceFile, document: str, pages: _Pages) -> list[PprMention]:
    """Return the mentions of a document's file, candidates unordered; merge its pages."""
    blocks: list[PprMention] = []
    # A page is a candidate of many mentions of a document, with the same line.
    known: dict[str, _CandidatePage] = {}
    entity: PprMention | None = None
    candidates: list[_CandidatePage] = []
    url = ""
    for n, line in enumerate(source.lines(), 1):
        if line.startswith("CANDIDATE"):
            if entity is None:
                raise source.error(1, "a CANDIDATE before the first ENTITY")
            if line not in known:
                known[line] = _read_page(source, n, line, pages)
            candidates.append(known[line])
        else:
            if entity is not None:
                blocks.append(_block(source, n, entity, url, candidates))
            entity, url = _read_entity(source, n, line, document)
            candidates = []
    if entity is not None:
        blocks.append(_block(source, n, entity, url, candidates))
    return blocks


def _read_popularity(source: SourceFile) -> dict[str, float]:
    """Return the popularity of pages by URL, without the row for NIL."""
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


def _read_entity(source: SourceFile, n: int, line: str, document: str) -> tuple[PprMention, str]:
    """Return the mention without candidates, and the URL of its gold."""
    match = _ENTITY_LINE.fullmatch(line)
    if match is None:
        raise _misfit(source, n, line, "ENTITY", _ENTITY)
    # `text` is the name by which candidates were looked up, which in every twelfth line is a
    # longer one from elsewhere in the document; `origText` is the name of the mention.
    columns = dict(zip(_ENTITY, match.groups(), strict=True))
    url = columns["url"]
    if columns["docId"] != document:
        raise source.error(n, f"docId:{columns['docId']} in the file of document {document}")
    gold = NIL if url == NIL else None
    return PprMention(text=columns["origText"], gold=gold, candidates=(), line=n), url


def _block(
    source: SourceFile, n: int, entity: PprMention, url: str, candidates: list[_CandidatePage]
) -> PprMention:
    if not candidates:
        raise source.error(n, f"no CANDIDATE follows the ENTITY of line {entity.line}")
    # The gold is the candidate with the ENTITY's URL. In the published files this finds 27,814
    # of 27,816; the other two denote pages that are not candidates.
    gold = next((page.id for page in candidates if page.url == url), entity.gold)
    return replace(entity, gold=gold, candidates=tuple({page.id for page in candidates}))


def _read_page(source: SourceFile, n: int, line: str, pages: _Pages) -> _CandidatePage:
    """Return the page of a line, and merge it into `pages`."""
    match = _CANDIDATE_LINE.fullmatch(line)
    if match is None:
        raise _misfit(source, n, line, "CANDIDATE", _CANDIDATE)
    columns = dict(zip(_CANDIDATE, match.groups(), strict=True))
    id_, url, type_ = columns["id"], columns["url"], columns["predictedType"]
    in_links, out_links = int(columns["inCount"]), int(columns["outCount"])
    type_ = "" if type_ in _NO_TYPE else type_
    page = _CandidatePage(id_, url, type_, in_links=in_links, out_links=out_links)
    known = pages.rows.setdefault(id_, page)
    if known != page:
        # Not in the published files; merged so that the order of files does not matter.
        if known.url != url:
            raise source.error(n, f"id:{id_} is {shown(url)} here, but {shown(known.url)} before")
        pages.rows[id_] = page._replace(
            type=max(known.type, page.type),
            in_links=max(known.in_links, page.in_links),
            out_links=max(known.out_links, page.out_links),
        )
    if columns["links"]:
        pages.links.setdefault(id_, set()).update(columns["links"].split(";"))
    return page


def _misfit(
    source: SourceFile, n: int, line: str, kind: str, columns: tuple[str, ...]
) -> CorpusError:
    """Return the error for a line that does not match its pattern."""
    found, *values = line.split("\t")
    if found != kind:
        return source.error(n, f"expected ENTITY or CANDIDATE, found {shown(line)}")
    for name, value in zip(columns, values, strict=False):
        if not re.fullmatch(f"{name}:{_PATTERNS.get(name, _ANY)}", value):
            return source.error(
                n, f"expected {name}:{_PATTERNS.get(name, '…')}, found {shown(value)}"
            )
    return source.error(n, f"expected {len(columns)} columns after {kind}, found {len(values)}")
