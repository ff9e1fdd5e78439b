"""Compiled counting of pages, against slow and obvious twins."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sgtb import native
from sgtb.wikipedia.build.page_counters import (
    MAX_WORDS,
    WINDOW,
    NameFilter,
    NamePageCounter,
    PageCounter,
    PairCounter,
    name_hashes,
)


def summed(found) -> Counter:
    total: Counter = Counter()
    for keys, counts in found:
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            total[key] += count
    return total


def slow_hash(name: str) -> int:
    """The hash of a name, in whole numbers."""
    prime, mask, start = 0x100000001B3, (1 << 64) - 1, 0xCBF29CE484222325
    total = start
    for part in name.encode().split(b" "):
        word = start
        for byte in part:
            word = (word ^ byte) * prime & mask
        total = total * prime & mask ^ word
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            total = (total ^ total >> 33) * factor & mask
        total ^= total >> 33
    return total


def test_hashes_are_those_of_the_twin():
    names = ["", " ", "a", "new york", "né  à", "日本 国", "x" * 300]
    assert name_hashes(names).tolist() == [slow_hash(name) for name in names]


def test_a_hash_is_of_words():
    one, two, three, joined = name_hashes(["new york", "york new", "new", "newyork"])
    assert len({one, two, three, joined}) == 4
    assert name_hashes(["new york"])[0] == one
    assert len(name_hashes([])) == 0
    many = [f"{a} {b}" for a in range(60) for b in range(5)]
    assert len(set(name_hashes(many).tolist())) == len(many)


@pytest.mark.parametrize("seed", range(3))
def test_names_are_found_once_a_page(seed):
    rng = np.random.default_rng(seed)
    words = ["a", "bb", "ccc", "né", "d", "日本"]

    def some(most: int) -> str:
        return " ".join(rng.choice(words, rng.integers(1, most + 1)))

    pages = [[some(12) for _ in range(rng.integers(0, 4))] for _ in range(25)]
    names = sorted({some(MAX_WORDS + 1) for _ in range(80)})
    texts = ["".join(f"{line}\n" for line in page) + "\f" for page in pages]
    known = NameFilter(len(names), 1 << 12)
    hashes = name_hashes(names)
    known.add(hashes)
    finder = NamePageCounter(known, 1)
    found = [part for half in (texts[:9], texts[9:]) for part in finder.add("".join(half).encode())]
    total = summed([*found, finder.drain()])
    expected: Counter = Counter()
    for page in pages:
        rows = [line.split(" ") for line in page]
        expected.update(
            {
                " ".join(row[i:j])
                for row in rows
                for i in range(len(row))
                for j in range(i + 1, min(i + MAX_WORDS, len(row)) + 1)
            }
        )
    assert [total[key] for key in hashes.tolist()] == [expected[name] for name in names]


def test_names_do_not_cross_lines_or_pages():
    names = ["a b", "b", "c a"]
    known = NameFilter(len(names), 1 << 10)
    hashes = name_hashes(names)
    known.add(hashes)
    finder = NamePageCounter(known, 1)
    list(finder.add(b"a\nb c\n\n \x0b\na\n\fb b\n\f\f"))
    total = summed([finder.drain()])
    assert [total[key] for key in hashes.tolist()] == [0, 2, 0]


def test_a_page_with_more_names_than_the_table_holds():
    names = [str(n) for n in range(2000)]
    known = NameFilter(len(names), 1 << 16)
    hashes = name_hashes(names)
    known.add(hashes)
    finder = NamePageCounter(known, 1)
    parts = list(finder.add(b"7\n\f" + "\n".join(names).encode() + b"\n\f7\n\f"))
    total = summed([*parts, finder.drain()])
    assert [total[key] for key in hashes.tolist()] == [3 if n == 7 else 1 for n in range(2000)]


@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_counted_once_a_page(seed):
    rng = np.random.default_rng(seed)
    size = 400
    page = np.sort(rng.integers(0, 20, size)) << 24
    line = rng.integers(0, 3, size).astype(np.int32)
    order = np.lexsort((line, page))
    page, line = page[order], line[order]
    entity = rng.integers(-1, 12, size).astype(np.int32)
    counter = PairCounter(1)
    half = int(np.searchsorted(page, 10 << 24))
    found = [
        part
        for part_of in (slice(0, half), slice(half, None))
        for part in counter.add(page[part_of], line[part_of], entity[part_of])
    ]
    total = summed([*found, counter.drain()])
    expected: Counter = Counter()
    for p in np.unique(page):
        pairs = set()
        for at in np.unique(line):
            here = [e for e in entity[(page == p) & (line == at)].tolist() if e >= 0]
            for i, one in enumerate(here):
                for other in here[i + 1 : i + 1 + WINDOW]:
                    if one != other:
                        pairs.add(min(one, other) << 32 | max(one, other))
        expected.update(pairs)
    assert total == expected
    assert list(PairCounter(1).add(page[:0], line[:0], entity[:0])) == []


def test_a_page_with_more_pairs_than_the_table_holds():
    size = 3000
    page, line = np.zeros(size, np.int64), np.zeros(size, np.int32)
    entity = np.arange(size, dtype=np.int32)
    counter = PairCounter(1)
    total = summed([*counter.add(page, line, entity), counter.drain()])
    assert set(total.values()) == {1}
    assert len(total) == sum(min(WINDOW, size - 1 - i) for i in range(size))


def test_threads_that_share_a_counter_lose_nothing():
    counter = PageCounter(1 << 20)
    page, line = np.repeat(np.arange(500), 2), np.zeros(1000, np.int32)
    entity = np.tile(np.array([3, 4], np.int32), 500)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(native.count_pairs, counter.table, page, line, entity, 8, 0)
    assert summed([counter.drain()]) == {3 << 32 | 4: 4000}


LONGS, INTS = np.zeros(4, np.int64), np.zeros(4, np.int32)
BITS, OUT = np.zeros(8, np.uint8), np.zeros(1, np.uint64)
TABLE = object()  # stands for a counter


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("make_page_counter", (-1,), "memory"),
        ("count_keys", (None,), "counter"),
        ("drain_counter", (TABLE, np.zeros(1, np.uint64), np.zeros(0, np.uint32)), "keys"),
        ("drain_counter", (TABLE, np.zeros(0, np.uint64), np.zeros(1, np.uint32)), "pages"),
        ("drain_counter", (TABLE, np.zeros(0, np.int64), np.zeros(0, np.uint32)), "keys"),
        ("count_pairs", (TABLE, LONGS, INTS[:3], INTS, 8, 0), "line"),
        ("count_pairs", (TABLE, LONGS, INTS, INTS[:3], 8, 0), "entity"),
        ("count_pairs", (TABLE, LONGS, INTS, LONGS, 8, 0), "entity"),
        ("count_pairs", (TABLE, LONGS[::2], INTS[:2], INTS[:2], 8, 0), "page"),
        ("count_pairs", (TABLE, LONGS, INTS, INTS, -1, 0), "window"),
        ("count_pairs", (TABLE, LONGS, INTS, INTS, 8, 5), "first"),
        ("count_pairs", (TABLE, LONGS, INTS, INTS, 8, -1), "first"),
        ("hash_names", (b"ab", np.array([0, 3]), OUT), "offsets"),
        ("hash_names", (b"ab", np.array([1, 2]), OUT), "offsets"),
        ("hash_names", (b"ab", np.array([0, 2, 1, 2]), np.zeros(3, np.uint64)), "offsets"),
        ("hash_names", (b"ab", np.array([0, 2]), np.zeros(2, np.uint64)), "offsets"),
        ("hash_names", (b"ab", np.array([0, 2]), b"12345678"), "out"),
        ("hash_names", ("ab", np.array([0, 2]), OUT), "names"),
        ("set_name_bits", (np.zeros(7, np.uint8), OUT), "bits"),
        ("set_name_bits", (np.zeros(0, np.uint8), OUT), "bits"),
        ("set_name_bits", (BITS, LONGS), "hashes"),
        ("find_names", (TABLE, BITS[:0], b"a", 0), "bits"),
        ("find_names", (TABLE, BITS, "a", 0), "text"),
        ("find_names", (TABLE, BITS, b"a", 2), "at"),
        ("find_names", (TABLE, BITS, b"a", -1), "at"),
    ],
)
def test_bad_arguments_are_named(name, arguments, problem):
    counter = PageCounter(1).table
    with pytest.raises((TypeError, ValueError), match=rf"^{problem}\b"):
        getattr(native, name)(*(counter if each is TABLE else each for each in arguments))
