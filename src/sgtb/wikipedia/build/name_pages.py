"""Pages of names: on how many pages a name is a link, and in how many it occurs at all."""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sgtb.wikipedia.build.duckdb_store import Counting
from sgtb.wikipedia.build.name_finder import NameFilter, NameFinder
from sgtb.wikipedia.build.name_hash import name_hashes
from sgtb.wikipedia.build.page_counter import Counts, Keys

Told = Callable[[int], None]
_BATCH = 100_000
_MOST = np.iinfo(np.uint32).max


def name_pages(
    names: Callable[[], Iterable[str]],
    shards: Sequence[Path],
    kept: Callable[[int], frozenset[int] | None],
    counting: Counting,
    path: Path,
    memory: int,
    threads: int,
    told: Told,
) -> npt.NDArray[np.uint32]:
    """Return u4[names, 2], in a file at `path`: pages that link a name, pages it occurs in.

    The table `linked` of `counting` knows by hash how many pages link a name.

    names   yields every name in normal form, in the order of the rows
    shards  files with text, as `NameFinder` reads it
    kept    tells which pages of the shard of a number count, by their place; None: all
    told    is told after every shard how many are done
    """
    total = _hash_names(names(), counting)
    known = NameFilter(total, memory // 4)
    for low, high in counting.spans("name_hashes", "number", _BATCH):
        found = counting.arrays(
            "SELECT hash FROM name_hashes WHERE number BETWEEN $1 AND $2", low, high
        )
        known.add(found["hash"])
    _find(known, shards, kept, counting, memory // 2 // threads, threads, told)
    return _joined(counting, path, total)


def _hash_names(names: Iterable[str], counting: Counting) -> int:
    counting.run("CREATE TABLE name_hashes (number INTEGER, hash UBIGINT)")
    names, total = iter(names), 0
    while batch := list(islice(names, _BATCH)):
        numbers = np.arange(total, total + len(batch), dtype=np.int32)
        counting.append("name_hashes", {"number": numbers, "hash": name_hashes(batch)})
        total += len(batch)
    return total


def _find(
    known: NameFilter,
    shards: Sequence[Path],
    kept: Callable[[int], frozenset[int] | None],
    counting: Counting,
    memory: int,
    threads: int,
    told: Told,
) -> None:
    """Fill the table `occurring`; its rows of a hash are still to be added up."""
    counting.run("CREATE TABLE occurring (hash UBIGINT, pages UINTEGER)")
    guard = threading.Lock()
    done = 0

    def keep(found: tuple[Keys, Counts]) -> None:
        with guard:
            counting.append("occurring", {"hash": found[0], "pages": found[1]})

    def work(mine: Sequence[int]) -> None:
        nonlocal done
        finder = NameFinder(known, memory)
        for number in mine:
            with guard:
                wanted = kept(number)
            for found in finder.add(_text(shards[number], wanted)):
                keep(found)
            with guard:
                done += 1
                told(done)
        keep(finder.drain())

    with ThreadPoolExecutor(threads) as pool:
        numbers = range(len(shards))
        for future in [pool.submit(work, numbers[i::threads]) for i in range(threads)]:
            future.result()


def _text(shard: Path, wanted: frozenset[int] | None) -> bytes:
    text = shard.read_bytes()
    if wanted is None:
        return text
    pages = text.split(b"\f")
    return b"\f".join(page if i in wanted else b"" for i, page in enumerate(pages))


def _joined(counting: Counting, path: Path, total: int) -> npt.NDArray[np.uint32]:
    """Write what belongs to each name; a name occurs at least where it is a link."""
    counting.group("occurs", "hash, sum(pages)::BIGINT AS pages", "occurring", "hash")
    counting.run("DROP TABLE occurring")
    counting.run(
        "CREATE TABLE seen AS SELECT n.number, coalesce(l.pages, 0)::BIGINT AS linked, "
        "greatest(coalesce(o.pages, 0), coalesce(l.pages, 0))::BIGINT AS pages "
        "FROM name_hashes n LEFT JOIN linked l USING (hash) LEFT JOIN occurs o USING (hash) "
        "ORDER BY number"
    )
    out: npt.NDArray[np.uint32] = np.lib.format.open_memmap(path, "w+", np.uint32, (total, 2))
    for low, high in counting.spans("seen", "number", _BATCH):
        found = counting.arrays(
            "SELECT linked, pages FROM seen WHERE number BETWEEN $1 AND $2 ORDER BY number",
            low, high,
        )  # fmt: skip
        out[low : high + 1, 0] = np.minimum(found["linked"], _MOST)
        out[low : high + 1, 1] = np.minimum(found["pages"], _MOST)
    counting.run("DROP TABLE seen; DROP TABLE occurs; DROP TABLE name_hashes")
    return out
