"""TextWords: the words of texts, counted; and a slow, obvious twin."""

from collections import Counter

import numpy as np
import pytest

from sgtb.linking.text_words import TextWords
from sgtb.linking.vocabulary import UNKNOWN, WORD


def vocabulary_of(numbers, weights):
    known = np.zeros(len(numbers), WORD)
    known["number"], known["weight"] = numbers, weights
    return known


def test_words_are_looked_up_once():
    vocabulary = vocabulary_of([5, UNKNOWN, 3, 7], [1, 0, 2, 0.5])
    words = TextWords.of(np.array([2, 0, 2, 1, 0], np.int32), vocabulary)
    assert words.place.tolist() == [0, 1, 0, 2, 1]
    assert words.number.tolist() == [3, 5, UNKNOWN]
    assert words.weight.tolist() == [2, 1, 0]
    assert len(TextWords.of(np.zeros(0, np.int32), vocabulary).number) == 0


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(20)
    numbers[rng.random(20) < 0.2] = UNKNOWN
    weights = np.where(numbers == UNKNOWN, 0, rng.integers(0, 3, 20))  # stop words weigh nothing
    text = rng.integers(0, 20, 60).astype(np.int32)
    words = TextWords.of(text, vocabulary_of(numbers, weights))
    slices = np.sort(rng.integers(0, 61, (9, 4)), axis=1).reshape(9, 2, 2)
    found = words.counted(slices, 20)
    assert found.n_rows == 9
    for r, own in enumerate(slices.tolist()):
        said = [w for begin, end in own for w in text[begin:end] if weights[w] > 0]
        expected = sorted(Counter(numbers[said].tolist()).items())
        at = slice(found.offsets[r], found.offsets[r + 1])
        pairs = zip(found.columns[at].tolist(), found.values[at].tolist(), strict=True)
        assert list(pairs) == expected


def test_no_rows_have_no_words():
    words = TextWords.of(np.zeros(3, np.int32), vocabulary_of([0], [1]))
    found = words.counted(np.zeros((0, 2, 2), np.int64), 1)
    assert found.n_rows == 0
    assert len(found.columns) == 0
