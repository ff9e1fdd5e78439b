"""PPRforNED: the candidates that Pershina et al. (2015) published for AIDA, and their entities.

There is a file per document of AIDA, which lists for each mention the right candidate first. That
order ends in this module. Candidates come out with the most in-links first, ties to the lower id,
and nothing that comes later can know how the file had them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sgtb.core.entities import EntityTable
from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL, Document, Mention
from sgtb.formats.codecs.ppr_lines import Block, Pages, read_blocks, read_popularity
from sgtb.formats.corpus_source import read_members, shown
from sgtb.formats.corpus_titles import title_of_url

_DOCUMENT = re.compile(r"(?:.*/)?AIDA_candidates/[^/]+/([1-9][0-9]{0,8})")
_POPULARITY = "Freebase_popularity"

_MAX_WITHOUT_LIST = 1
"""How many linked mentions of a document may lack candidates: document 370 has one such."""


@dataclass(frozen=True, slots=True)
class PprMention:
    """A mention with all its candidates.

    text            the name as it stands in the document
    gold            the candidate that the file means, by its url; NIL: none in the knowledge
                    base; None: a page that is no candidate
    candidates      ids, most in-links first, ties to the lower id
    line            where it stands in the document's file
    predicted_type  a coarse type, "" where unknown, as it is throughout the published files
    """

    text: str
    gold: str | None
    candidates: tuple[str, ...]
    line: int
    predicted_type: str = ""


@dataclass(frozen=True)
class PprForNed:
    """All of PPRforNED.

    entities   every page that is a candidate anywhere, by the number of the page
    documents  the mentions of each document, by its number in AIDA
    files      where each document was read from, for messages
    """

    entities: EntityTable
    documents: Mapping[str, tuple[PprMention, ...]]
    files: Mapping[str, str]


def read_pprforned(archive: Path) -> PprForNed:
    """Read `pprforned.tar.xz`, or the folder it unpacks to."""
    pages = Pages({}, {})
    blocks: dict[str, list[Block]] = {}
    files: dict[str, str] = {}
    popularity: dict[str, float] | None = None
    for name, source in read_members(archive):
        if match := _DOCUMENT.fullmatch(name):
            document = match[1]
            if document in files:
                raise source.error(1, f"document {document} is also in {files[document]}")
            files[document] = source.name
            blocks[document] = read_blocks(source, document, pages)
        elif name.rpartition("/")[2] == _POPULARITY:
            popularity = read_popularity(source)
    if not blocks:
        raise CorpusError(f"{archive}: no AIDA_candidates/…/1 in it, so it is not PPRforNED")
    if popularity is None:
        raise CorpusError(f"{archive}: no {_POPULARITY} in it; fetch it again")
    order = sorted(pages.rows, key=int)
    ranked = sorted(order, key=lambda id: -pages.rows[id].in_links)
    rank = {id: i for i, id in enumerate(ranked)}
    documents = {
        document: tuple(_mention(block, rank) for block in blocks[document])
        for document in sorted(blocks, key=int)
    }
    return PprForNed(_entities(order, pages, popularity), documents, files)


def with_candidates(documents: Sequence[Document], ppr: PprForNed) -> tuple[Document, ...]:
    """Return AIDA's documents with the candidates of PPRforNED.

    Linked mentions get their candidates and, as gold, the id of the one that is right. Mentions out
    of the knowledge base get theirs where PPRforNED lists them, which is for about a third.

    A gold may stay outside the candidates: that of a mention without a list, which has none, and
    that of a mention whose list lacks it.
    """
    return tuple(replace(document, mentions=tuple(_join(document, ppr))) for document in documents)


def _join(document: Document, ppr: PprForNed) -> Iterator[Mention]:
    """Yield the mentions of a document with candidates.

    PPRforNED leaves out mentions but never changes their order, so its list is matched name by
    name from the start. It has no spaces where AIDA's tokens have them in `Vessa 's`.
    """
    if document.id not in ppr.documents:
        raise CorpusError(f"PPRforNED has no document {shown(document.id)}")
    file = ppr.files[document.id]
    listed = iter(ppr.documents[document.id])
    entry = next(listed, None)
    lacking = 0
    for mention in document.mentions:
        if entry is not None and _same(mention, entry):
            yield replace(mention, gold=_gold(mention, entry), candidates=entry.candidates)
            entry = next(listed, None)
        elif not mention.in_kb:
            yield mention
        else:
            lacking += 1
            if lacking > _MAX_WITHOUT_LIST:
                raise CorpusError(
                    f"{file}, line {entry.line if entry else 1}: no candidates for "
                    f"{shown(mention.text)}, token {mention.first} of AIDA's document {document.id}"
                )
            yield replace(mention, candidates=())
    if entry is not None:
        raise CorpusError(
            f"{file}, line {entry.line}: {shown(entry.text)} is no mention, or not in this "
            f"order, of AIDA's document {document.id}"
        )


def _same(mention: Mention, entry: PprMention) -> bool:
    return mention.in_kb == (entry.gold != NIL) and (
        mention.text == entry.text or "".join(mention.text.split()) == "".join(entry.text.split())
    )


def _gold(mention: Mention, entry: PprMention) -> str | None:
    """Return the id of the right candidate.

    Page numbers outlive titles. If AIDA's number is a candidate, that is the one, even where the
    file means another by its url: in 54 mentions the title has since become that of a
    disambiguation page or of someone else. If it is none, the page was merged into another, or made
    anew, and the url says which: in 259 mentions. In 2 the url is no help either.
    """
    if mention.gold in entry.candidates or entry.gold is None:
        return mention.gold
    return entry.gold


def _mention(block: Block, rank: Mapping[str, int]) -> PprMention:
    candidates = tuple(sorted(block.candidates, key=rank.__getitem__))
    return PprMention(block.text, block.gold, candidates, block.line, block.type)


def _entities(order: Sequence[str], pages: Pages, popularity: Mapping[str, float]) -> EntityTable:
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
