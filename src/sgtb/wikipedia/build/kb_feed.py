"""Feeds a writer from counted tables, in batches: entities, links, pairs of entities."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import numpy as np

from sgtb.core.progress import Progress
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.kb.layout import MAX_TEXT
from sgtb.kb.name_index import MAX_COUNT, Spelling
from sgtb.wikipedia.build.duckdb_store import Arrays, Counting, as_ints
from sgtb.wikipedia.build.near_pairs import PairCounter
from sgtb.wikipedia.build.page_counter import Counts, Keys

_BATCH = 50_000
_LINKS = 500_000
_SPELLING_BYTES = MAX_TEXT * 3 // 4
"""All spellings of one entity; half a million pages may link to a country in many ways."""
_SPELLING_HEAD = 7


def write_entities(counting: Counting, writer: KbWriter, say: Progress) -> int:
    """Write the entities with their spellings; return how many rare spellings had to go."""
    beyond = done = 0
    for low, high in _entity_spans(counting):
        spelled = {
            number: list(rows)
            for number, rows in groupby(
                counting.rows(
                    "SELECT number, text, source, count FROM spellings "
                    "WHERE number BETWEEN $1 AND $2 ORDER BY number, text, source",
                    low, high,
                ),
                itemgetter(0),
            )
        }  # fmt: skip
        rows = counting.rows(
            "SELECT number, title, description, type, popularity FROM entities "
            "WHERE number BETWEEN $1 AND $2 ORDER BY number",
            low, high,
        )  # fmt: skip
        for number, title, description, type, popularity in rows:
            found = spelled.get(number, [])
            spellings = [
                Spelling(text, source, min(count, MAX_COUNT)) for _, text, source, count in found
            ]
            kept = _fitting(spellings)
            beyond += len(spellings) - len(kept)
            writer.entity(title, title, description, type, popularity, kept)
        done += len(rows)
        say("entities", done, writer.entities)
    return beyond


def _entity_spans(counting: Counting) -> Iterator[tuple[int, int]]:
    """Yield ranges of all numbers, so that each has a bounded number of spellings."""
    last = counting.count_of("entities") - 1
    begin = 0
    for _, high in counting.spans("spellings", "number", _BATCH):
        yield begin, high
        begin = high + 1
    while begin <= last:
        yield begin, min(begin + _BATCH - 1, last)
        begin += _BATCH


def _fitting(spellings: list[Spelling]) -> list[Spelling]:
    """Return the spellings, the rarest left out where they are too many for one entity."""
    size = sum(len(text.encode()) + _SPELLING_HEAD for text, _, _ in spellings)
    if size <= _SPELLING_BYTES:
        return spellings
    kept, room = [], _SPELLING_BYTES
    for spelling in sorted(spellings, key=lambda s: (-s[2], s.text, s.source)):
        room -= len(spelling.text.encode()) + _SPELLING_HEAD
        if room < 0:
            break
        kept.append(spelling)
    return kept


def write_links(counting: Counting, writer: KbWriter, say: Progress) -> None:
    """Write the links between entities."""
    total, done = counting.count_of("edges"), 0
    for low, high in counting.spans("edges", "source", _LINKS):
        found = counting.arrays(
            "SELECT source, target FROM edges WHERE source BETWEEN $1 AND $2 "
            "ORDER BY source, target",
            low, high,
        )  # fmt: skip
        writer.links(as_ints(found["source"]), as_ints(found["target"]))
        done += len(found["source"])
        say("links", done, total)


def count_near(counting: Counting, least: int, memory: int, say: Progress) -> int:
    """Count the pairs of entities that are linked near each other; return how many are kept."""
    counting.run("CREATE TABLE pairs (key UBIGINT, pages UINTEGER)")
    counter = PairCounter(memory)
    total, done = counting.count_of("placed"), 0
    for links in _placed(counting):
        number = as_ints(links["number"])
        for found in counter.add(links["page"], as_ints(links["line"]), number):
            _keep(counting, found)
        done += len(number)
        say("pairs", done, total)
    _keep(counting, counter.drain())
    counting.group(
        "met",
        "key, sum(pages)::BIGINT AS pages",
        "pairs",
        "key",
        f"HAVING sum(pages) >= {least}",
    )
    counting.run("DROP TABLE pairs")
    counting.run(
        "CREATE TABLE near AS SELECT (key >> 32)::INTEGER AS source, "
        "(key & 4294967295)::INTEGER AS other, pages FROM met "
        "UNION ALL SELECT (key & 4294967295)::INTEGER, (key >> 32)::INTEGER, pages FROM met "
        "ORDER BY source, other"
    )
    counting.run("DROP TABLE met")
    return counting.count_of("near") // 2


def write_near(counting: Counting, writer: KbWriter, say: Progress) -> None:
    """Write the pairs, in both directions."""
    total, done = counting.count_of("near"), 0
    for low, high in counting.spans("near", "source", _LINKS):
        found = counting.arrays(
            "SELECT source, other, pages FROM near WHERE source BETWEEN $1 AND $2 "
            "ORDER BY source, other",
            low, high,
        )  # fmt: skip
        count = np.minimum(found["pages"], MAX_COUNT).astype(np.uint32)
        writer.near(as_ints(found["source"]), as_ints(found["other"]), count)
        done += len(count)
        say("near", done, total)


def _placed(counting: Counting) -> Iterator[Arrays]:
    """Yield the links of whole pages, in order."""
    for low, high in counting.spans("placed", "page", _LINKS):
        yield counting.arrays(
            "SELECT page, line, number FROM placed WHERE page BETWEEN $1 AND $2 "
            "ORDER BY page, ordinal",
            low, high,
        )  # fmt: skip


def _keep(counting: Counting, found: tuple[Keys, Counts]) -> None:
    counting.append("pairs", {"key": found[0], "pages": found[1]})
