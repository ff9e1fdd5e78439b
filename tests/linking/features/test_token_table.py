"""TokenTable: documents in columns, their topics, and the longest names that contain others."""

import numpy as np
import pytest

from sgtb.core.records import Document, Mention, Token
from sgtb.linking.entities.vocabulary import Vocabulary
from sgtb.linking.features.contexts import Names, TokenTable, topic_of
from tests.helpers.linking_builders import document


def test_sentences_beyond_their_document_end_with_it():
    words = Vocabulary({}, np.zeros(0, np.float32))
    tokens = tuple(Token(word, i, i + 1) for i, word in enumerate("abcd"))
    odd = ((-9, 2), (2, 9), (3, 1), (10**7, 10**8))
    documents = [
        Document("odd", "abcd", tokens, odd, ()), Document("none", "abcd", tokens, (), ()),
    ]  # fmt: skip
    tokens = TokenTable.of(documents, words)
    assert tokens.sentences.tolist() == [[0, 2], [2, 4], [3, 3], [4, 4], [4, 8]]


@pytest.mark.parametrize(
    ("line", "topic"),
    [
        ("SOCCER - LEADERS", "soccer"), ("NBA BASKETBALL - RESULTS", "basketball"),
        ("Rain in the - north", ""), ("- x", ""), ("Rain", ""), ("", ""),
    ],
)  # fmt: skip
def test_topics_of_headlines(line, topic):
    assert topic_of(document("1", line)) == topic


def longest(name, names):
    """The twin: all names compared with each other."""
    best = name
    for other in names:
        if f" {name} " in f" {other} " and len(other.split()) > len(best.split()):
            best = other
    return best


@pytest.mark.parametrize("seed", range(20))
def test_names_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    names = [" ".join(rng.choice([*"abcd"], rng.integers(0, 4))) for _ in range(rng.integers(14))]
    mentions = tuple(Mention(0, 1, 0, 1, name) for name in names)
    found = Names(Document("1", "", (), (), mentions))
    assert found.count == {name: names.count(name) for name in names}
    assert found.longest == {name: longest(name, names) for name in names}
