"""Wiki builds: a knowledge base from Wikipedia dumps.

    dumps -> rows of pages in shards -> DuckDB: redirects, names, links, pairs -> writer

Worker processes read pages and write shards; everything that needs more than one page is counted
in a DuckDB file that spills to disk. Memory does not depend on the size of the dumps, and the
result does not depend on the number of workers.
"""

import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import DumpError, import_extra
from sgtb.core.progress import Progress, silent
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.kb.build.usable_names import EMPTY, LONG, URL
from sgtb.kb.environment import State
from sgtb.kb.kb_folder import building
from sgtb.text.vector_file import VectorFile, open_vectors
from sgtb.wikipedia.build.build_report import (
    FileCounts,
    LinkCounts,
    NameCounts,
    RedirectCounts,
    VectorCounts,
    WikiReport,
)  # fmt: skip
from sgtb.wikipedia.build.build_settings import WikiSettings
from sgtb.wikipedia.build.duckdb_store import DuckDbStore
from sgtb.wikipedia.build.dump_workers import DumpSummary, one_site, read_dumps
from sgtb.wikipedia.build.kb_tables import count_near, write_entities, write_links, write_near
from sgtb.wikipedia.build.kb_vectors import copy_vectors, train, write_corpus
from sgtb.wikipedia.build.link_tables import LEFT_OUT, LISTED, MISSING, OWN, RESOLVED
from sgtb.wikipedia.build.name_pages import TextShards, name_pages
from sgtb.wikipedia.build.page_rows import PAGE_BITS, ChunkCounts, shard
from sgtb.wikipedia.build.side_files import PRIORS, TYPES, VIEWS, SideFiles
from sgtb.wikipedia.build.wiki_counts import WikiCounts
from sgtb.wikipedia.dump.dump_reader import Dump, open_dump
from sgtb.wikipedia.dump.site import Site

__all__ = ["WikiReport", "WikiSettings", "build_wiki"]


def build_wiki(
    dumps: Sequence[Path],
    path: Path,
    settings: WikiSettings | None = None,
    progress: Progress | None = None,
) -> WikiReport:
    """Build a knowledge base in the folder `path` from dumps of one wiki.

    A knowledge base that is already there stays valid until the end, and after an error.
    """
    begin = time.monotonic()
    settings = settings or WikiSettings()
    opened = [open_dump(dump) for dump in dumps]
    site = one_site(opened)
    vectors = _checked_inputs(settings)
    with building(path) as folder:
        work = folder / "work"
        work.mkdir()
        build = _Build(opened, site, settings, vectors, folder, progress or silent)
        try:
            report = build.run(begin)
        finally:
            build.close()
        shutil.rmtree(work)
    return report


@dataclass(frozen=True)
class _Linked:
    """Counts of pages, redirects and links after titles have been resolved."""

    repeated: tuple[int, int, int]
    red_entities: int
    redirects: RedirectCounts
    fates: dict[int, int]
    uses: dict[int, int]
    edges: int


@dataclass
class _Build:
    """The stages of a build."""

    _dumps: Sequence[Dump]
    _site: Site
    _settings: WikiSettings
    _vectors: VectorFile | None
    _folder: Path
    _progress: Progress

    def __post_init__(self) -> None:
        settings = self._settings
        self._work = self._folder / "work"
        self._types = () if settings.types is None else (settings.types,)
        self._db = DuckDbStore(self._work, settings.memory * 3 // 4, settings.workers)
        self._writer: KbWriter | None = None

    def close(self) -> None:
        """Close all files, so that they can be deleted."""
        self._db.close()
        if self._writer is not None:
            self._writer.close()

    def run(self, begin: float) -> WikiReport:
        """Run all stages; `begin` is the time at which the build started."""
        settings, db = self._settings, self._db
        side_files = SideFiles(self._work, self._site)
        side_files.read(self._types, settings.priors, settings.pageviews)
        read = self._read_dumps()
        counts = WikiCounts(db, self._work)
        linked = self._resolve(counts)
        self._delete_shards(read.chunks, "links")
        views, types, priors = self._load_side_files(side_files, counts)
        spellings = counts.count_names(PRIORS if priors else "")
        self._delete_shards(read.chunks, "pages", "names")
        pairs = count_near(db, settings.min_together, settings.memory // 16, self._progress)
        writer = self._writer = KbWriter(
            self._folder,
            db.count_of("entities"),
            settings.sources,
            self._dimensions,
            self._origin(read.counts),
            memory=settings.memory // 4,
            progress=self._progress,
        )
        omitted = write_entities(db, writer, self._progress)
        write_links(db, writer, self._progress)
        write_near(db, writer, self._progress)
        vectors = self._write_vectors(writer, read.chunks)
        state = writer.finish(self._name_pages(writer, read.chunks, any(linked.repeated)))
        return WikiReport(
            files=tuple(str(dump.path) for dump in self._dumps),
            file_bytes=sum(dump.size for dump in self._dumps),
            text_bytes=read.counts.text_bytes,
            entities=state.entities,
            red_entities=linked.red_entities,
            pages=read.page_counts(linked.repeated),
            redirects=linked.redirects,
            links=_link_counts(read.counts, linked.fates),
            entity_links=linked.edges,
            pairs=pairs,
            held_out=read.counts.held_out,
            names=_name_counts(state, read.counts, linked.uses, spellings - omitted, omitted),
            pageviews=views,
            types=types,
            priors=priors,
            vectors=vectors,
            dropped=read.dropped,
            dropped_beyond=read.dropped_count - len(read.dropped),
            seconds=time.monotonic() - begin,
        )

    def _read_dumps(self) -> DumpSummary:
        read = read_dumps(self._dumps, self._work, self._settings, self._progress)
        if not read.counts.articles:
            names = ", ".join(str(dump.path) for dump in self._dumps)
            raise DumpError(f"{names}: no articles found; give a pages-articles dump")
        return read

    def _delete_shards(self, chunks: int, *kinds: str) -> None:
        """Free the disk space of shards that are no longer needed."""
        for kind in kinds:
            for chunk in range(chunks):
                shard(self._work, kind, f"{chunk:06d}").unlink()

    def _resolve(self, counts: WikiCounts) -> _Linked:
        """Resolve titles, redirects and links."""

        def show(done: int) -> None:
            self._progress("counting", done, 5)

        show(0)
        repeated = counts.load_pages()
        show(1)
        counts.follow_redirects()
        show(2)
        red_entities = counts.make_entities(self._settings.red_links)
        show(3)
        fates, uses = counts.resolve_links()
        show(4)
        edges = counts.count_links()
        show(5)
        return _Linked(
            repeated=repeated, red_entities=red_entities, redirects=counts.redirect_counts(),
            fates=fates, uses=uses, edges=edges,
        )  # fmt: skip

    def _load_side_files(
        self, side_files: SideFiles, counts: WikiCounts
    ) -> tuple[tuple[FileCounts, ...], ...]:
        """Return the counts of page views, types and priors, per file."""
        settings, db = self._settings, self._db
        views = types = priors = ()  # type: tuple[FileCounts, ...]
        if settings.pageviews:
            views = side_files.load(db, VIEWS, settings.pageviews)
            counts.sum_views(VIEWS)
        else:
            counts.count_linking_pages()
        if self._types:
            types = side_files.load(db, TYPES, self._types)
            counts.set_types(TYPES)
        if settings.priors:
            priors = side_files.load(db, PRIORS, settings.priors)
        return views, types, priors

    @property
    def _dimensions(self) -> int:
        if self._vectors is not None:
            return self._vectors.dimensions
        return self._settings.dimensions if self._settings.vectors == "train" else 0

    def _origin(self, counts: ChunkCounts) -> dict[str, Any]:
        """Return the record of origin that is stored in the knowledge base."""
        settings = self._settings
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
            "vectors": (
                self._vectors.path.name if self._vectors is not None else str(settings.vectors)
            ),
            "red_links": settings.red_links,
            "min_together": settings.min_together,
            **hold_out,
        }

    def _write_vectors(self, writer: KbWriter, chunks: int) -> VectorCounts:
        settings, db = self._settings, self._db
        if self._vectors is not None:
            return copy_vectors(
                self._vectors, writer, db, self._work, self._site.title, self._progress
            )
        if settings.vectors != "train":
            return VectorCounts(0, 0, 0, 0)
        corpus = self._work / "corpus.txt"
        for chunk in range(chunks):
            write_corpus(db, self._text_shard(chunk), chunk, corpus)
            self._progress("corpus", chunk + 1, chunks)
        found = train(corpus, writer, settings, self._progress)
        corpus.unlink()
        return found

    def _text_shard(self, chunk: int) -> Path:
        return shard(self._work, "text", f"{chunk:06d}")

    def _name_pages(self, writer: KbWriter, chunks: int, repeated: bool) -> npt.NDArray[np.uint32]:
        """Count on how many pages names are links, and on how many they occur."""

        def kept_pages(chunk: int) -> frozenset[int] | None:
            if not repeated:
                return None
            first = chunk << PAGE_BITS
            found = self._db.rows(
                "SELECT page - $1 FROM owners WHERE page BETWEEN $1 AND $2",
                first, first + (1 << PAGE_BITS) - 1,
            )  # fmt: skip
            return frozenset(position for (position,) in found)

        return name_pages(
            writer.names(),
            TextShards([self._text_shard(chunk) for chunk in range(chunks)], kept_pages),
            self._db,
            self._work / "name-pages.npy",
            memory=self._settings.memory // 4,
            threads=self._settings.workers,
            progress=lambda done: self._progress("names in text", done, chunks),
        )


def _checked_inputs(settings: WikiSettings) -> VectorFile | None:
    """Check packages and the vector file before hours of work; return the vector file."""
    for package in ("duckdb", "gensim") if settings.vectors == "train" else ("duckdb",):
        import_extra(package, "wiki", "building from a dump needs")
    return None if settings.vectors in ("none", "train") else open_vectors(settings.vectors)


def _link_counts(counts: ChunkCounts, fates: dict[int, int]) -> LinkCounts:
    return LinkCounts(
        found=counts.links,
        resolved=fates[RESOLVED],
        missing=fates[MISSING],
        disambiguation=fates[LISTED],
        other_namespaces=counts.links_other,
        own_page=counts.links_own + fates[OWN],
        listed=counts.links_listed,
        held_out=counts.links_held_out,
        left_out=fates[LEFT_OUT],
    )


def _name_counts(
    state: State, counts: ChunkCounts, uses: dict[int, int], spellings: int, omitted: int
) -> NameCounts:
    return NameCounts(
        names=state.names,
        spellings=spellings,
        anchors_empty=uses[EMPTY],
        anchors_long=uses[LONG],
        anchors_urls=uses[URL],
        names_unusable=counts.names_unusable,
        spellings_beyond=omitted,
    )
