"""Reading dumps: workers write the rows of pages in shards, and what they count is added up."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

from sgtb.core.errors import DumpError
from sgtb.core.progress import Progress
from sgtb.wikipedia.build.build_report import DroppedPage, PageCounts
from sgtb.wikipedia.build.hold_out import HoldOut
from sgtb.wikipedia.build.page_rows import ChunkCounts, write_rows
from sgtb.wikipedia.dump.dump_reader import Dump, map_chunks
from sgtb.wikipedia.dump.site import Site

MOST_DROPPED = 1000
"""How many dropped pages a report names; the rest is counted."""
_CHUNK = 8 << 20


@dataclass(frozen=True)
class Reading:
    """What was read.

    chunks         how many shards of each kind there are
    counts         the sums of all chunks
    dropped        pages that were left out, the first of them
    dropped_count  how many there are
    unusable       how many of them could be read, but have a title that no entity can have
    """

    chunks: int
    counts: ChunkCounts
    dropped: tuple[DroppedPage, ...]
    dropped_count: int
    unusable: int

    def page_counts(self, repeated: tuple[int, int, int]) -> PageCounts:
        """Return the pages by what they are, if some of each kind are there twice."""
        counts = self.counts
        articles, disambiguation, redirects = repeated
        return PageCounts(
            pages=counts.pages + self.dropped_count - self.unusable,
            articles=counts.articles - articles,
            redirects=counts.redirects - redirects,
            disambiguation=counts.disambiguation - disambiguation,
            other_namespaces=counts.other_namespaces,
            dropped=self.dropped_count,
            repeated=sum(repeated),
        )


def read_dumps(
    dumps: Sequence[Dump],
    folder: Path,
    workers: int,
    *,
    count_words: bool,
    hold_out: HoldOut,
    strict: bool,
    say: Progress,
) -> Reading:
    """Write the shards of all pages into a folder, numbered in the order of the pages."""
    function = partial(
        write_rows,
        site=one_site(dumps),
        folder=folder,
        count_words=count_words,
        hold_out=hold_out,
    )
    total = sum(dump.size for dump in dumps)
    sums: Counter[str] = Counter()
    dropped: list[DroppedPage] = []
    dropped_count = unusable = chunks = 0
    for outcome in map_chunks(dumps, function, workers, _CHUNK, strict):
        shards = outcome.result
        shards.rename(folder, outcome.number)
        chunks = outcome.number + 1
        sums.update({f.name: getattr(shards.counts, f.name) for f in fields(shards.counts)})
        found = [DroppedPage(d.file, d.line, d.title, d.reason) for d in outcome.dropped]
        found += [
            DroppedPage(shards.file, outcome.first_line + one.line - 1, one.title, one.reason)
            for one in shards.unusable
        ]
        dropped_count += len(found)
        unusable += len(shards.unusable)
        dropped += found[: MOST_DROPPED - len(dropped)]
        say("reading", outcome.position, total)
    return Reading(chunks, ChunkCounts(**sums), tuple(dropped), dropped_count, unusable)


def one_site(dumps: Sequence[Dump]) -> Site:
    """Return the wiki that all dumps are from."""
    if not dumps:
        raise DumpError("no dump is given; name at least one file")
    for dump in dumps[1:]:
        one, other = dumps[0].site, dump.site
        if (one.dbname, one.language) != (other.dbname, other.language):
            raise DumpError(
                f"{dump.path} is of {other.dbname or 'an unknown wiki'} ({other.language}), but "
                f"{dumps[0].path} of {one.dbname or 'an unknown wiki'} ({one.language}); a "
                "knowledge base is built from one wiki"
            )
    return dumps[0].site
