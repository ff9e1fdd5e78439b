"""Pages per name: on how many pages a name is a link, and on how many it occurs."""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sgtb.wikipedia.build.duckdb_store import DuckDbStore
from sgtb.wikipedia.build.page_counters import (
    Counts,
    Keys,
    NameFilter,
    NamePageCounter,
    name_hashes,
)
from sgtb.wikipedia.build.page_rows import PAGE_BITS

_BATCH = 100_000
_MAX_COUNT = np.iinfo(np.uint32).max


@dataclass(frozen=True)
class TextShards:
    """Text of all pages, in files in the form that `NamePageCounter` reads.

    owners  has the pages that count, in its table `owners`; None: all count
    """

    paths: Sequence[Path]
    owners: DuckDbStore | None

    def kept_pages(self, number: int) -> frozenset[int] | None:
        """Return the positions of the pages of a shard that count; None: all."""
        if self.owners is None:
            return None
        first = number << PAGE_BITS
        found = self.owners.rows(
            "SELECT page - $1 FROM owners WHERE page BETWEEN $1 AND $2",
            first, first + (1 << PAGE_BITS) - 1,
        )  # fmt: skip
        return frozenset(position for (position,) in found)

    def read(self, number: int, kept: frozenset[int] | None) -> bytes:
        """Return the text of a shard, with empty text for pages that do not count."""
        text = self.paths[number].read_bytes()
        if kept is None:
            return text
        return b"\f".join(page if i in kept else b"" for i, page in enumerate(text.split(b"\f")))


def name_pages(
    names: Iterable[str],
    shards: TextShards,
    db: DuckDbStore,
    path: Path,
    memory: int,
    threads: int,
    progress: Callable[[int], None],
) -> npt.NDArray[np.uint32]:
    """Return u4[names, 2], mapped from a file at `path`: pages that link a name, and that have it.

    The table `linked` of `db` has the number of linking pages by hash.

    names     all names in normal form, in the order of the rows
    progress  Progress callback; takes the number of shards done.
    """
    total = _store_hashes(names, db)
    name_filter = NameFilter(total, memory // 4)
    for found in db.batches("name_hashes", "number", _BATCH, "hash"):
        name_filter.add(found["hash"])
    _count_occurrences(name_filter, shards, db, memory // 2 // threads, threads, progress)
    return _write_pages(db, path, total)


def _store_hashes(names: Iterable[str], db: DuckDbStore) -> int:
    db.run("CREATE TABLE name_hashes (number INTEGER, hash UBIGINT)")
    names, total = iter(names), 0
    while batch := list(islice(names, _BATCH)):
        numbers = np.arange(total, total + len(batch), dtype=np.int32)
        db.append("name_hashes", {"number": numbers, "hash": name_hashes(batch)})
        total += len(batch)
    return total


def _count_occurrences(
    names: NameFilter,
    shards: TextShards,
    db: DuckDbStore,
    memory: int,
    threads: int,
    progress: Callable[[int], None],
) -> None:
    """Fill the table `occurring`, with several rows per hash."""
    db.run("CREATE TABLE occurring (hash UBIGINT, pages UINTEGER)")
    lock = threading.Lock()
    done = 0

    def store(found: tuple[Keys, Counts]) -> None:
        with lock:
            db.append("occurring", {"hash": found[0], "pages": found[1]})

    numbers = iter(range(len(shards.paths)))  # next() is atomic: an idle thread takes the next one

    def work() -> None:
        nonlocal done
        counter = NamePageCounter(names, memory)
        for number in numbers:
            with lock:
                kept = shards.kept_pages(number)
            for found in counter.add(shards.read(number, kept)):
                store(found)
            with lock:
                done += 1
                progress(done)
        store(counter.drain())

    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work) for _ in range(threads)]:
            future.result()


def _write_pages(db: DuckDbStore, path: Path, total: int) -> npt.NDArray[np.uint32]:
    """Write the counts of each name; it occurs at least on the pages that link it."""
    db.group("occurs", "hash, sum(pages)::BIGINT AS pages", "occurring", "hash")
    db.run("DROP TABLE occurring")
    db.run(
        "CREATE TABLE seen AS SELECT n.number, coalesce(l.pages, 0)::BIGINT AS linked, "
        "greatest(coalesce(o.pages, 0), coalesce(l.pages, 0))::BIGINT AS pages "
        "FROM name_hashes n LEFT JOIN linked l USING (hash) LEFT JOIN occurs o USING (hash) "
        "ORDER BY number"
    )
    out: npt.NDArray[np.uint32] = np.lib.format.open_memmap(path, "w+", np.uint32, (total, 2))
    for found in db.batches("seen", "number", _BATCH, "number, linked, pages"):
        for column, name in enumerate(("linked", "pages")):
            out[found["number"], column] = np.minimum(found[name], _MAX_COUNT)
    db.run("DROP TABLE seen; DROP TABLE occurs; DROP TABLE name_hashes")
    return out
