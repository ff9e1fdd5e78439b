"""Training vectors: words and entities of a subject come together, the same in every process."""

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sgtb.core import errors
from sgtb.core.errors import KnowledgeBaseError, MissingExtraError, SettingsError
from sgtb.core.sparse_matrix import unit
from sgtb.text.normalization import normal_words
from sgtb.wikipedia.build import train_vectors as module
from sgtb.wikipedia.build.train_vectors import (
    ENTITY,
    TrainedVectors,
    entity_token,
    line_of_page,
    train_vectors,
)

REPOSITORY = Path(__file__).parents[3]
TOPICS = ("sea", "law")
PER_TOPIC = 5


def corpus():
    """Pages of two subjects: entities 0 to 4 of the one, 5 to 9 of the other."""
    rng = np.random.default_rng(7)
    for page in np.repeat(np.arange(2 * PER_TOPIC), 40).tolist():
        topic = page // PER_TOPIC
        words = [
            f"{TOPICS[topic]}{rng.integers(20)}" if rng.random() < 0.6 else f"any{rng.integers(30)}"
            for _ in range(25)
        ]
        ends = sorted(rng.choice(np.arange(1, 26), 3, replace=False).tolist())
        others = rng.integers(PER_TOPIC, size=3) + topic * PER_TOPIC
        yield line_of_page(page, words, zip(ends, others.tolist(), strict=True))


SETTINGS = {"dimensions": 20, "epochs": 5, "window": 5, "min_count": 2, "seed": 3}


@cache
def trained() -> TrainedVectors:
    return train_vectors(corpus, **SETTINGS)


def digest(found: TrainedVectors) -> str:
    words = "\n".join(found.words).encode()
    return hashlib.sha256(words + found.matrix.tobytes()).hexdigest()


def test_the_line_of_a_page():
    words = "the city of paris lies on the seine".split()
    token = entity_token
    assert line_of_page(9, words, [(4, 1), (8, 2)]) == [
        *(token(9), *words[:4], token(1), *words[4:8], token(2)),
    ]
    assert line_of_page(9, words, [(1, 3), (1, 4)], every=4) == [
        *(token(9), "the", token(3), token(4), "city"),
        *(token(9), "of", "paris", "lies", "on"),
        *(token(9), "the", "seine"),
    ]
    assert line_of_page(9, [], []) == []


def test_no_normal_word_is_an_entity():
    assert entity_token(12) == "\x1f12"
    assert normal_words(f"a{ENTITY}12 {ENTITY}7 b_{ENTITY}") == ("a", "12", "7", "b")


def test_words_and_entities_of_a_subject_are_near_each_other():
    words, of_words = trained().of_words()
    numbers, of_entities = trained().of_entities()
    assert numbers.tolist() == list(range(10))
    assert numbers.dtype == np.int32
    assert sorted(words) == sorted(
        [f"{topic}{i}" for topic in TOPICS for i in range(20)] + [f"any{i}" for i in range(30)]
    )
    topic_of_word = np.array([next((t for t in (0, 1) if TOPICS[t] in word), -1) for word in words])
    topical = topic_of_word >= 0
    both = unit(np.concatenate((of_words[topical], of_entities)))
    topic = np.concatenate((topic_of_word[topical], numbers // PER_TOPIC))
    likeness = both @ both.T
    same = topic[:, None] == topic
    other = ~np.eye(len(topic), dtype=bool)
    # On average, and for each entity: all words of its subject before all of the other.
    assert likeness[same & other].mean() > likeness[~same].mean() + 0.2
    n = topical.sum()
    for entity in range(n, len(topic)):
        to_words = likeness[entity, :n]
        assert to_words[same[entity, :n]].min() > to_words[~same[entity, :n]].max()
        to_entities = np.delete(likeness[entity, n:], entity - n)
        nearest = np.delete(topic[n:], entity - n)[np.argsort(-to_entities)[: PER_TOPIC - 1]]
        assert (nearest == topic[entity]).all()


def test_tokens_stand_in_the_order_of_their_counts():
    text = ["b a c a b a", "d d e e c c", entity_token(5)]
    found = train_vectors(
        lambda: iter([line.split(" ") for line in text]), dimensions=4, epochs=1, min_count=1
    )
    assert found.words == ["a", "c", "b", "d", "e", entity_token(5)]
    assert found.matrix.shape == (6, 4)
    assert found.matrix.dtype == np.float32
    assert np.isfinite(found.matrix).all()


def test_rare_tokens_and_words_beyond_the_most_frequent_are_left_out():
    text = [["a"] * 9 + ["b"] * 5 + ["c"] * 5 + ["d"] * 2 + [entity_token(1)] * 3]

    def words(**settings):
        return train_vectors(lambda: iter(text), dimensions=2, epochs=1, **settings).words

    assert words(min_count=2) == ["a", "b", "c", entity_token(1), "d"]
    assert words(min_count=3) == ["a", "b", "c", entity_token(1)]
    assert words(min_count=5) == ["a", "b", "c"]
    # Of words alike in frequency the smaller; entities are not counted among words.
    assert words(min_count=2, max_words=2) == ["a", "b", entity_token(1)]
    assert words(min_count=2, max_words=99) == ["a", "b", "c", entity_token(1), "d"]


def test_counting_forgets_rare_words_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(module, "_MAX_COUNTED", 50)
    text = [["often", f"rare{i}", entity_token(i)] for i in range(100)]
    counts, n_lines, n_tokens = module._counted(lambda: iter(text))
    assert (n_lines, n_tokens) == (100, 300)
    assert counts["often"] == 100
    assert all(counts[entity_token(i)] == 1 for i in range(100))
    assert len(counts) < 200


SCRIPT = """
from tests.wikipedia.build.test_train_vectors import digest, trained
print(digest(trained()))
"""


def test_the_same_bytes_in_every_process():
    digests = {digest(trained())}
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=REPOSITORY,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout.strip())
    assert len(digests) == 1


def test_another_seed_gives_other_vectors():
    found = train_vectors(corpus, **{**SETTINGS, "seed": 4})
    assert found.words == trained().words
    assert not np.array_equal(found.matrix, trained().matrix)


def test_long_lines_are_trained_to_their_end(monkeypatch):
    # gensim drops what a line has beyond 10,000 tokens.
    line = ["a", "b"] * 10_000 + ["x", "y"] * 10_000
    found = train_vectors(lambda: iter([line]), dimensions=8, epochs=3, window=2, seed=1)
    row = dict(zip(found.words, unit(found.matrix), strict=True))
    assert row["x"] @ row["y"] > row["x"] @ row["a"] + 0.3
    monkeypatch.setattr(module, "_MAX_LINE", 3)
    assert list(module._split_long([list("abcdefg"), [], ["h"]])) == [
        list("abc"),
        list("def"),
        ["g"],
        ["h"],
    ]


def test_progress_is_told():
    told = []
    train_vectors(
        corpus, **{**SETTINGS, "epochs": 3}, progress=lambda *numbers: told.append(numbers)
    )
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


class BrokenError(Exception):
    pass


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_error_of_the_lines_is_raised_and_nothing_hangs(at):
    calls = []

    def lines():
        calls.append(None)
        for i, line in enumerate(corpus()):
            if len(calls) == at and i == 100:
                raise BrokenError
            yield line

    with pytest.raises(BrokenError):
        train_vectors(lines, **SETTINGS)
    assert len(calls) == at


def test_an_error_of_the_progress_ends_the_training():
    def progress(epoch, epochs):
        if epoch == 1:
            raise BrokenError

    with pytest.raises(BrokenError):
        train_vectors(corpus, **SETTINGS, progress=progress)


def test_a_corpus_that_is_stopped_ends():
    # So that gensim's threads do not go on after an interrupt.
    found = module._Corpus(corpus, 400, 1, lambda done, total: None)
    lines = iter(found)
    next(lines)
    found.stopped = True
    assert list(lines) == []


def test_lines_that_do_not_start_again_are_refused():
    once = corpus()
    with pytest.raises(KnowledgeBaseError, match=r"had 400 lines .* and 0 now"):
        train_vectors(lambda: once, **SETTINGS)


@pytest.mark.parametrize("text", [[], [[]], [["a", "b"]]])
def test_too_little_text_is_refused(text):
    with pytest.raises(KnowledgeBaseError, match=r"occurs 2 times; .* lower min_count"):
        train_vectors(lambda: iter(text), min_count=2)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *((name, 0) for name in ("dimensions", "epochs", "window", "min_count", "max_words")),
        *(("seed", value) for value in (-1, 1 << 32)),
    ],
)
def test_settings_out_of_range_are_refused(setting, value):
    with pytest.raises(SettingsError, match=f"{setting} is {value}"):
        train_vectors(corpus, **{setting: value})


def test_without_gensim_the_extra_is_named(monkeypatch):
    def import_module(name):
        raise ModuleNotFoundError("No module named 'gensim'", name="gensim")

    monkeypatch.setattr(errors, "import_module", import_module)
    with pytest.raises(MissingExtraError, match=r"gensim: pip install 'sgtb\[wiki\]'"):
        train_vectors(corpus)
