"""PPRforNED: the candidates of Pershina et al. (2015) for AIDA, and their entities.

The files list the right candidate of each mention first. To avoid leaking it, candidates are
sorted here by in-links, ties to the lower id.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sgtb.core.entities import EntityTable
from sgtb.core.errors import CorpusError
from sgtb.formats.codecs.ppr_lines import Pages, PprMention, read_blocks, read_popularity
from sgtb.formats.corpus_source import read_members
from sgtb.formats.corpus_titles import title_of_url

_DOCUMENT = re.compile(r"(?:.*/)?AIDA_candidates/[^/]+/([1-9][0-9]{0,8})")
_POPULARITY = "Freebase_popularity"


@dataclass(frozen=True)
class PprForNed:
    """All of PPRforNED.

    entities   all candidates, by page number
    documents  mentions by document number in AIDA
    files      source of each document, for messages
    """

    entities: EntityTable
    documents: Mapping[str, tuple[PprMention, ...]]
    files: Mapping[str, str]


def read_pprforned(archive: Path) -> PprForNed:
    """Read `pprforned.tar.xz` or its extracted folder."""
    pages = Pages({}, {})
    blocks: dict[str, list[PprMention]] = {}
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
