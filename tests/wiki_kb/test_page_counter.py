"""Kernels that count pages, against slow and obvious twins."""

from collections import Counter

import numpy as np
import pytest

from sgtb.wiki_kb.name_finder import MAX_WORDS, NameFilter, NameFinder
from sgtb.wiki_kb.name_hash import name_hashes
from sgtb.wiki_kb.near_pairs import WINDOW, PairCounter

pytestmark = pytest.mark.nojit


@pytest.fixture(autouse=True)
def quiet():
    """Without numba, numpy would warn of what hashes are made of."""
    with np.errstate(over="ignore"):
        yield


def summed(found) -> Counter:
    total: Counter = Counter()
    for keys, counts in found:
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            total[key] += count
    return total


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
    finder = NameFinder(known, 1)
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
    finder = NameFinder(known, 1)
    list(finder.add(b"a\nb c\n\n \x0b\na\n\fb b\n\f\f"))
    total = summed([finder.drain()])
    assert [total[key] for key in hashes.tolist()] == [0, 2, 0]


def test_a_page_with_more_names_than_the_table_holds():
    names = [str(n) for n in range(2000)]
    known = NameFilter(len(names), 1 << 16)
    hashes = name_hashes(names)
    known.add(hashes)
    finder = NameFinder(known, 1)
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
