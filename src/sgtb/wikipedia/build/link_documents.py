"""Link documents: held-out pages of a dump as annotated documents.

Mentions are the links of a page such as [[Paris, Texas|Paris]]; gold is the entity of the link's
target after redirects, or NIL if the knowledge base does not have it. Links to disambiguation
pages, to the page itself and to other namespaces are not mentions.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from sgtb.core.errors import DumpError, KnowledgeBaseError, SettingsError
from sgtb.core.progress import Progress
from sgtb.core.records import NIL, Document
from sgtb.kb.build.usable_names import USABLE, anchor_use, clean, title_problem
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.native import HIDDEN
from sgtb.text.tokenization import mention_at, segment
from sgtb.wikipedia.build.build_settings import SPLITS, HoldOut, Split, title_hash
from sgtb.wikipedia.dump.chunk_pages import ChunkPages
from sgtb.wikipedia.dump.dump_reader import map_chunks, one_site, open_dump
from sgtb.wikipedia.dump.language_editions import is_disambiguation
from sgtb.wikipedia.dump.site import Site
from sgtb.wikipedia.wikitext.markup import Extract, extract

MAX_PAGES = 800  # default limit of pages of all splits together; they are held in memory
_MAX_REDIRECTS = 20  # redirects followed in a row; longer chains are cycles
_DISAMBIGUATION = ""  # target recorded for a disambiguation page


class _HeldOut(NamedTuple):
    """A held-out page; its links are start and end in the text, and the title of the target."""

    title: str
    split: Split
    text: str
    links: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True)
class LinkDocuments:
    """Documents by split, and the number of all pages held out for each split."""

    documents: Mapping[Split, tuple[Document, ...]]
    held_out: Mapping[Split, int]


def held_out_of(kb: KnowledgeBase) -> HoldOut:
    """Return the hold-out rule of a knowledge base, on which all its dumps must agree."""
    records = [origin.get("hold_out") for origin in _dump_origins(kb.state.origin)]
    record = records[0] if records else None
    if not isinstance(record, dict) or any(other != record for other in records):
        raise KnowledgeBaseError(
            f"{kb.path}: built without held-out pages, so it has counted the links to train on; "
            "build it with `sgtb kb build wiki --hold-out 0.4`"
        )
    return HoldOut(**record)


def _dump_origins(origin: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the records of the dumps that a knowledge base was built or merged from."""
    if origin.get("kind") == "merge":
        for part in origin["of"]:
            yield from _dump_origins(part)
    elif origin.get("kind") == "wiki":
        yield origin


def read_link_documents(
    dumps: Sequence[Path],
    kb: KnowledgeBase,
    max_pages: int = MAX_PAGES,
    workers: int = 1,
    progress: Progress | None = None,
) -> LinkDocuments:
    """Read the held-out pages with the lowest title hashes from the dumps of a knowledge base."""
    if isinstance(max_pages, bool) or not isinstance(max_pages, int) or max_pages < len(SPLITS):
        raise SettingsError(f"max_pages: {max_pages!r}; at least {len(SPLITS)}, one of each split")
    hold_out = held_out_of(kb)
    opened = [open_dump(path) for path in dumps]
    site = one_site(opened)
    total = sum(dump.size for dump in opened)
    kept = {split: _LowestHashes(max(1, round(max_pages * part))) for split, part in SPLITS.items()}
    with TemporaryFile("w+", encoding="utf-8", newline="\n") as redirects:
        function = partial(_extract_chunk, site=site, hold_out=hold_out)
        for outcome in map_chunks(opened, function, workers):
            pages, pairs = outcome.result
            for page in pages:
                kept[page.split].add(page)
            redirects.writelines(f"{title}\t{target}\n" for title, target in pairs)
            if progress is not None:
                progress("reading", outcome.position, total)
        chosen = [page for split in SPLITS for page in kept[split].pages()]
        if not chosen:
            raise DumpError(
                f"{', '.join(map(str, dumps))}: none of its articles is among the pages held out "
                f"of {kb.path} ({hold_out.share:.0%}); was it built from this dump?"
            )
        targets = {target for page in chosen for _, _, target in page.links}
        gold = _resolve(targets, kb, redirects)
    found = {
        split: tuple(_document(page, gold) for page in chosen if page.split == split)
        for split in SPLITS
    }
    return LinkDocuments(found, {split: kept[split].seen for split in SPLITS})


class _LowestHashes:
    """Keeps the pages with the lowest title hashes; the first of pages with the same title."""

    def __init__(self, max_pages: int) -> None:
        self._max_pages = max_pages
        self._heap: list[tuple[float, str]] = []  # the highest hash on top
        self._pages: dict[str, _HeldOut] = {}
        self.seen = 0

    def add(self, page: _HeldOut) -> None:
        if page.title in self._pages:
            return
        self.seen += 1
        self._pages[page.title] = page
        heapq.heappush(self._heap, (-title_hash(page.title), page.title))
        if len(self._heap) > self._max_pages:
            del self._pages[heapq.heappop(self._heap)[1]]

    def pages(self) -> list[_HeldOut]:
        return [self._pages[title] for title in sorted(self._pages)]


def _extract_chunk(
    chunk: ChunkPages, site: Site, hold_out: HoldOut
) -> tuple[list[_HeldOut], list[tuple[str, str]]]:
    """Return held-out articles, and title and target of redirects and disambiguation pages."""
    pages: list[_HeldOut] = []
    redirects: list[tuple[str, str]] = []
    for page in chunk.pages:
        title = clean(page.title)
        if page.namespace != 0 or title_problem(title):
            continue
        if page.redirect is not None:
            redirects.append((title, clean(page.redirect)))
        elif is_disambiguation(title, page.text):
            redirects.append((title, _DISAMBIGUATION))
        elif (split := hold_out.split(title)) is not None:
            shown = extract(page.text, site.hidden)
            links = tuple(_links(shown, title, site))
            pages.append(_HeldOut(title, split, shown.text, links))
    return pages, redirects


def _links(shown: Extract, own: str, site: Site) -> Iterable[tuple[int, int, str]]:
    """Yield the usable links of a text in order, without overlaps."""
    end = 0
    in_text = (link for link in shown.links if link.start >= 0 and not link.flags & HIDDEN)
    for link in sorted(in_text, key=lambda link: (link.start, link.end)):
        target = site.title(link.target)
        if target is None or link.start < end or anchor_use(clean(link.anchor))[0] != USABLE:
            continue
        target = clean(target)
        if target != own and not title_problem(target):
            yield link.start, link.end, target
            end = link.end


def _resolve(titles: set[str], kb: KnowledgeBase, redirects: IO[str]) -> dict[str, str | None]:
    """Return the gold of titles: an entity's id, NIL, or None for a disambiguation page."""
    known = {title for title in titles if kb.number(title) is not None}
    ends = {title: title for title in titles - known}
    for _ in range(_MAX_REDIRECTS):
        unresolved = set(ends.values()) - known - {_DISAMBIGUATION}
        redirects.seek(0)
        steps: dict[str, str] = {}
        for line in redirects:
            title, target = line[:-1].split("\t")
            if title in unresolved:
                steps.setdefault(title, target)
        if not steps:
            break
        ends = {title: steps.get(end, end) for title, end in ends.items()}
        known |= {end for end in steps.values() if end and kb.number(end) is not None}
    gold: dict[str, str | None] = {title: title for title in known & titles}
    for title, end in ends.items():
        gold[title] = None if end == _DISAMBIGUATION else end if end in known else NIL
    return gold


def _document(page: _HeldOut, gold_of: Mapping[str, str | None]) -> Document:
    tokens, lines = segment(page.text)
    mentions = []
    for start, end, target in page.links:
        gold = gold_of[target]
        title = target if gold == NIL else gold
        mention = mention_at(page.text, tokens, start, end, gold=gold, title=title)
        if gold is not None and gold != page.title and mention is not None:
            mentions.append(mention)
    return Document(page.title, page.text, tokens, lines, tuple(mentions), split=page.split)
