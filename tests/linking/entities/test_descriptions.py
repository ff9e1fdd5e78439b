"""Descriptions: words of texts by number, and what entities are described with, against twins."""

import numpy as np
import pytest

from experiments.entity_tables import TableSource
from sgtb.core.ragged import Ragged, Texts
from sgtb.linking.entities.background import Lexicon, bag_matrix, bags, descriptions
from sgtb.native import sum_words
from sgtb.text.normalization import STOP_WORDS, normal_phrase, normal_words
from tests.helpers.linking_builders import documents, lexicon_of, world

TITLES = [
    "", " ", "Orlan", "The Orlan of Orlan", "O'Brien's (band)", "U.S. 7's'", "a_b.c d-e",
    "'s x's y'sa", "rock's.n roll", "Zürich", "北京 Orlan", "ORLAN’s Team", "x\x00y\tz",
    "it's_", "'", "s's",
]  # fmt: skip


def lexicon_with(texts):
    return Lexicon.build(documents(2), texts)


def naive_bag(lexicon, text):
    number = lexicon.number
    return sorted({number[w] for w in normal_words(text) if w in number and w not in STOP_WORDS})


def random_texts(seed):
    rng = np.random.default_rng(seed)
    letters = [*"abS s'._-09’é\u0301İΣ"]
    return ["".join(rng.choice(letters, rng.integers(0, 12))) for _ in range(200)]


@pytest.mark.parametrize("texts", [TITLES, [], *map(random_texts, range(5))])
def test_bags_against_the_twin(texts):
    lexicon = lexicon_with(texts[::2])
    found = bags(lexicon, Texts.of(texts))
    assert [found.row(i).tolist() for i in range(len(texts))] == [
        naive_bag(lexicon, text) for text in texts
    ]
    normal = bags(lexicon, Texts.of([*map(normal_phrase, texts)]), in_normal_form=True)
    for one, other in zip(found, normal, strict=True):
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())


@pytest.mark.parametrize("seed", range(5))
def test_sums_against_the_twin(seed):
    rng = np.random.default_rng(seed)

    def lists(n, size, high):
        return [rng.integers(0, high, rng.integers(0, size)).tolist() for _ in range(n)]

    linked, texts, own = lists(9, 5, 7), lists(7, 6, 12), lists(9, 4, 12)
    weight = rng.random(7)
    offsets, room = np.empty(10, np.int64), 9 * 30
    columns, values = np.empty(room, np.int32), np.empty(room, np.float32)
    given = [Ragged.of(some, np.int32) for some in (linked, texts, own)]
    size = sum_words(given[0], given[1], weight, given[2], offsets, columns, values)
    assert size == offsets[-1]
    for r in range(9):
        sums: dict[int, float] = {}
        for t in linked[r]:
            for word in texts[t]:
                sums[word] = sums.get(word, 0.0) + weight[t]
        for word in own[r]:
            sums[word] = sums.get(word, 0.0) + 1.0
        first, last = offsets[r : r + 2]
        assert columns[first:last].tolist() == sorted(sums)
        assert values[first:last].tolist() == [np.float32(sums[word]) for word in sorted(sums)]


def test_descriptions_are_made_of_the_titles_of_neighbours():
    table = world()
    lexicon = lexicon_of(documents(4), table)
    source, numbers = TableSource(table), np.array([0, 3, 20])
    rows = source.rows(numbers)
    found = descriptions(rows, source, lexicon)
    degree = source.degrees(np.arange(len(table)))
    weight = np.minimum(lexicon.weight, lexicon.rarity)
    for r in range(len(numbers)):
        expected = np.zeros(len(lexicon.words))
        for other in rows.linked.row(r).tolist():
            expected[naive_bag(lexicon, table.titles[other])] += 1 / np.log(2 + degree[other])
        expected = np.log1p(expected) * weight
        expected /= max(np.linalg.norm(expected), 1e-12)
        own = np.zeros(len(lexicon.words))
        own[found.indices[found.indptr[r] : found.indptr[r + 1]]] = found.data[
            found.indptr[r] : found.indptr[r + 1]
        ]
        np.testing.assert_allclose(own, expected, atol=1e-6)


def test_a_matrix_of_bags_has_ones():
    lexicon = lexicon_with(TITLES)
    bag = bag_matrix(lexicon, bags(lexicon, Texts.of(["Orlan team", ""])))
    assert bag.data.tolist() == [1.0] * len(bag.indices)
    assert (bag.n_rows, bag.n_columns) == (2, len(lexicon.words))
