"""Nodes: the entities of a document, and a slow, obvious twin."""

import numpy as np
import pytest

from sgtb.linking.candidates.candidate_table import MATCHES, CandidateTable, Nodes


def candidates_of(entities_of_mentions):
    """CandidateTable of documents, given the entities of each mention of each."""
    mentions = [one for document in entities_of_mentions for one in document]
    return CandidateTable(
        (None,) * len(entities_of_mentions),
        (None,) * len(mentions),
        np.cumsum([0, *map(len, entities_of_mentions)]).astype(np.int32),
        np.cumsum([0, *map(len, mentions)]).astype(np.int32),
        np.array([e for one in mentions for e in one], np.int32),
        np.full(len(mentions), -1, np.int32),
        np.zeros(sum(map(len, mentions)), np.float32),
        np.zeros((sum(map(len, mentions)), len(MATCHES)), np.float32),
    )


def assert_like_the_twin(given, n_entities):
    found = Nodes.of(candidates_of(given), n_entities)
    distinct = [sorted({e for one in document for e in one}) for document in given]
    assert found.offsets.tolist() == np.cumsum([0, *map(len, distinct)]).tolist()
    assert found.entity.tolist() == [e for own in distinct for e in own]
    number = [distinct[d].index(e) for d, own in enumerate(given) for one in own for e in one]
    assert found.number.tolist() == number
    listed = [e for own in given for one in own for e in one]
    assert found.entity[found.place].tolist() == listed


def test_entities_are_numbered_in_ascending_order():
    assert_like_the_twin([[[4, 2], [2, 0]], [], [[], [4]], [[2, 2]]], 5)


@pytest.mark.parametrize("given", [[], [[]], [[[]], []]])
def test_nothing_has_no_nodes(given):
    assert_like_the_twin(given, 0)


@pytest.mark.parametrize("seed", range(5))
def test_like_the_twin(seed):
    rng = np.random.default_rng(seed)
    given = [
        [rng.integers(0, 30, rng.integers(0, 9)).tolist() for _ in range(rng.integers(0, 7))]
        for _ in range(12)
    ]
    assert_like_the_twin(given, 30)
