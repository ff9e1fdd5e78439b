"""The words of texts, each looked up once."""

import numpy as np
import pytest

from sgtb.linking.entities.vocabulary import UNKNOWN, WORD
from sgtb.linking.features.contexts import text_words


def vocabulary_of(numbers, weights):
    known = np.zeros(len(numbers), WORD)
    known["number"], known["weight"] = numbers, weights
    for i, place in enumerate(("sentence", "headline", "document")):
        known[f"{place}_clue"] = np.arange(len(numbers)) + 10 * i
    return known


def test_words_are_looked_up_once():
    vocabulary = vocabulary_of([5, UNKNOWN, 3, 7], [1, 0, 2, 0.5])
    words = text_words(np.array([2, 0, 2, 1, 0], np.int32), vocabulary)
    assert words.place.tolist() == [0, 1, 0, 2, 1]
    assert words.number.tolist() == [3, 5, UNKNOWN]
    assert words.weight.tolist() == [2, 1, 0]
    assert words.sentence_clue.tolist() == [2, 0, 1]
    assert words.headline_clue.tolist() == [12, 10, 11]
    assert words.document_clue.tolist() == [22, 20, 21]
    assert len(text_words(np.zeros(0, np.int32), vocabulary).number) == 0


@pytest.mark.parametrize("word", [-1, 4, 2**31 - 1])
def test_words_beyond_the_vocabulary_are_refused(word):
    with pytest.raises(ValueError, match=f"^words: {word} is outside 0..3$"):
        text_words(np.array([0, word], np.int32), vocabulary_of([0] * 4, [1] * 4))
