"""Builds with tables in DuckDB, and the transfer of these tables to a `KbWriter`, in batches."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.core.progress import Progress
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.kb.kb_folder import building
from sgtb.kb.layout import MAX_TEXT, SPELLING
from sgtb.kb.name_index import MAX_COUNT, Spelling
from sgtb.kb.name_variants import VariantRules
from sgtb.wikipedia.build.build_report import VectorCounts
from sgtb.wikipedia.build.build_settings import TableSettings
from sgtb.wikipedia.build.duckdb_store import Arrays, DuckDbStore, as_ints
from sgtb.wikipedia.build.page_counters import PairCounter, name_pages
from sgtb.wikipedia.build.train_vectors import train, write_corpus

MAX_DROPPED = 1000  # dropped pages that a report lists; further ones are only counted
_WORK = "work"
_BATCH = 50_000
_MAX_SPELLING_BYTES = MAX_TEXT * 3 // 4
"""Limit for all spellings of one entity; countries are linked by very many."""
_LINK_BATCH = 500_000


@contextmanager
def build_folder(path: Path) -> Iterator[Path]:
    """Create the data folder of a knowledge base for a `TableBuild`; valid at the end."""
    with building(path) as folder:
        (folder / _WORK).mkdir()
        yield folder
        shutil.rmtree(folder / _WORK)


class TableBuild:
    """A build that counts in DuckDB what needs more than one page.

    Text is in shards. Tables: entities, spellings, edges (links), placed (links by place), owners
    (the entity of each page), linked (pages that link a name).
    """

    def __init__(self, folder: Path, settings: TableSettings, progress: Progress) -> None:
        self._folder, self._work, self._progress = folder, folder / _WORK, progress
        self._limits = settings
        self._db = DuckDbStore(self._work, settings.memory * 3 // 4, settings.workers)
        self._writer: KbWriter | None = None

    def close(self) -> None:
        """Close all files, so that they can be deleted."""
        self._db.close()
        if self._writer is not None:
            self._writer.close()

    def _write_tables(
        self, sources: Sequence[str], dimensions: int, origin: dict[str, Any],
        variants: VariantRules | None = None, id_column: str = "title",
    ) -> tuple[KbWriter, int, int]:  # fmt: skip
        """Write entities, links and pairs; return also the pairs, and the spellings left out."""
        pairs = self._count_pairs()
        writer = self._writer = KbWriter(
            self._folder, self._db.count_of("entities"), sources, dimensions, origin,
            variants=variants, memory=self._limits.memory // 4, progress=self._progress,
        )  # fmt: skip
        omitted = self._write_entities(writer, id_column)
        for found in self._batches("links", "edges", "source", "source, target"):
            writer.links(as_ints(found["source"]), as_ints(found["target"]))
        for found in self._batches("near", "near", "source", "source, other", "pages"):
            count = np.minimum(found["pages"], MAX_COUNT).astype(np.uint32)
            writer.near(as_ints(found["source"]), as_ints(found["other"]), count)
        return writer, pairs, omitted

    def _batches(
        self, stage: str, table: str, key: str, order: str, *columns: str
    ) -> Iterator[Arrays]:
        """Yield the rows of a table in batches: the columns that give the order, and others."""
        total, done = self._db.count_of(table), 0
        selected = ", ".join((order, *columns))
        for found in self._db.batches(table, key, _LINK_BATCH, selected, order):
            yield found
            done += len(found[key])
            self._progress(stage, done, total)

    def _write_entities(self, writer: KbWriter, id_column: str) -> int:
        """Write the entities with their spellings; return the number of spellings left out."""
        db = self._db
        omitted = done = 0
        for low, high in self._entity_spans():
            found = db.rows(
                "SELECT number, text, source, count FROM spellings "
                "WHERE number BETWEEN $1 AND $2 ORDER BY number, text, source",
                low, high,
            )  # fmt: skip
            spelling_rows = {number: list(rows) for number, rows in groupby(found, itemgetter(0))}
            rows = db.rows(
                f"SELECT number, {id_column}, title, description, type, popularity FROM entities "
                "WHERE number BETWEEN $1 AND $2 ORDER BY number",
                low, high,
            )  # fmt: skip
            for number, id, title, description, type, popularity in rows:
                spellings = [
                    Spelling(text, source, min(count, MAX_COUNT))
                    for _, text, source, count in spelling_rows.get(number, [])
                ]
                kept = _within_limit(spellings)
                omitted += len(spellings) - len(kept)
                writer.entity(
                    id=id, title=title, description=description, type=type, popularity=popularity,
                    spellings=kept,
                )  # fmt: skip
            done += len(rows)
            self._progress("entities", done, writer.entities)
        return omitted

    def _entity_spans(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of all entity numbers with a bounded number of spellings each."""
        last = self._db.count_of("entities") - 1
        begin = 0
        for _, high in self._db.key_ranges("spellings", "number", _BATCH):
            yield begin, high
            begin = high + 1
        for first in range(begin, last + 1, _BATCH):
            yield first, min(first + _BATCH - 1, last)

    def _count_pairs(self) -> int:
        """Create `near`, the pairs linked on enough pages, both ways; return their number."""
        db, counter = self._db, PairCounter(self._limits.memory // 16)
        db.run("CREATE TABLE pairs (key UBIGINT, pages UINTEGER)")
        for links in self._batches("pairs", "placed", "page", "page, ordinal", "line", "number"):
            for keys, pages in counter.add(
                links["page"], as_ints(links["line"]), as_ints(links["number"])
            ):
                db.append("pairs", {"key": keys, "pages": pages})
        keys, pages = counter.drain()
        db.append("pairs", {"key": keys, "pages": pages})
        having = f"HAVING sum(pages) >= {self._limits.min_together}"
        db.group("pair_pages", "key, sum(pages)::BIGINT AS pages", "pairs", "key", having)
        db.run(
            "DROP TABLE pairs; "
            "CREATE TABLE near AS SELECT (key >> 32)::INTEGER AS source, "
            "(key & 4294967295)::INTEGER AS other, pages FROM pair_pages UNION ALL "
            "SELECT (key & 4294967295)::INTEGER, (key >> 32)::INTEGER, pages FROM pair_pages "
            "ORDER BY source, other; "
            "DROP TABLE pair_pages"
        )
        return db.count_of("near") // 2

    def _train_vectors(self, writer: KbWriter, shards: Sequence[Path]) -> VectorCounts:
        """Train vectors on the text of all pages."""
        corpus = self._work / "corpus.txt"
        for chunk, path in enumerate(shards):
            write_corpus(self._db, path, chunk, corpus)
            self._progress("corpus", chunk + 1, len(shards))
        found = train(corpus, writer, self._limits, self._progress)
        corpus.unlink()
        return found

    def _name_pages(
        self, writer: KbWriter, shards: Sequence[Path], some_left_out: bool
    ) -> npt.NDArray[np.uint32]:
        """Count on how many pages names are links, and on how many they occur."""
        return name_pages(
            writer.names(), shards, self._db, self._work / "name-pages.npy",
            some_left_out=some_left_out, memory=self._limits.memory // 4,
            threads=self._limits.workers,
            progress=lambda done: self._progress("names in text", done, len(shards)),
        )  # fmt: skip


def _within_limit(spellings: list[Spelling]) -> list[Spelling]:
    """Return the most frequent spellings that fit the size limit of an entity."""
    size = sum(len(spelling.text.encode()) + SPELLING.size for spelling in spellings)
    if size <= _MAX_SPELLING_BYTES:
        return spellings
    kept, room = [], _MAX_SPELLING_BYTES
    for spelling in sorted(spellings, key=lambda s: (-s.times, s.text, s.source)):
        room -= len(spelling.text.encode()) + SPELLING.size
        if room < 0:
            break
        kept.append(spelling)
    return kept
