"""Pages builds: a knowledge base from plain pages, JSON Lines of "id", "title" and "text".

    lines -> names and cased text in shards -> names found in texts -> clear links
          -> ambiguous names decided by these -> DuckDB: names, links, pairs -> writer

Worker processes read pages and find names; what needs more than one page is counted in a DuckDB
file that spills to disk. The result does not depend on the number of workers.
"""

import time
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import lru_cache, partial
from pathlib import Path

from sgtb.core.errors import KnowledgeBaseError, import_extra
from sgtb.core.progress import Progress, silent
from sgtb.core.workers import ordered_results
from sgtb.kb.name_variants import DEFAULT_RULES
from sgtb.pages.cased_text import NameMatches, NameTable, without_signs
from sgtb.pages.name_decisions import NameDecisions
from sgtb.pages.page_lines import line_chunks, write_page_rows
from sgtb.pages.page_links import PageLinks
from sgtb.pages.pages_settings import NameUseCounts, PagesReport, PagesSettings
from sgtb.wikipedia.build.build_report import DroppedPage, VectorCounts
from sgtb.wikipedia.build.kb_tables import MAX_DROPPED, TableBuild, build_folder
from sgtb.wikipedia.build.page_rows import shard

__all__ = ["PagesReport", "PagesSettings", "build_pages"]


def build_pages(
    files: Sequence[Path],
    path: Path,
    settings: PagesSettings | None = None,
    progress: Progress | None = None,
) -> PagesReport:
    """Build a knowledge base in the folder `path`; one that is there stays valid until the end."""
    begin = time.monotonic()
    settings = settings or PagesSettings()
    for package in ("duckdb", *(["gensim"] if settings.vectors else [])):
        import_extra(package, "wiki", "building from pages needs")
    with (
        build_folder(path) as folder,
        closing(_PagesBuild(files, settings, folder, progress or silent)) as build,
    ):
        try:
            return build.run(begin)
        except BrokenProcessPool:
            raise KnowledgeBaseError(
                "a worker process ended, perhaps because memory ran out; use fewer workers"
            ) from None


class _PagesBuild(TableBuild):
    """The stages of a build."""

    def __init__(
        self, files: Sequence[Path], settings: PagesSettings, folder: Path, progress: Progress
    ) -> None:
        super().__init__(folder, settings, progress)
        self._files, self._settings = files, settings
        self._links = PageLinks(self._db, self._work)
        self._chunks = self._pages = self._dropped_count = 0
        self._ids = settings.ids
        self._dropped: list[DroppedPage] = []

    def run(self, begin: float) -> PagesReport:
        """Run all stages; `begin` is the time at which the build started."""
        self._read()
        lists, repeated = 0, 0
        if self._pages:
            lists, repeated, self._ids = self._links.load_pages(self._settings.ids)
        if not self._pages or not self._db.count_of("entities"):
            names = ", ".join(map(str, self._files))
            raise KnowledgeBaseError(f'{names}: no page; each line has "title" and "text"')
        self._match()
        uses = self._decide()
        edges, spellings = self._links.count_all()
        settings, trained = self._settings, self._settings.vectors
        dimensions = settings.dimensions if trained else 0
        writer, pairs, omitted = self._write_tables(
            settings.sources, dimensions, self._origin(), DEFAULT_RULES, "id"
        )
        texts = [shard(self._work, "text", chunk) for chunk in range(self._chunks)]
        vectors = self._train_vectors(writer, texts) if trained else VectorCounts(0, 0, 0, 0)
        state = writer.finish(self._name_pages(writer, texts, lists + repeated > 0))
        return PagesReport(
            files=tuple(map(str, self._files)),
            pages=self._pages,
            lists=lists,
            repeated=repeated,
            ids=self._ids,
            entities=state.entities,
            names=state.names,
            spellings=spellings - omitted,
            uses=uses,
            links=edges,
            pairs=pairs,
            vectors=vectors,
            dropped=tuple(self._dropped),
            dropped_beyond=self._dropped_count - len(self._dropped),
            seconds=time.monotonic() - begin,
        )

    def _read(self) -> None:
        """Write the shards of all pages."""
        settings = self._settings
        function = partial(write_page_rows, folder=self._work, ids=settings.ids)
        chunks = line_chunks(self._files)
        with closing(ordered_results(function, chunks, settings.workers)) as results:
            for pages, dropped in results:
                self._chunks += 1
                self._pages += pages
                for first in dropped if settings.strict else ():
                    place = f"{first.file}, line {first.line}"
                    raise KnowledgeBaseError(
                        f"{place}: {first.reason}; without --strict it is skipped"
                    )
                self._dropped_count += len(dropped)
                self._dropped += dropped[: MAX_DROPPED - len(self._dropped)]
                self._progress("reading pages", self._pages, self._pages)

    def _match(self) -> None:
        """Find the names of all entities in all texts."""
        paths = [str(self._work / f"table-{i}.npy") for i in range(3)]
        self._links.name_table().save(paths)
        function = partial(match_shard, folder=self._work, table=tuple(paths))
        chunks = range(self._chunks)
        try:
            with closing(ordered_results(function, chunks, self._settings.workers)) as results:
                for chunk, found in enumerate(results):
                    self._links.add_matches(chunk, found)
                    self._progress("finding names", chunk + 1, self._chunks)
        finally:
            _table.cache_clear()  # the files are deleted, and their paths may be used again

    def _decide(self) -> NameUseCounts:
        """Decide ambiguous names by the links of clear ones."""
        self._links.sort_uses()
        clear = self._links.clear_links()
        decisions = NameDecisions(clear["source"], clear["target"], self._db.count_of("entities"))
        own = self._db.arrays("SELECT page, number FROM owners ORDER BY page")
        for done, (meanings, links) in enumerate(self._links.open_uses(), 1):
            self._db.append("decided", decisions.decide(meanings, links, own))
            self._progress("ambiguous names", done, done)
        return self._links.make_links()

    def _origin(self) -> dict[str, object]:
        """Return the record of origin that is stored in the knowledge base."""
        return {
            "kind": "pages",
            "files": [file.name for file in self._files],
            "pages": self._pages,
            "ids": self._ids,
            "popularity": "pages that link",
            "vectors": "train" if self._settings.vectors else "none",
            "min_together": self._settings.min_together,
        }


def match_shard(chunk: int, folder: Path, table: tuple[str, ...]) -> NameMatches:
    """Find names in the cased text of a chunk, and replace that by text without signs."""
    path = shard(folder, "cased", chunk)
    text = path.read_bytes()
    shard(folder, "text", chunk).write_bytes(without_signs(text))
    path.unlink()
    return _table(table).match(text).first_of_page()


@lru_cache(maxsize=1)
def _table(paths: tuple[str, ...]) -> NameTable:
    return NameTable.mapped(paths)
