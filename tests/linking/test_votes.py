"""Votes in any number of spaces; test_coherence.py has the twin of what names say in one."""

import numpy as np
import pytest

from sgtb.linking.segments import share
from sgtb.linking.votes import CLOSE_VOTES, REACH, VOTES, votes
from tests.linking.test_coherence import naive_votes, random_texts, sides_of


def vectors_of(seed: int, n: int, width: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((n, width)).astype(np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)


class WithSpace:
    """Facts with a vector space of its own choosing."""

    def __init__(self, facts, vectors):
        self.links, self.in_links, self.own_vector = facts.links, facts.in_links, vectors


@pytest.mark.nojit
@pytest.mark.parametrize("widths", [(), (1,), (5, 8), (3, 0, 6)])
def test_any_number_of_spaces_of_any_width(widths):
    texts, entities = random_texts(7, 3, 7)
    choices, contexts, facts = sides_of(texts, entities)
    prior = share(facts.in_links[choices.entity] + 1.0, choices.candidate_offsets)
    spaces = [vectors_of(i, len(facts), width) for i, width in enumerate(widths)]
    found = votes(choices, contexts.names, prior, facts.links, spaces)
    assert found.shape == (len(VOTES) + len(CLOSE_VOTES) * len(spaces), choices.n_candidates)
    for s, vectors in enumerate(spaces or [vectors_of(0, len(facts), 0)]):
        twin = naive_votes(choices, contexts, WithSpace(facts, vectors), "own")
        for i, name in enumerate(VOTES):
            np.testing.assert_allclose(found[i], [row[name] for row in twin], atol=1e-6)
        for i, name in enumerate(CLOSE_VOTES if spaces else ()):
            expected = [row[name] for row in twin]
            np.testing.assert_allclose(found[3 * s + 3 + i], expected, atol=1e-6, err_msg=name)


def test_a_document_longer_than_names_reach():
    """Candidates come again, in reach and out of it, and names come with other candidates."""
    texts, entities = random_texts(3, 2, 3 * REACH)
    choices, contexts, facts = sides_of(texts, entities)
    assert len(set(contexts.names)) > REACH + 2
    prior = share(facts.in_links[choices.entity] + 1.0, choices.candidate_offsets)
    vectors = vectors_of(1, len(facts), 6)
    found = votes(choices, contexts.names, prior, facts.links, [vectors])
    twin = naive_votes(choices, contexts, WithSpace(facts, vectors), "own")
    for i, name in enumerate((*VOTES, *CLOSE_VOTES)):
        np.testing.assert_allclose(found[i], [row[name] for row in twin], atol=1e-6, err_msg=name)
