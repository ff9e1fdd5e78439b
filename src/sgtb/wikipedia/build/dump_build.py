"""Wiki builds: a knowledge base from Wikipedia dumps.

    dumps -> rows of pages in shards -> DuckDB: redirects, names, links, pairs -> writer

Worker processes read pages and write shards; everything that needs more than one page is counted
in a DuckDB file that spills to disk. Memory does not depend on the size of the dumps, and the
result does not depend on the number of workers.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from sgtb.core.errors import DumpError, import_extra
from sgtb.core.progress import Progress, silent
from sgtb.core.workers import TaskPool
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.kb.build.usable_names import EMPTY, LONG, URL
from sgtb.text.vector_file import VectorFile, open_vectors
from sgtb.wikipedia.build.build_report import (
    DroppedPage,
    LinkCounts,
    NameCounts,
    PageCounts,
    VectorCounts,
    WikiReport,
)  # fmt: skip
from sgtb.wikipedia.build.build_settings import WikiSettings
from sgtb.wikipedia.build.kb_tables import MAX_DROPPED, TableBuild, build_folder
from sgtb.wikipedia.build.page_rows import (
    ARTICLE,
    DISAMBIGUATION,
    REDIRECT,
    ChunkCounts,
    shard,
    write_rows,
)  # fmt: skip
from sgtb.wikipedia.build.side_files import PRIORS, TYPES, VIEWS, SideFiles
from sgtb.wikipedia.build.train_vectors import copy_vectors
from sgtb.wikipedia.build.wiki_counts import LEFT_OUT, LISTED, MISSING, OWN, RESOLVED, WikiCounts
from sgtb.wikipedia.dump.dump_reader import Dump, map_chunks, one_site, open_dump
from sgtb.wikipedia.dump.site import Site

__all__ = ["WikiReport", "WikiSettings", "build_wiki"]
_CHUNK = 8 << 20


def build_wiki(
    dumps: Sequence[Path],
    path: Path,
    settings: WikiSettings | None = None,
    progress: Progress | None = None,
    pool: TaskPool | None = None,
) -> WikiReport:
    """Build a knowledge base in the folder `path` from dumps of one wiki.

    A knowledge base that is already there stays valid until the end, and after an error.

    pool  reads the dumps instead of own processes; its workers see the dumps and the folder
          under the same paths
    """
    begin = time.monotonic()
    settings = settings or WikiSettings()
    opened = [open_dump(dump) for dump in dumps]
    site = one_site(opened)
    # Packages and the vector file are checked before hours of work.
    for package in ("duckdb", "gensim") if settings.vectors == "train" else ("duckdb",):
        import_extra(package, "wiki", "building from a dump needs")
    vectors = None if settings.vectors in ("none", "train") else open_vectors(settings.vectors)
    with (
        build_folder(path) as folder,
        closing(_Build(opened, site, settings, vectors, folder, progress or silent, pool)) as build,
    ):
        return build.run(begin)


class _Build(TableBuild):
    """The stages of a build."""

    def __init__(
        self, dumps: Sequence[Dump], site: Site, settings: WikiSettings,
        vectors: VectorFile | None, folder: Path, progress: Progress, pool: TaskPool | None,
    ) -> None:  # fmt: skip
        super().__init__(folder, settings, progress)
        self._pool = pool
        self._dumps, self._site, self._settings, self._vectors = dumps, site, settings, vectors
        self._types = () if settings.types is None else (settings.types,)
        self._chunks = 0  # number of shards of each kind
        self._counts = ChunkCounts()  # sums over all chunks
        self._dropped: list[DroppedPage] = []  # the first pages that were left out
        self._dropped_count = 0
        self._unusable = 0  # of these, well-formed pages whose title cannot be an entity's

    def run(self, begin: float) -> WikiReport:
        """Run all stages; `begin` is the time at which the build started."""
        settings = self._settings
        side_files = SideFiles(self._work, self._site)
        side_files.read(self._types, settings.priors, settings.pageviews)
        self._read()
        if not self._counts.articles:
            paths = ", ".join(str(dump.path) for dump in self._dumps)
            raise DumpError(f"{paths}: no articles found; give a pages-articles dump")
        counts = WikiCounts(self._db, self._work)
        self._resolve(counts)
        self._delete_shards("links")
        views = side_files.load(self._db, VIEWS, settings.pageviews)
        if views:
            counts.sum_views(VIEWS)
        else:
            counts.count_linking_pages()
        types = side_files.load(self._db, TYPES, self._types)
        if types:
            counts.set_types(TYPES)
        priors = side_files.load(self._db, PRIORS, settings.priors)
        spellings = counts.count_names(PRIORS if priors else "")
        self._delete_shards("pages", "names")
        writer, pairs, omitted = self._write_tables(
            settings.sources, self._dimensions, self._origin()
        )
        texts = [shard(self._work, "text", chunk) for chunk in range(self._chunks)]
        vectors = self._write_vectors(writer, texts)
        state = writer.finish(self._name_pages(writer, texts, bool(counts.repeated)))
        names = NameCounts(
            state.names, spellings - omitted, spellings_beyond=omitted,
            anchors_empty=counts.uses[EMPTY], anchors_long=counts.uses[LONG],
            anchors_urls=counts.uses[URL], names_unusable=self._counts.names_unusable,
        )  # fmt: skip
        return WikiReport(
            files=tuple(str(dump.path) for dump in self._dumps),
            file_bytes=sum(dump.size for dump in self._dumps), text_bytes=self._counts.text_bytes,
            entities=state.entities, red_entities=counts.red_entities,
            pages=self._page_counts(counts.repeated), redirects=counts.redirect_counts(),
            links=self._link_counts(counts.fates), entity_links=counts.edges, pairs=pairs,
            held_out=self._counts.held_out, names=names, pageviews=views, types=types,
            priors=priors, vectors=vectors, dropped=tuple(self._dropped),
            dropped_beyond=self._dropped_count - len(self._dropped),
            seconds=time.monotonic() - begin,
        )  # fmt: skip

    def _read(self) -> None:
        """Write the shards of all pages, numbered in the order of the pages."""
        settings = self._settings
        function = partial(
            write_rows, site=self._site, folder=self._work, hold_out=settings.hold_out,
            count_words=settings.vectors == "train",
        )  # fmt: skip
        total = sum(dump.size for dump in self._dumps)
        sums: Counter[str] = Counter()
        for outcome in map_chunks(
            self._dumps, function, settings.workers, _CHUNK, settings.strict, self._pool
        ):
            shards = outcome.result
            shards.rename(self._work, outcome.number)
            self._chunks = outcome.number + 1
            sums.update(asdict(shards.counts))
            found = [DroppedPage(d.file, d.line, d.title, d.reason) for d in outcome.dropped]
            before = outcome.first_line - 1
            found += [replace(page, line=page.line + before) for page in shards.unusable]
            self._dropped_count += len(found)
            self._unusable += len(shards.unusable)
            self._dropped += found[: MAX_DROPPED - len(self._dropped)]
            self._progress("reading", outcome.position, total)
        self._counts = ChunkCounts(**sums)

    def _delete_shards(self, *kinds: str) -> None:
        """Free the disk space of shards that are no longer needed."""
        for kind in kinds:
            for chunk in range(self._chunks):
                shard(self._work, kind, chunk).unlink()

    def _resolve(self, counts: WikiCounts) -> None:
        """Resolve titles, redirects and links."""
        make_entities = partial(counts.make_entities, self._settings.red_links)
        stages: tuple[Callable[[], None], ...] = (
            counts.load_pages, counts.follow_redirects, make_entities, counts.resolve_links,
            counts.count_links,
        )  # fmt: skip
        self._progress("counting", 0, len(stages))
        for done, stage in enumerate(stages, 1):
            stage()
            self._progress("counting", done, len(stages))

    @property
    def _dimensions(self) -> int:
        if self._vectors is not None:
            return self._vectors.dimensions
        return self._settings.dimensions if self._settings.vectors == "train" else 0

    def _origin(self) -> dict[str, Any]:
        """Return the record of origin that is stored in the knowledge base."""
        settings, counts = self._settings, self._counts
        hold_out = {"hold_out": asdict(settings.hold_out)} if settings.hold_out.share else {}
        return {
            "kind": "wiki",
            "wiki": self._site.dbname,
            "language": self._site.language,
            "dumps": [dump.path.name for dump in self._dumps],
            "pages": counts.pages,
            "articles": counts.articles,
            "redirects": counts.redirects,
            "popularity": "page views" if settings.pageviews else "pages that link",
            "vectors": self._vectors.path.name if self._vectors else str(settings.vectors),
            "red_links": settings.red_links,
            "min_together": settings.min_together,
            **hold_out,
        }

    def _write_vectors(self, writer: KbWriter, texts: Sequence[Path]) -> VectorCounts:
        if self._vectors is not None:
            path, title = self._work / "vectors.f4", self._site.title
            return copy_vectors(self._vectors, writer, self._db, path, title, self._progress)
        if self._settings.vectors == "train":
            return self._train_vectors(writer, texts)
        return VectorCounts(0, 0, 0, 0)

    def _page_counts(self, repeated: Counter[int]) -> PageCounts:
        """Return the pages by kind, without repeated ones."""
        counts = self._counts
        return PageCounts(
            pages=counts.pages + self._dropped_count - self._unusable,
            articles=counts.articles - repeated[ARTICLE],
            redirects=counts.redirects - repeated[REDIRECT],
            disambiguation=counts.disambiguation - repeated[DISAMBIGUATION],
            other_namespaces=counts.other_namespaces, dropped=self._dropped_count,
            repeated=repeated.total(),
        )  # fmt: skip

    def _link_counts(self, fates: Counter[int]) -> LinkCounts:
        counts = self._counts
        return LinkCounts(
            found=counts.links, resolved=fates[RESOLVED], missing=fates[MISSING],
            disambiguation=fates[LISTED], other_namespaces=counts.links_other,
            own_page=counts.links_own + fates[OWN], listed=counts.links_listed,
            held_out=counts.links_held_out, left_out=fates[LEFT_OUT],
        )  # fmt: skip
