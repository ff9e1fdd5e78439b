"""Counts of pages per name and per pair of entities, in hash tables of bounded size.

A full table is drained and the caller adds up the parts, so memory does not depend on the number
of keys. A table grows only for a single page with more keys than fit.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sgtb import native
from sgtb.core.dtypes import Ints, Longs
from sgtb.wikipedia.build.duckdb_store import DuckDbStore

Keys = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint32]
MAX_WORDS: int = native.MAX_NAME_WORDS  # longer names are not searched for
WINDOW = 8  # number of following links in the same paragraph that a link forms pairs with
PAGE_BITS = 24  # the page number is the number of its shard << PAGE_BITS, plus its place in it
_BITS_PER_NAME = 16
_BATCH = 100_000
_MAX_COUNT = np.iinfo(np.uint32).max


def name_hashes(names: Sequence[str]) -> Keys:
    """Return the 64-bit hashes of names in normal form.

    A name's hash combines the hashes of its words, so `find_names` hashes each word of a text
    once, however many names begin with it.
    """
    encoded = [name.encode() for name in names]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    hashes = np.empty(len(names), np.uint64)
    native.hash_names(b"".join(encoded), offsets, hashes)
    return hashes


class NameFilter:
    """Bloom filter over the hashes of names, of at most `memory` bytes."""

    def __init__(self, names: int, memory: int) -> None:
        bits = 1 << (max(names, 64) * _BITS_PER_NAME).bit_length()
        max_bits = 1 << (memory * 8).bit_length() >> 1
        self.bits = np.zeros(max(min(bits, max_bits), 64) // 8, np.uint8)

    def add(self, hashes: Keys) -> None:
        """Add hashes."""
        native.set_name_bits(self.bits, hashes)


class PageCounter:
    """Number of pages per key. Kernels fill `table`, initially of at most `memory` bytes."""

    def __init__(self, memory: int) -> None:
        self.table = native.make_page_counter(memory)

    def drain(self) -> tuple[Keys, Counts]:
        """Return keys and counts since the last call, and clear the table."""
        n = native.count_keys(self.table)
        keys, counts = np.empty(n, np.uint64), np.empty(n, np.uint32)
        native.drain_counter(self.table, keys, counts)
        return keys, counts


class NamePageCounter(PageCounter):
    """Number of pages in which each name occurs, by the name's hash.

    The few word sequences that pass the filter without being a name get counts, too; they are
    dropped when counts are joined with names.
    """

    def __init__(self, names: NameFilter, memory: int) -> None:
        super().__init__(memory)
        self._names = names

    def add(self, text: bytes) -> Iterator[tuple[Keys, Counts]]:
        """Count the names of whole pages; yield hashes and counts whenever the table is full.

        text  words separated by single spaces; lines end with \\n, pages with \\f
        """
        at = 0
        while at < len(text):
            at = native.find_names(self.table, self._names.bits, text, at)
            if at < len(text):
                yield self.drain()


class PairCounter(PageCounter):
    """Number of pages on which two entities are linked in one paragraph, a few links apart."""

    def add(self, page: Longs, line: Ints, entity: Ints) -> Iterator[tuple[Keys, Counts]]:
        """Count the pairs of whole pages; yield pairs and counts whenever the table is full.

        Links are in order; entity is -1 for a link without one. A pair is
        lower entity << 32 | higher entity.
        """
        at = 0
        while at < len(page):
            at = native.count_pairs(self.table, page, line, entity, WINDOW, at)
            if at < len(page):
                yield self.drain()


def name_pages(
    names: Iterable[str], shards: Sequence[Path], db: DuckDbStore, path: Path, *,
    some_left_out: bool, memory: int, threads: int, progress: Callable[[int], None],
) -> npt.NDArray[np.uint32]:  # fmt: skip
    """Return u4[names, 2], mapped from a file at `path`: pages that link a name, and that have it.

    names          all names in normal form, in the order of the rows
    shards         text of all pages, in files in the form that `NamePageCounter` reads
    db             its table `linked` has the number of linking pages by hash
    some_left_out  only pages of the table `owners` count
    progress       Progress callback; takes the number of shards done.
    """
    db.run("CREATE TABLE name_hashes (number INTEGER, hash UBIGINT)")
    names, total = iter(names), 0
    while batch := list(islice(names, _BATCH)):
        numbers = np.arange(total, total + len(batch), dtype=np.int32)
        db.append("name_hashes", {"number": numbers, "hash": name_hashes(batch)})
        total += len(batch)
    name_filter = NameFilter(total, memory // 4)
    for found in db.batches("name_hashes", "number", _BATCH, "hash"):
        name_filter.add(found["hash"])
    counters = [NamePageCounter(name_filter, memory // 2 // threads) for _ in range(threads)]
    _count_occurrences(counters, shards, db, some_left_out, progress)
    return _write_pages(db, path, total)


def _count_occurrences(
    counters: Sequence[NamePageCounter], shards: Sequence[Path], db: DuckDbStore,
    some_left_out: bool, progress: Callable[[int], None],
) -> None:  # fmt: skip
    """Fill the table `occurring`, with several rows per hash; each counter has a thread."""
    db.run("CREATE TABLE occurring (hash UBIGINT, pages UINTEGER)")
    lock = threading.Lock()
    done = 0

    def store(found: tuple[Keys, Counts]) -> None:
        with lock:
            db.append("occurring", {"hash": found[0], "pages": found[1]})

    def read(number: int) -> bytes:
        text = shards[number].read_bytes()
        if not some_left_out:
            return text
        first, last = number << PAGE_BITS, (number + 1 << PAGE_BITS) - 1
        with lock:
            rows = db.rows("SELECT page FROM owners WHERE page BETWEEN $1 AND $2", first, last)
        kept = {page - first for (page,) in rows}
        return b"\f".join(page if i in kept else b"" for i, page in enumerate(text.split(b"\f")))

    numbers = iter(range(len(shards)))  # next() is atomic: an idle thread takes the next one

    def work(counter: NamePageCounter) -> None:
        nonlocal done
        for number in numbers:
            for found in counter.add(read(number)):
                store(found)
            with lock:
                done += 1
                progress(done)
        store(counter.drain())

    with ThreadPoolExecutor(len(counters)) as pool:
        list(pool.map(work, counters))


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
