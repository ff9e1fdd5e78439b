"""Wiki builds: a knowledge base from Wikipedia dumps.

    dumps -> rows of pages in shards -> DuckDB: redirects, names, links, pairs -> writer

Workers read pages and write shards; all that needs more than one page is counted in a DuckDB
file that spills to disk. So memory does not depend on the size of the dumps, and the files do
not depend on the number of workers.
"""

import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import DumpError, MissingExtraError
from sgtb.core.progress import Progress, silent
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.kb.build.usable_names import EMPTY, LONG, URL
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
from sgtb.wikipedia.build.duckdb_store import Counting
from sgtb.wikipedia.build.dump_workers import one_site, read_dumps
from sgtb.wikipedia.build.kb_feed import count_near, write_entities, write_links, write_near
from sgtb.wikipedia.build.kb_vectors import take, train, write_corpus
from sgtb.wikipedia.build.name_pages import name_pages
from sgtb.wikipedia.build.page_rows import PAGE_BITS, ChunkCounts, shard
from sgtb.wikipedia.build.side_files import PRIORS, TYPES, VIEWS, GivenFiles
from sgtb.wikipedia.build.wiki_counts import LEFT_OUT, LISTED, MISSING, OWN, RESOLVED, WikiCounts
from sgtb.wikipedia.dump.dump_reader import Dump, open_dump
from sgtb.wikipedia.dump.site import Site

__all__ = ["WikiReport", "WikiSettings", "build_wiki"]


def build_wiki(
    dumps: Sequence[Path],
    place: Path,
    settings: WikiSettings | None = None,
    progress: Progress | None = None,
) -> WikiReport:
    """Build a knowledge base in the folder `place` from dumps of one wiki.

    Until the end, and if anything goes wrong, what was in the folder stays valid.
    """
    begin = time.monotonic()
    settings = settings or WikiSettings()
    opened = [open_dump(path) for path in dumps]
    site = one_site(opened)
    vectors = _checked_inputs(settings)
    with building(place) as folder:
        work = folder / "work"
        work.mkdir()
        build = _Build(opened, site, settings, vectors, folder, work, progress or silent)
        try:
            report = build.run(begin)
        finally:
            build.close()
        shutil.rmtree(work)
    return report


@dataclass(frozen=True)
class _Linked:
    """What became of redirects and links."""

    repeated: tuple[int, int, int]
    red: int
    redirects: RedirectCounts
    fates: dict[int, int]
    uses: dict[int, int]
    edges: int


class _Build:
    """One build, stage by stage."""

    def __init__(
        self,
        dumps: Sequence[Dump],
        site: Site,
        settings: WikiSettings,
        vectors: VectorFile | None,
        folder: Path,
        work: Path,
        say: Progress,
    ) -> None:
        self._dumps = dumps
        self._site = site
        self._settings = settings
        self._vectors = vectors
        self._folder = folder
        self._work = work
        self._say = say
        self._counting: Counting | None = None
        self._writer: KbWriter | None = None

    def close(self) -> None:
        """Let go of all files, so that they can be deleted."""
        if self._counting is not None:
            self._counting.close()
        if self._writer is not None:
            self._writer.close()

    def run(self, begin: float) -> WikiReport:
        memory = self._settings.memory
        db = self._counting = Counting(self._work, memory * 3 // 4, self._settings.workers)
        given = GivenFiles(self._work, self._site)
        given.read(self._types, self._settings.priors, self._settings.pageviews)
        read = read_dumps(
            self._dumps,
            self._work,
            self._settings.workers,
            count_words=self._settings.vectors == "train",
            hold_out=self._settings.hold_out,
            strict=self._settings.strict,
            say=self._say,
        )
        if not read.counts.articles:
            names = ", ".join(str(dump.path) for dump in self._dumps)
            raise DumpError(f"{names}: there is no article in it")
        counts = WikiCounts(db, self._work)
        linked = self._link(counts)
        self._delete(read.chunks, "links")
        views, types, priors = self._apply(given, db, counts)
        spellings = counts.count_names(PRIORS if priors else "")
        self._delete(read.chunks, "pages", "names")
        pairs = count_near(db, self._settings.min_together, memory // 16, self._say)
        writer = self._writer = KbWriter(
            self._folder,
            db.count_of("entities"),
            self._settings.sources,
            self._dimensions,
            self._origin(read.counts),
            memory=memory // 4,
            progress=self._say,
        )
        beyond = write_entities(db, writer, self._say)
        write_links(db, writer, self._say)
        write_near(db, writer, self._say)
        vectors = self._write_vectors(db, writer, read.chunks)
        state = writer.finish(self._name_pages(db, writer, read.chunks, any(linked.repeated)))
        return WikiReport(
            files=tuple(str(dump.path) for dump in self._dumps),
            file_bytes=sum(dump.size for dump in self._dumps),
            text_bytes=read.counts.text_bytes,
            entities=state.entities,
            red_entities=linked.red,
            pages=read.page_counts(linked.repeated),
            redirects=linked.redirects,
            links=_link_counts(read.counts, linked.fates),
            entity_links=linked.edges,
            pairs=pairs,
            held_out=read.counts.held_out,
            names=NameCounts(
                names=state.names,
                spellings=spellings - beyond,
                anchors_empty=linked.uses[EMPTY],
                anchors_long=linked.uses[LONG],
                anchors_urls=linked.uses[URL],
                names_unusable=read.counts.names_unusable,
                spellings_beyond=beyond,
            ),
            pageviews=views,
            types=types,
            priors=priors,
            vectors=vectors,
            dropped=read.dropped,
            dropped_beyond=read.dropped_count - len(read.dropped),
            seconds=time.monotonic() - begin,
        )

    def _delete(self, chunks: int, *kinds: str) -> None:
        """Free the space of shards that are no longer needed."""
        for kind in kinds:
            for chunk in range(chunks):
                shard(self._work, kind, f"{chunk:06d}").unlink()

    def _link(self, counts: WikiCounts) -> _Linked:
        """Find out where titles lead, and what becomes of links."""
        steps = 5
        self._say("counting", 0, steps)
        repeated = counts.load_pages()
        self._say("counting", 1, steps)
        counts.follow_redirects()
        self._say("counting", 2, steps)
        red = counts.make_entities(self._settings.red_links)
        self._say("counting", 3, steps)
        fates, uses = counts.resolve_links()
        self._say("counting", 4, steps)
        edges = counts.count_links()
        self._say("counting", 5, steps)
        return _Linked(repeated, red, counts.redirect_counts(), fates, uses, edges)

    @property
    def _types(self) -> tuple[Path, ...]:
        return () if self._settings.types is None else (self._settings.types,)

    def _apply(
        self, given: GivenFiles, db: Counting, counts: WikiCounts
    ) -> tuple[tuple[FileCounts, ...], tuple[FileCounts, ...], tuple[FileCounts, ...]]:
        """Take the files that were given besides dumps."""
        settings = self._settings
        views = types = priors = ()  # type: tuple[FileCounts, ...]
        if settings.pageviews:
            views = given.load(db, VIEWS, settings.pageviews)
            counts.sum_views(VIEWS)
        else:
            counts.count_linking_pages()
        if self._types:
            types = given.load(db, TYPES, self._types)
            counts.set_types(TYPES)
        if settings.priors:
            priors = given.load(db, PRIORS, settings.priors)
        return views, types, priors

    @property
    def _dimensions(self) -> int:
        if self._vectors is not None:
            return self._vectors.dimensions
        return self._settings.dimensions if self._settings.vectors == "train" else 0

    def _origin(self, counts: ChunkCounts) -> dict[str, Any]:
        """Return what the knowledge base says of where it comes from."""
        settings = self._settings
        held = {"hold_out": asdict(settings.hold_out)} if settings.hold_out.share else {}
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
            **held,
        }

    def _write_vectors(self, db: Counting, writer: KbWriter, chunks: int) -> VectorCounts:
        settings = self._settings
        if self._vectors is not None:
            return take(self._vectors, writer, db, self._work, self._site.title, self._say)
        if settings.vectors != "train":
            return VectorCounts(0, 0, 0, 0)
        corpus = self._work / "corpus.txt"
        for chunk in range(chunks):
            write_corpus(db, shard(self._work, "text", f"{chunk:06d}"), chunk, corpus)
            self._say("corpus", chunk + 1, chunks)
        found = train(
            corpus, writer, settings.dimensions, settings.min_count, settings.memory, self._say
        )
        corpus.unlink()
        return found

    def _name_pages(
        self, db: Counting, writer: KbWriter, chunks: int, repeated: bool
    ) -> npt.NDArray[np.uint32]:
        """Count on how many pages names are links, and in how many they occur."""

        def kept(chunk: int) -> frozenset[int] | None:
            if not repeated:
                return None
            first = chunk << PAGE_BITS
            found = db.rows(
                "SELECT page - $1 FROM owners WHERE page BETWEEN $1 AND $2",
                first, first + (1 << PAGE_BITS) - 1,
            )  # fmt: skip
            return frozenset(place for (place,) in found)

        return name_pages(
            writer.names,
            [shard(self._work, "text", f"{chunk:06d}") for chunk in range(chunks)],
            kept,
            db,
            self._work / "name-pages.npy",
            self._settings.memory // 4,
            self._settings.workers,
            lambda done: self._say("names in text", done, chunks),
        )


def _checked_inputs(settings: WikiSettings) -> VectorFile | None:
    """Find what is wrong with the inputs before hours of work; return the file of vectors."""
    for package, needed in (("duckdb", True), ("gensim", settings.vectors == "train")):
        if needed:
            try:
                import_module(package)
            except ImportError:
                raise MissingExtraError(
                    f"building from a dump needs the package {package}: pip install 'sgtb[wiki]'"
                ) from None
    if settings.vectors in ("none", "train"):
        return None
    return open_vectors(settings.vectors)


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
