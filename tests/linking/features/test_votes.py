"""Votes in any number of spaces; test_coherence.py has the twin of what names say in one."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from sgtb.core.sparse_matrix import share
from sgtb.linking.features.groups.coherence import CLOSE_VOTES, REACH, VOTES, votes
from sgtb.native import count_votes
from tests.helpers.vote_twin import naive_votes, random_texts, sides_of


def vectors_of(seed: int, n: int, width: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((n, width)).astype(np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)


class WithSpace:
    """Facts with a vector space of its own choosing."""

    def __init__(self, facts, vectors):
        self.links, self.in_links, self.own_vector = facts.links, facts.in_links, vectors


@pytest.mark.parametrize("widths", [(), (1,), (5, 8), (3, 0, 6)])
def test_any_number_of_spaces_of_any_width(widths):
    texts, entities = random_texts(7, 3, 7)
    candidates, contexts, facts = sides_of(texts, entities)
    prior = share(facts.in_links[candidates.entity] + 1.0, candidates.candidate_offsets)
    spaces = [vectors_of(i, len(facts), width) for i, width in enumerate(widths)]
    found = votes(candidates, contexts.names, prior, facts.links, spaces)
    assert found.shape == (len(VOTES) + len(CLOSE_VOTES) * len(spaces), candidates.n_candidates)
    for s, vectors in enumerate(spaces or [vectors_of(0, len(facts), 0)]):
        twin = naive_votes(candidates, contexts, WithSpace(facts, vectors), "own")
        for i, name in enumerate(VOTES):
            np.testing.assert_allclose(found[i], [row[name] for row in twin], atol=1e-6)
        for i, name in enumerate(CLOSE_VOTES if spaces else ()):
            expected = [row[name] for row in twin]
            np.testing.assert_allclose(found[3 * s + 3 + i], expected, atol=1e-6, err_msg=name)


def test_a_document_longer_than_names_reach():
    """Candidates come again, in reach and out of it, and names come with other candidates."""
    texts, entities = random_texts(3, 2, 3 * REACH)
    candidates, contexts, facts = sides_of(texts, entities)
    assert len(set(contexts.names)) > REACH + 2
    prior = share(facts.in_links[candidates.entity] + 1.0, candidates.candidate_offsets)
    vectors = vectors_of(1, len(facts), 6)
    found = votes(candidates, contexts.names, prior, facts.links, [vectors])
    twin = naive_votes(candidates, contexts, WithSpace(facts, vectors), "own")
    for i, name in enumerate((*VOTES, *CLOSE_VOTES)):
        np.testing.assert_allclose(found[i], [row[name] for row in twin], atol=1e-6, err_msg=name)


def float32_products(vectors: np.ndarray) -> np.ndarray:
    """All products, summed in the order of coordinates and in single precision."""
    out = np.zeros((len(vectors), len(vectors)), np.float32)
    for k in range(vectors.shape[1]):
        out += vectors[:, k, None] * vectors[None, :, k]
    return out


def exact_closeness(near, offsets, entity, prior) -> np.ndarray:
    """The twin of one document of distinct names, to the bit: voters in order, one by one."""
    spans = [range(a, b) for a, b in itertools.pairwise(offsets.tolist())]
    out = np.zeros((3, len(entity)))
    for r, own in enumerate(spans):
        others = [q for q, span in enumerate(spans) if 0 < abs(q - r) <= REACH and len(span)]
        sure = [q for q in others if len(spans[q]) == 1]
        for c in own:
            for q in others:
                close = [max(near[entity[v], entity[c]], np.float32(0)) for v in spans[q]]
                voted = 0.0
                for v, one in zip(spans[q], close, strict=True):
                    voted += prior[v] * float(one)
                out[0, c] += voted
                out[1, c] += float(max(close))
                out[2, c] += float(max(close)) if q in sure else 0.0
            out[:2, c] /= max(len(others), 1)
            out[2, c] /= max(len(sure), 1)
    return out


@pytest.mark.parametrize("width", [0, 1, 7, 8, 20])
@pytest.mark.parametrize("n_names", [1, 2, 9, 70])
def test_closeness_keeps_the_order_of_every_sum(n_names, width):
    rng = np.random.default_rng(n_names)
    sizes = rng.choice([0, 1, 1, 2, 3, 4, 5, 9, 17], n_names)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    entity = rng.integers(0, 40, offsets[-1]).astype(np.int32)
    vectors = vectors_of(width, 40, width)
    vectors[rng.random(40) < 0.3] = 0  # without a vector
    prior = rng.random(len(entity))
    candidates = SimpleNamespace(
        mention_offsets=np.array([0, n_names], np.int32), candidate_offsets=offsets, entity=entity
    )
    out = np.empty((2, 3, len(entity)))
    no_links = SimpleNamespace(indptr=np.zeros(41, np.int64), indices=np.zeros(0, np.int32))
    count_votes(candidates, np.arange(n_names), prior, no_links, [vectors], REACH, out)
    expected = exact_closeness(float32_products(vectors), offsets, entity, prior)
    assert out[1].tobytes() == expected.tobytes()
    assert not out[0].any()
