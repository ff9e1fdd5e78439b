"""Link documents: pages held out of a knowledge base, whose own links say what names mean.

Nobody has annotated them for linkers, but their authors have written [[Paris, Texas|Paris]]. The
text is what a reader sees, the mentions are its links, and what a link leads to is the gold: an
entity of the knowledge base, perhaps over redirects, or NIL where it has none of that title.
Links to lists of meanings, to the page itself and to other namespaces are no mentions.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from sgtb.core.errors import DumpError, KnowledgeBaseError, SettingsError
from sgtb.core.progress import Progress
from sgtb.core.records import NIL, Document, Mention
from sgtb.kb.build.usable_names import USABLE, anchor_use, clean, title_problem
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.text.tokenization import sentences, tokenize, touched_tokens
from sgtb.wikipedia.build.dump_workers import one_site
from sgtb.wikipedia.build.hold_out import SPLITS, HoldOut, Split, place_of
from sgtb.wikipedia.dump.dump_reader import ChunkPages, Page, map_chunks, open_dump
from sgtb.wikipedia.dump.language_editions import is_disambiguation
from sgtb.wikipedia.dump.site import Site
from sgtb.wikipedia.wikitext.markup import HIDDEN, Extract, extract

MOST_PAGES = 800
"""Pages taken, of all splits together: they are held in memory, and so is what is made of them."""
_MOST_STEPS = 20
"""Redirects followed one after the other; who goes on longer goes in circles."""
_LIST = ""
"""What stands for a list of meanings, as the target of a redirect."""


class _Shown(NamedTuple):
    """A link in a text, and the title it leads to."""

    start: int
    end: int
    target: str


class _HeldOut(NamedTuple):
    """A page that is held out, as a worker process sends it."""

    title: str
    split: Split
    text: str
    links: tuple[_Shown, ...]


class _Taken(NamedTuple):
    """What a worker takes from a chunk: pages, and where other titles lead."""

    pages: list[_HeldOut]
    leads: list[tuple[str, str]]


@dataclass(frozen=True)
class LinkDocuments:
    """Documents by split, and how many pages were held out for each, those not taken included."""

    documents: Mapping[Split, tuple[Document, ...]]
    held_out: Mapping[Split, int]


def held_out_of(kb: KnowledgeBase) -> HoldOut:
    """Return which pages a knowledge base has not counted; without any, raise."""
    record = kb.state.origin.get("hold_out")
    if not isinstance(record, dict):
        raise KnowledgeBaseError(
            f"{kb.path}: no pages were held out when it was built, so it has counted the very "
            "links to learn from; build it with `sgtb kb build wiki --hold-out 0.4`"
        )
    return HoldOut(**record)


def read_link_documents(
    dumps: Sequence[Path],
    kb: KnowledgeBase,
    most: int = MOST_PAGES,
    workers: int = 1,
    progress: Progress | None = None,
) -> LinkDocuments:
    """Read the pages that a knowledge base, built from the same dumps, has not counted.

    most     pages to take; of more, those that the hash of their titles puts first
    workers  processes that read pages
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < len(SPLITS):
        raise SettingsError(f"pages to take: {most!r}; {len(SPLITS)} at least, one of each split")
    hold_out = held_out_of(kb)
    opened = [open_dump(path) for path in dumps]
    site = one_site(opened)
    total = sum(dump.size for dump in opened)
    kept = {split: _First(max(1, round(most * part))) for split, part in SPLITS.items()}
    with TemporaryFile("w+", encoding="utf-8", newline="\n") as leads:
        function = partial(_take, site=site, hold_out=hold_out)
        for outcome in map_chunks(opened, function, workers):
            for page in outcome.result.pages:
                kept[page.split].add(page)
            leads.writelines(f"{title}\t{target}\n" for title, target in outcome.result.leads)
            if progress is not None:
                progress("reading", outcome.position, total)
        chosen = [page for split in SPLITS for page in kept[split].pages()]
        if not chosen:
            raise DumpError(
                f"{', '.join(map(str, dumps))}: none of its articles is among the pages held out "
                f"of {kb.path} ({hold_out.share:.0%}); was it built from this dump?"
            )
        wanted = {link.target for page in chosen for link in page.links}
        meant = _follow(wanted, kb, leads)
    found: dict[Split, list[Document]] = {split: [] for split in SPLITS}
    for page in chosen:
        found[page.split].append(_document(page, meant))
    return LinkDocuments(
        {split: tuple(documents) for split, documents in found.items()},
        {split: kept[split].seen for split in SPLITS},
    )


class _First:
    """Keeps the pages whose titles have the first places; of a title that comes twice, one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, str]] = []  # the last place on top
        self._pages: dict[str, _HeldOut] = {}
        self.seen = 0

    def add(self, page: _HeldOut) -> None:
        if page.title in self._pages:
            return
        self.seen += 1
        self._pages[page.title] = page
        heapq.heappush(self._heap, (-place_of(page.title), page.title))
        if len(self._heap) > self._most:
            del self._pages[heapq.heappop(self._heap)[1]]

    def pages(self) -> list[_HeldOut]:
        return [self._pages[title] for title in sorted(self._pages)]


def _take(chunk: ChunkPages, site: Site, hold_out: HoldOut) -> _Taken:
    """Take held-out articles, redirects and lists of meanings."""
    taken = _Taken([], [])
    for page in chunk.pages:
        title = clean(page.title)
        if page.namespace != 0 or title_problem(title):
            continue
        if page.redirect is not None:
            taken.leads.append((title, clean(page.redirect)))
        elif is_disambiguation(title, page.text):
            taken.leads.append((title, _LIST))
        elif (split := hold_out.split(title)) is not None:
            taken.pages.append(_held_out(page, title, split, site))
    return taken


def _held_out(page: Page, title: str, split: Split, site: Site) -> _HeldOut:
    shown = extract(page.text, site.hidden)
    return _HeldOut(title, split, shown.text, tuple(_links(shown, title, site)))


def _links(shown: Extract, own: str, site: Site) -> Iterable[_Shown]:
    """Yield the links that stand in the text, one after the other."""
    end = 0
    in_text = (link for link in shown.links if link.start >= 0 and not link.flags & HIDDEN)
    for link in sorted(in_text, key=lambda link: (link.start, link.end)):
        target = site.title(link.target)
        if target is None or link.start < end or anchor_use(clean(link.anchor))[0] != USABLE:
            continue
        target = clean(target)
        if target != own and not title_problem(target):
            yield _Shown(link.start, link.end, target)
            end = link.end


def _follow(wanted: set[str], kb: KnowledgeBase, leads: IO[str]) -> dict[str, str | None]:
    """Return what titles mean: an entity's id, NIL, or None for a list of meanings."""
    known = {title for title in wanted if kb.number(title) is not None}
    ends = {title: title for title in wanted - known}
    for _ in range(_MOST_STEPS):
        asked = set(ends.values()) - known - {_LIST}
        leads.seek(0)
        steps: dict[str, str] = {}
        for line in leads:
            title, target = line[:-1].split("\t")
            if title in asked:
                steps.setdefault(title, target)
        if not steps:
            break
        ends = {title: steps.get(end, end) for title, end in ends.items()}
        known |= {end for end in ends.values() if end != _LIST and kb.number(end) is not None}
    meant: dict[str, str | None] = {title: title for title in known & wanted}
    for title, end in ends.items():
        meant[title] = None if end == _LIST else end if end in known else NIL
    return meant


def _document(page: _HeldOut, meant: Mapping[str, str | None]) -> Document:
    tokens = tokenize(page.text)
    mentions = []
    for start, end, target in page.links:
        gold = meant[target]
        first, stop = touched_tokens(tokens, start, end)
        if gold is not None and gold != page.title and first < stop:
            title = target if gold == NIL else gold
            mentions.append(Mention(start, end, first, stop, page.text[start:end], gold, title))
    return Document(
        page.title, page.text, tokens, sentences(page.text, tokens), tuple(mentions), page.split
    )
