"""The lexicon: which words, with which weights."""

import math

import numpy as np
import pytest

from sgtb.linking.entities import background as background_module
from sgtb.linking.entities.background import Lexicon
from sgtb.text.word_vectors import WordVectors
from tests.helpers.linking_builders import document

TEXTS = [
    document("1", "Orlan beats Vessa 7", "the Orlan team 1996"),
    document("2", "orlan's rain and Vessa"),
    document("3", "Orlan 12"),
]
VECTORS = WordVectors("two", {"rain": 0, "snow": 1}, np.array([[0.6, 0.8], [1.0, 0.0]], np.float32))
LEXICON = Lexicon.build(TEXTS, ["Orlán (city)", "The Team"], VECTORS)


@pytest.mark.parametrize(
    ("word", "weight"),
    [
        ("orlan", 0.0),  # log(4 / 4): in all texts
        ("vessa", math.log(4 / 3)),  # in two of three
        ("beats", math.log(4 / 2)),
        ("city", math.log(4 / 1)),  # only in a title
        ("snow", math.log(4 / 1)),  # only among the vectors
        ("the", 0.0),
        ("and", 0.0),
        ("7", 0.0),
        ("12", math.log(4 / 2)),
        ("1996", math.log(4 / 2)),
    ],
)
def test_weights_by_hand(word, weight):
    number = LEXICON.number[word]
    assert LEXICON.words[number] == word
    assert LEXICON.weight[number] == np.float32(weight)


def test_all_words_once_in_order():
    assert set(LEXICON.words) == set(
        "orlan beats vessa 7 the team 1996 rain and 12 city snow".split()
    )


def test_words_of_descriptions_are_known_and_rare():
    lexicon = Lexicon.build(TEXTS, ["Orlan"], None, ["a city of Tarn", "", "Tarn lake"])
    number = dict(zip(lexicon.words, range(len(lexicon.words)), strict=True))
    assert {"tarn", "lake"} <= number.keys()
    assert lexicon.weight[number["lake"]] == np.float32(math.log(4 / 1))
    assert lexicon.texts_with[number["tarn"]] == lexicon.titles_with[number["tarn"]] == 0


def test_of_many_descriptions_shared_words_are_known(monkeypatch):
    monkeypatch.setattr(background_module, "DESCRIPTIONS_PER_WORD", 2)
    given = ["tarn lake", "tarn sea", "hill", "hill"]
    lexicon = Lexicon.build((), (), None, given)
    assert lexicon.words == ("hill", "tarn")


def test_vectors_are_those_of_the_words():
    known = dict(zip(LEXICON.words, LEXICON.vectors.tolist(), strict=True))
    assert known.pop("rain") == pytest.approx([0.6, 0.8])
    assert known.pop("snow") == [1.0, 0.0]
    assert all(vector == [0.0, 0.0] for vector in known.values())


def test_without_texts_or_vectors_there_are_still_words():
    nothing = WordVectors("none", {}, np.zeros((0, 3), np.float32))
    lexicon = Lexicon.build([], ["Orlan"], nothing)
    assert lexicon.words == ("orlan",)
    assert lexicon.weight.tolist() == [0.0]
    assert lexicon.vectors.tolist() == [[0, 0, 0]]


@pytest.mark.parametrize(
    ("word", "titles"), [("orlan", 1), ("city", 1), ("team", 2), ("rain", 0), ("the", 0)]
)
def test_rarity_by_hand(word, titles):
    lexicon = Lexicon.build(TEXTS, ["Orlán (city)", "The Team", "team Team"], VECTORS)
    number = lexicon.number[word]
    assert lexicon.n_titles == 3
    assert lexicon.titles_with[number] == titles, "stop words are not counted"
    assert lexicon.rarity[number] == math.log(4 / (1 + titles))


def test_texts_are_counted_once_for_each_word():
    assert LEXICON.n_texts == 3
    counted = dict(zip(LEXICON.words, LEXICON.texts_with.tolist(), strict=True))
    assert (counted["orlan"], counted["vessa"], counted["snow"]) == (3, 2, 0)


def test_without_word_vectors_there_are_words_and_no_dimensions():
    lexicon = Lexicon.build(TEXTS, iter(["Orlan City"]))
    assert "city" in lexicon.words
    assert "snow" not in lexicon.words
    assert lexicon.vectors.shape == (len(lexicon.words), 0)
    assert lexicon.vectors.dtype == np.float32
