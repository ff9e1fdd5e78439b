"""Scenes: where mentions stand, and a slow, obvious twin."""

from types import SimpleNamespace

import numpy as np

from sgtb.linking.scenes import Scenes, Spots
from sgtb.linking.vocabulary import Vocabulary
from sgtb.records import Document, Token


def spots_of(sentences, mentions):
    """Spots in documents, given the ends of their sentences, and tokens of mentions in each."""
    lengths = [ends[-1] for ends in sentences]
    starts = np.cumsum([0, *lengths])
    bounds = [
        (start + begin, start + end)
        for start, ends in zip(starts.tolist(), sentences, strict=False)
        for begin, end in zip([0, *ends], ends, strict=False)
    ]
    scenes = SimpleNamespace(
        token_offsets=starts,
        sentence_offsets=np.cumsum([0, *map(len, sentences)]),
        sentences=np.array(bounds, np.int64).reshape(-1, 2),
        kind=np.zeros(starts[-1] + 1, np.int32),
    )
    asked = [SimpleNamespace(first=a, stop=b) for own in mentions for a, b in own]
    offsets = np.cumsum([0, *map(len, mentions)]).astype(np.int32)
    return Spots.of(scenes, SimpleNamespace(mentions=asked, mention_offsets=offsets))


def test_where_mentions_stand():
    spots = spots_of([[4, 6, 9], [3]], [[(0, 1), (3, 5), (8, 9)], [(1, 2)]])
    assert spots.document.tolist() == [0, 0, 0, 1]
    assert spots.first.tolist() == [0, 3, 8, 10]
    assert spots.stop.tolist() == [1, 5, 9, 11]
    # A mention across the end of a sentence stands in both, and has the number of the first.
    assert spots.begin.tolist() == [0, 0, 6, 9]
    assert spots.end.tolist() == [4, 6, 9, 12]
    assert spots.sentence.tolist() == [0, 0, 2, 0]
    beyond = 12
    assert spots.sides.tolist() == [
        [beyond, beyond, 1, 2], [1, 2, 5, beyond], [6, 7, beyond, beyond], [beyond, 9, 11, beyond],
    ]  # fmt: skip


def test_mentions_beyond_their_document_stand_at_its_end():
    spots = spots_of([[2, 4], [3]], [[(3, 9), (7, 9), (2, 1)], [(-9, 1)]])
    assert spots.first.tolist() == [3, 4, 2, 4]
    assert spots.stop.tolist() == [4, 4, 2, 5]
    assert spots.sentence.tolist() == [1, 1, 1, 0]
    assert spots.end.tolist() == [4, 4, 4, 7]


def test_sentences_beyond_their_document_end_with_it():
    words = Vocabulary({}, np.zeros(0, np.float32))
    tokens = tuple(Token(word, i, i + 1) for i, word in enumerate("abcd"))
    odd = ((-9, 2), (2, 9), (3, 1), (10**7, 10**8))
    documents = [
        Document("odd", "abcd", tokens, odd, ()), Document("none", "abcd", tokens, (), ()),
    ]  # fmt: skip
    scenes = Scenes.of(documents, words)
    assert scenes.sentences.tolist() == [[0, 2], [2, 4], [3, 3], [4, 4], [4, 8]]


def test_no_mentions_stand_nowhere():
    assert len(spots_of([[2]], [[]]).first) == 0
