"""Rows of pages: shards that a worker process writes for the pages of a chunk.

    pages-N.tsv   place, kind, title, target, type, description, named, bare
    links-N.tsv   place, ordinal, line, word, target, anchor, use, hash
    names-N.tsv   place, kind, name, target
    text-N.txt    the text of articles in normal form

The place of a page is its index among the chunk's pages of the main namespace. N is the number of
the chunk. A worker does not know it; it writes files under a temporary name, which are renamed
later. The page number (N << PAGE_BITS) + place is then independent of the number of processes.

The text has an entry for every page, empty if it is not an article; lines end with \\n, pages with
\\f. Anchors that are not part of the text, such as in templates, follow after \\v, one a line.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from uuid import uuid4

from sgtb.kb.build.usable_names import (
    USABLE,
    anchor_use,
    bare_title,
    clean,
    is_name,
    title_names,
    title_problem,
)  # fmt: skip
from sgtb.native import HIDDEN, IN_LIST
from sgtb.text.normalization import normal_lines, normal_name
from sgtb.wikipedia.build.build_report import DroppedPage
from sgtb.wikipedia.build.build_settings import HoldOut
from sgtb.wikipedia.build.page_counters import name_hashes
from sgtb.wikipedia.dump.chunk_pages import ChunkPages
from sgtb.wikipedia.dump.language_editions import is_disambiguation
from sgtb.wikipedia.dump.page_xml import DumpPage
from sgtb.wikipedia.dump.site import Site
from sgtb.wikipedia.wikitext.markup import Extract, WikiLink, extract, lead
from sgtb.wikipedia.wikitext.page_types import page_type

KINDS = ("pages", "links", "names", "text")
ARTICLE, DISAMBIGUATION, REDIRECT = 0, 1, 2
ENTRY, BOLD = 2, 3  # kinds of stated names; titles are of kind 0, redirects of kind 1
PAGE_COLUMNS = {
    "place": "INTEGER", "kind": "TINYINT", "title": "VARCHAR", "target": "VARCHAR",
    "type": "VARCHAR", "description": "VARCHAR", "named": "TINYINT", "bare": "VARCHAR",
}  # fmt: skip
LINK_COLUMNS = {
    "place": "INTEGER", "ordinal": "INTEGER", "line": "INTEGER", "word": "INTEGER",
    "target": "VARCHAR", "anchor": "VARCHAR", "use": "TINYINT", "hash": "UBIGINT",
}  # fmt: skip
NAME_COLUMNS = {"place": "INTEGER", "kind": "TINYINT", "name": "VARCHAR", "target": "VARCHAR"}
END_OF_PAGE, ASIDE = "\f", "\v"


@dataclass
class ChunkCounts:
    """Counts of a chunk."""

    text_bytes: int = 0
    pages: int = 0
    articles: int = 0
    redirects: int = 0
    disambiguation: int = 0
    other_namespaces: int = 0
    links: int = 0
    links_other: int = 0
    links_own: int = 0
    links_listed: int = 0
    links_held_out: int = 0
    held_out: int = 0
    names_unusable: int = 0


@dataclass(frozen=True)
class Shards:
    """The files of a chunk and its counts."""

    name: str  # common part of the file names
    counts: ChunkCounts
    unusable: tuple[DroppedPage, ...]  # pages without a usable title; lines from the chunk's first

    def rename(self, folder: Path, number: int) -> None:
        """Rename the files by the number of their chunk."""
        for kind in KINDS:
            os.replace(shard(folder, kind, self.name), shard(folder, kind, number))


def shard(folder: Path, kind: str, name: str | int) -> Path:
    """Return the path of a shard, by its number or by a temporary name."""
    name = f"{name:06d}" if isinstance(name, int) else name
    return folder / f"{kind}-{name}.{'txt' if kind == 'text' else 'tsv'}"


def write_rows(
    chunk: ChunkPages, site: Site, folder: Path, count_words: bool, hold_out: HoldOut
) -> Shards:
    """Write the shards of a chunk; `count_words` records where links end, for vectors."""
    rows = _Rows(chunk.file, site, count_words, hold_out)
    for page in chunk.pages:
        rows.add(page)
    name = f"new-{uuid4().hex}"  # workers may be on several machines
    hashes = name_hashes(rows.anchors).tolist()
    links = ((*row, hash) for row, hash in zip(rows.links, hashes, strict=True))
    for kind, table in (("pages", rows.pages), ("links", links), ("names", rows.names)):
        text = "".join("\t".join(map(str, row)) + "\n" for row in table)
        shard(folder, kind, name).write_bytes(text.encode())
    shard(folder, "text", name).write_bytes("".join(rows.texts).encode())
    return Shards(name, rows.counts, tuple(rows.unusable))


class _Rows:
    """Collects the rows of a chunk."""

    def __init__(self, file: str, site: Site, count_words: bool, hold_out: HoldOut) -> None:
        self._file, self._site, self._count_words = file, site, count_words
        self._hold_out = hold_out
        self._place = 0
        self.counts = ChunkCounts()
        self.unusable: list[DroppedPage] = []
        self.pages: list[tuple[object, ...]] = []
        self.links: list[tuple[object, ...]] = []
        self.names: list[tuple[object, ...]] = []
        self.texts: list[str] = []
        self.anchors: list[str] = []  # normal forms of the anchors of `links`
        self._titles: dict[str, str | None] = {}
        self._known_anchors: dict[str, tuple[str, int, str]] = {}

    def add(self, page: DumpPage) -> None:
        self.counts.pages += 1
        self.counts.text_bytes += len(page.text.encode("utf-8", "replace"))
        if page.namespace != 0:
            self.counts.other_namespaces += 1
            return
        title = clean(page.title)
        problem = title_problem(title)
        if problem:
            self.unusable.append(DroppedPage(self._file, page.line, title, problem))
            return
        if page.redirect is not None:
            self.counts.redirects += 1
            self._page(REDIRECT, title, clean(page.redirect))
        elif is_disambiguation(title, page.text):
            self.counts.disambiguation += 1
            self._disambiguation(extract(page.text, self._site.hidden), title)
        else:
            self.counts.articles += 1
            self._article(extract(page.text, self._site.hidden), title, page.text)
        self._place += 1

    def _page(
        self, kind: int, title: str, target: str = "", type: str = "", description: str = ""
    ) -> None:
        named, bare = title_names(title)
        self.counts.names_unusable += not named
        self.pages.append(
            (self._place, kind, title, target, type, clean(description), int(named), bare)
        )
        if kind != ARTICLE:
            self.texts.append(END_OF_PAGE)

    def _disambiguation(self, shown: Extract, title: str) -> None:
        """Add a disambiguation page; the first link of each list item is an entry."""
        self._page(DISAMBIGUATION, title)
        self.counts.links += len(shown.links)
        self.counts.links_listed += len(shown.links)
        name = bare_title(title) or title
        seen = set()
        for link in shown.links:
            if link.flags & IN_LIST and not link.flags & HIDDEN and link.line not in seen:
                seen.add(link.line)
                target = self._title(link.target)
                if target is not None:
                    self._name(ENTRY, name, target)

    def _article(self, shown: Extract, title: str, wikitext: str) -> None:
        first = lead(shown)
        categories = [
            name for link in shown.links if link.flags & HIDDEN
            if (name := self._site.category(link.target)) is not None
        ]  # fmt: skip
        type = page_type(title, wikitext, categories)
        self._page(ARTICLE, title, type=type, description=first.description)
        for name in first.names:
            self._name(BOLD, name, "")
        if self._hold_out.split(title) is None:
            self._text(shown)
        else:
            self.counts.held_out += 1
            self.counts.links += len(shown.links)
            self.counts.links_held_out += len(shown.links)
        self.texts.append(END_OF_PAGE)

    def _text(self, shown: Extract) -> None:
        """Add the text and the links of an article."""
        self.texts.append(normal_lines(shown.text))
        lines = shown.text.split("\n")
        starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
        self.counts.links += len(shown.links)
        aside = []
        for ordinal, link in enumerate(shown.links):
            target = self._title(link.target)
            if target is None:
                own = link.target.lstrip().startswith("#")
                self.counts.links_own += own
                self.counts.links_other += not own
                continue
            anchor, use, name = self._anchor(link.anchor)
            if use == USABLE and link.start < 0:
                aside.append(name)
            self.anchors.append(name)
            word = self._word(link, lines, starts)
            self.links.append((self._place, ordinal, link.line, word, target, anchor, use))
        if aside:
            self.texts += [ASIDE, "\n", *(f"{name}\n" for name in aside)]

    def _word(self, link: WikiLink, lines: Sequence[str], starts: Sequence[int]) -> int:
        """Return the number of words of a line up to the link's end; -1: not in the text."""
        if not self._count_words or link.start < 0:
            return -1
        before = lines[link.line][: link.end - starts[link.line]]
        return normal_name(before).count(" ") + 1

    def _anchor(self, shown: str) -> tuple[str, int, str]:
        """Return the cleaned anchor ("" if unusable), its use, and its normal form."""
        if shown not in self._known_anchors:
            anchor = clean(shown)
            use, name = anchor_use(anchor)
            self._known_anchors[shown] = (anchor if use == USABLE else "", use, name)
        return self._known_anchors[shown]

    def _name(self, kind: int, name: str, target: str) -> None:
        name = clean(name)
        if is_name(name):
            self.names.append((self._place, kind, name, target))
        else:
            self.counts.names_unusable += 1

    def _title(self, target: str) -> str | None:
        """Return the normal title of a target; None if no entity can have it."""
        if target not in self._titles:
            title = clean(self._site.title(target) or "")
            self._titles[target] = None if title_problem(title) else title
        return self._titles[target]
