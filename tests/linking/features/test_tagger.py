"""The tagger: its kernels against a slow twin, and what it learns."""

import math
from collections import defaultdict

import numpy as np
import pytest

from sgtb.core.ragged import Ragged
from sgtb.linking.features.ranker import TAG_OPTIMIZER, TAGS, Tagger
from sgtb.native import learn_tags
from tests.helpers.linking_builders import clue_rows


class NaiveTagger:
    """The twin: weights in a dictionary, one clue and one tag at a time."""

    def __init__(self, size):
        self.size = size
        self.weight = defaultdict(float)
        self.seen = defaultdict(float)

    def probabilities(self, clues):
        score = [sum(self.weight[c % self.size, t] for c in clues) for t in range(len(TAGS))]
        whole = sum(math.exp(s) for s in score)
        return [math.exp(s) / whole for s in score]

    def learn(self, clues, tag):
        found = self.probabilities(clues)
        for c in clues:  # a clue that comes twice is stepped on twice
            for t, probability in enumerate(found):
                key = c % self.size, t
                slope = probability - (t == tag) + TAG_OPTIMIZER.decay * self.weight[key]
                self.seen[key] += slope**2
                step = TAG_OPTIMIZER.rate * slope / math.sqrt(self.seen[key] + TAG_OPTIMIZER.ease)
                self.weight[key] -= step


def random_clues(seed, n_rows):
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 1 << 32, rng.integers(0, 6)).tolist() for _ in range(n_rows)]
    rows[1] = [rows[0][0], rows[0][0]] if rows[0] else []
    sizes = np.cumsum([0, *map(len, rows)])
    values = np.array([clue for row in rows for clue in row], np.uint32)
    return rows, Ragged(sizes.astype(np.int64), values)


@pytest.mark.parametrize("seed", range(3))
def test_against_the_twin(seed):
    rows, clues = random_clues(seed, 12)
    rng = np.random.default_rng(seed)
    tags = rng.integers(0, len(TAGS), 12).astype(np.int32)
    order = rng.integers(0, 12, 30)
    size = 16  # so few places that clues have to share them
    weights, seen = np.zeros((size, len(TAGS))), np.zeros((size, len(TAGS)))
    learn_tags(clues, tags, order, TAG_OPTIMIZER, weights, seen)
    twin = NaiveTagger(size)
    for m in order:
        twin.learn(rows[m], tags[m])
    out = Tagger(weights).probabilities(clues)
    np.testing.assert_allclose(out, [twin.probabilities(row) for row in rows], rtol=1e-9)
    for (place, t), weight in twin.weight.items():
        assert weights[place, t] == pytest.approx(weight, rel=1e-9)
    assert weights.any()


def lessons(n=80):
    """Clues that tell the tag, beside one that tells nothing."""
    tags = np.arange(n, dtype=np.int32) % len(TAGS)
    clues = clue_rows([["always", f"sign:{tag}", f"noise:{i % 7}"] for i, tag in enumerate(tags)])
    return clues, tags


def test_it_learns_what_clues_tell():
    clues, tags = lessons()
    trained = Tagger.train(clues, tags, np.arange(len(tags)), np.random.default_rng(0))
    found = trained.probabilities(clues)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found.argmax(axis=1) == tags).all()
    unseen = clue_rows([["always", "sign:2", "noise:new"], []])
    found = trained.probabilities(unseen)
    assert found[0].argmax() == 2
    np.testing.assert_allclose(found[1], 1 / len(TAGS))


def test_only_the_rows_given_and_only_those_with_a_tag_are_learned_from():
    clues, tags = lessons()
    half = np.arange(0, 80, 2)
    wrong = tags.copy()
    wrong[1::2] = 3 - wrong[1::2]
    tags[10] = wrong[10] = -1

    def weights(tags, rows):
        return Tagger.train(clues, tags, rows, np.random.default_rng(1)).weights.tobytes()

    assert weights(tags, half) == weights(wrong, half)
    assert weights(tags, half) == weights(tags, half[half != 10])
    assert weights(tags, np.arange(80)) != weights(wrong, np.arange(80))


def test_without_rows_it_knows_nothing():
    clues, tags = lessons()
    trained = Tagger.train(clues, tags, np.zeros(0, np.int64), np.random.default_rng(0))
    np.testing.assert_allclose(trained.probabilities(clues), 1 / len(TAGS))
    assert trained.probabilities(clue_rows([])).shape == (0, len(TAGS))


def test_fewer_bits_make_a_smaller_model_that_still_learns():
    clues, tags = lessons()
    rows, rng = np.arange(len(tags)), np.random.default_rng(0)
    trained = Tagger.train(clues, tags, rows, rng, bits=8)
    assert trained.weights.shape == (1 << 8, len(TAGS))
    assert (trained.probabilities(clues).argmax(axis=1) == tags).mean() > 0.9
