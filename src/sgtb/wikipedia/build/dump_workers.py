"""Reading of dumps by worker processes that write the rows of pages to shards."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

from sgtb.core.errors import DumpError
from sgtb.core.progress import Progress
from sgtb.core.workers import TaskPool
from sgtb.wikipedia.build.build_report import DroppedPage, PageCounts
from sgtb.wikipedia.build.build_settings import WikiSettings
from sgtb.wikipedia.build.page_rows import (
    ARTICLE,
    DISAMBIGUATION,
    REDIRECT,
    ChunkCounts,
    write_rows,
)
from sgtb.wikipedia.dump.dump_reader import Dump, map_chunks
from sgtb.wikipedia.dump.site import Site

MAX_DROPPED = 1000  # dropped pages that a report lists; further ones are only counted
_CHUNK = 8 << 20


@dataclass(frozen=True)
class DumpSummary:
    """Totals of all chunks."""

    chunks: int  # number of shards of each kind
    counts: ChunkCounts  # sums over all chunks
    dropped: tuple[DroppedPage, ...]  # the first MAX_DROPPED pages that were left out
    dropped_count: int  # number of all pages that were left out
    unusable: int  # of these, well-formed pages whose title cannot be an entity's

    def page_counts(self, repeated: Counter[int]) -> PageCounts:
        """Return the pages by kind, without repeated ones."""
        counts = self.counts
        return PageCounts(
            pages=counts.pages + self.dropped_count - self.unusable,
            articles=counts.articles - repeated[ARTICLE],
            redirects=counts.redirects - repeated[REDIRECT],
            disambiguation=counts.disambiguation - repeated[DISAMBIGUATION],
            other_namespaces=counts.other_namespaces, dropped=self.dropped_count,
            repeated=repeated.total(),
        )  # fmt: skip


def read_dumps(
    dumps: Sequence[Dump], folder: Path, settings: WikiSettings, progress: Progress,
    pool: TaskPool | None = None,
) -> DumpSummary:  # fmt: skip
    """Write the shards of all pages to a folder, numbered in the order of the pages."""
    function = partial(
        write_rows, site=one_site(dumps), folder=folder, hold_out=settings.hold_out,
        count_words=settings.vectors == "train",
    )  # fmt: skip
    total = sum(dump.size for dump in dumps)
    sums: Counter[str] = Counter()
    dropped: list[DroppedPage] = []
    dropped_count = unusable = chunks = 0
    for outcome in map_chunks(dumps, function, settings.workers, _CHUNK, settings.strict, pool):
        shards = outcome.result
        shards.rename(folder, outcome.number)
        chunks = outcome.number + 1
        sums.update({f.name: getattr(shards.counts, f.name) for f in fields(shards.counts)})
        found = [DroppedPage(d.file, d.line, d.title, d.reason) for d in outcome.dropped]
        before = outcome.first_line - 1
        found += [replace(page, line=page.line + before) for page in shards.unusable]
        dropped_count += len(found)
        unusable += len(shards.unusable)
        dropped += found[: MAX_DROPPED - len(dropped)]
        progress("reading", outcome.position, total)
    return DumpSummary(
        chunks=chunks, counts=ChunkCounts(**sums), dropped=tuple(dropped),
        dropped_count=dropped_count, unusable=unusable,
    )  # fmt: skip


def one_site(dumps: Sequence[Dump]) -> Site:
    """Return the common wiki of all dumps."""
    if not dumps:
        raise DumpError("no dump given; name at least one file")
    for dump in dumps[1:]:
        first, other = dumps[0].site, dump.site
        if (first.dbname, first.language) != (other.dbname, other.language):
            raise DumpError(
                f"{dump.path} is from {other.dbname or 'an unknown wiki'} ({other.language}), but "
                f"{dumps[0].path} from {first.dbname or 'an unknown wiki'} ({first.language}); "
                "give dumps of one wiki"
            )
    return dumps[0].site
