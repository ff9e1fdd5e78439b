"""Caches that count bytes: budgets hold for long and for many keys, and results do not change."""

import gc
import json
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sgtb.core.byte_cache import ByteCache, cache_usage
from sgtb.linking.entities.vocabulary import name_clues, topic_clues
from sgtb.linking.linker import Linker
from sgtb.linking.links import Request, Span
from sgtb.linking.mentions.mention_tagger import token_hashes
from sgtb.linking.mentions.token_shapes import shape_of
from sgtb.text.normalization import normal_name, normal_phrase, normal_words


def test_values_are_computed_once_and_the_budget_holds():
    computed = []

    def double(key: str) -> str:
        computed.append(key)
        return key * 2

    cache = ByteCache("doubles", 20_000, double)
    assert [cache["a"], cache["a"], cache["b"]] == ["aa", "aa", "bb"]
    assert computed == ["a", "b"]
    for i in range(1_000):
        assert cache[f"key {i}"] == f"key {i}" * 2
        assert 0 < cache.bytes <= cache.budget
        assert cache.bytes == sum(_size(key, value) for key, value in cache.items())
    assert cache_usage()["doubles"] == (cache.bytes, 20_000)
    cache.clear()
    assert cache.bytes == 0


def _size(key: str, value: str) -> int:
    return 100 + sys.getsizeof(key) + sys.getsizeof(value)


def test_long_entries_are_not_kept():
    cache = ByteCache("long", 1 << 20, str.upper)
    assert cache["🎉" * 100_000] == "🎉" * 100_000
    assert (len(cache), cache.bytes) == (0, 0)
    cache.keep([("x" * 100_000, "")])
    assert len(cache) == 0
    cache.keep([("x" * 100_000, "")], longest=1 << 20)
    assert cache.bytes > 100_000


def test_entries_that_are_kept_fill_the_cache():
    cache: ByteCache[int, np.ndarray] = ByteCache("arrays", 5_000)
    with pytest.raises(KeyError):
        cache[0]
    base = np.zeros(1_000, np.int8)
    for i in range(4):
        cache.keep([(i, base[i:])])  # a view counts with what it shows
    assert not cache.is_full
    cache.keep([(4, base)])
    cache.keep([(4, base)])
    assert cache.is_full
    assert len(cache) == 5


def test_plain_entries_count_as_others_do():
    entries = {"a": 1.5, "é" * 300: None, "": 0}
    one, other = ByteCache("one", 5_000), ByteCache("other", 5_000)
    one.keep(entries.items())
    other.keep_plain(entries)
    assert dict(one) == dict(other) == entries
    assert one.bytes == other.bytes


def test_caches_are_pickled_empty_and_forgotten_with_their_owners():
    shapes = ByteCache("token shapes", 6 << 20, shape_of)
    assert shapes["Utah"] == pickle.loads(pickle.dumps(shapes))["Utah"]
    assert len(pickle.loads(pickle.dumps(shapes))) == 0
    cache = ByteCache("short-lived", 1_000, str.upper)
    assert cache["a"] == "A"
    del cache
    gc.collect()
    assert "short-lived" not in cache_usage()


def test_threads_share_a_cache():
    cache = ByteCache("shared", 5_000, str.upper)
    words = [f"w{i % 97}" for i in range(5_000)]

    def read(seed: int) -> bool:
        own = random.Random(seed).sample(words, len(words))
        return [cache[word] for word in own] == [word.upper() for word in own]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, range(4)))
    assert cache.bytes == sum(_size(key, value) for key, value in cache.items())


def test_no_cache_of_the_linker_exceeds_its_budget():
    """Long spans of characters beyond U+FFFF, and many words that no other text has."""
    shapes = ByteCache("token shapes", 6 << 20, shape_of)
    hashes = ByteCache("token hashes", 6 << 20, token_hashes)
    with Linker.starter() as linker:
        for i in range(3):
            text = "".join(chr(0x1F300 + (7 * i + j) % 700) for j in range(30_000))
            linker.link(Request(text, (Span(i, 29_900),)))
            words = " ".join(f"Wort{i}x{j}" for j in range(4_000))
            linker.link(words)
            for word in words.split():
                shapes[word], hashes[word], normal_name(word)
        usage = cache_usage()
    for text in ("🎉" * 50_000, "x y " * 50_000):
        for function in (normal_words, normal_phrase, normal_name, topic_clues):
            function(text)
        name_clues((text, tuple(text.split())))
    for name, (used, budget) in {**usage, **cache_usage()}.items():
        # What is added at once may exceed it, until the next text.
        assert used <= budget + 2_000_000, name


def test_the_budgets_of_a_linker():
    """In a process of its own: caches of other tests would be added up."""
    code = (
        "import json\n"
        "from sgtb.core.byte_cache import cache_usage\n"
        "from sgtb.linking.linker import Linker\n"
        "with Linker.starter() as linker:\n"
        "    linker.link('Jordan passed to Pippen.')\n"
        "    print(json.dumps(cache_usage()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    usage = json.loads(done.stdout)
    assert sum(budget for _, budget in usage.values()) < 68e6
    assert {"normal phrases", "tokens", "token shapes", "weak names"} <= set(usage)
