"""Confidence: signs of a search, probabilities that stay such, and impossible weights."""

import math

import numpy as np
import pytest

from sgtb.core.errors import SettingsError
from sgtb.linking.calibration.confidence import (
    LINK,
    NIL_OUTCOME,
    OTHER,
    SIGNS,
    Confidence,
    certain,
    searched,
    share_out,
)


def some_mentions(rng, n, nil=False):
    sizes = rng.integers(1 + nil, 7, n)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    raw = rng.gamma(0.5, size=offsets[-1]) + 1e-9
    p = raw / np.repeat(np.add.reduceat(raw, offsets[:-1]), sizes)
    choice = np.array([rng.integers(size) for size in sizes], np.int32)
    likeliest = rng.random(n) < 0.8
    for m in np.flatnonzero(likeliest):
        choice[m] = p[offsets[m] : offsets[m + 1]].argmax()
    return p, offsets, choice


def signs_of(p, choice, score, nil):
    """The slow twin for one mention: its entity and signs."""
    entities = [*range(len(p) - nil)]
    chose_nil = bool(nil) and choice == len(p) - 1
    entity = max(entities, key=lambda i: p[i]) if chose_nil else choice
    log = [math.log(max(x, 1e-9)) for x in p]
    others = [log[i] for i in entities if i != entity]
    lead = 4 * math.tanh((log[entity] - max(others)) / 4) if others else 4.0
    over = 4 * math.tanh((log[entity] - log[-1]) / 4) if nil else 0.0
    return entity, [1.0, lead, over, float(chose_nil), 8 * math.tanh(score[entity] / 8)]


@pytest.mark.parametrize("nil", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_signs_agree_with_their_twin(seed, nil):
    rng = np.random.default_rng(seed)
    p, offsets, choice = some_mentions(rng, 60, nil)
    score = rng.normal(size=len(p)).astype(np.float32) * 5
    entities, found = searched(p, offsets, choice, score, nil)
    assert found.shape == (60, len(SIGNS))
    for m in range(60):
        own = slice(offsets[m], offsets[m + 1])
        entity, signs = signs_of(p[own], choice[m], score[own], nil)
        assert entities[m] == entity
        assert found[m].tolist() == pytest.approx(signs)
    assert not searched(p, offsets, choice, None, nil)[1][:, -1].any()


@pytest.mark.parametrize("nil", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_others_share_what_is_left(seed, nil):
    rng = np.random.default_rng(seed)
    p, offsets, choice = some_mentions(rng, 50, nil)
    entity, signs = searched(p, offsets, choice, None, nil)
    outcomes = Confidence().outcomes(signs, nil)
    np.testing.assert_allclose(outcomes.sum(axis=1), 1)
    assert nil or not outcomes[:, NIL_OUTCOME].any()
    shared = share_out(p, offsets, entity, outcomes, nil)
    for m in range(50):
        own, before = shared[offsets[m] : offsets[m + 1]], p[offsets[m] : offsets[m + 1]]
        best, last = entity[m], len(own) - 1
        assert own[best] == outcomes[m, LINK]
        assert ((own >= 0) & (own <= 1)).all()
        assert own.sum() <= 1 + 1e-12
        others = np.array([i for i in range(len(own)) if i != best and not (nil and i == last)])
        if nil:
            assert own[last] == outcomes[m, NIL_OUTCOME]
        if len(others):
            assert own[others].max() <= own[best]
            expected = outcomes[m, OTHER] * before[others] / before[others].sum()
            np.testing.assert_allclose(own[others], np.minimum(expected, own[best]))


def test_a_single_candidate_depends_on_the_evidence():
    p, offsets, choice = np.ones(2), np.array([0, 1, 2]), np.zeros(2, np.int32)
    _, signs = searched(p, offsets, choice, np.array([-6.0, 6.0], np.float32), False)
    low, high = Confidence().outcomes(signs, False)[:, LINK]
    assert 0.5 < low < high < 1


def test_the_default_never_exceeds_what_the_guide_says():
    p, offsets = np.array([1.0, 0.0]), np.array([0, 2])
    _, signs = searched(p, offsets, np.zeros(1, np.int32), np.array([99, 0], np.float32), False)
    assert 0.99 < Confidence().outcomes(signs, False)[0, LINK] < 0.993


def test_what_is_fixed_is_certain():
    found = certain(np.array([True, False]), np.array([[0.2, 0.3, 0.5]] * 2))
    assert found.tolist() == [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]


@pytest.mark.parametrize("change", [{"link": (1.0,)}, {"nil": (math.nan,) * 5}, {"link": "abcde"}])
def test_impossible_weights(change):
    with pytest.raises(SettingsError, match="must be 5 numbers"):
        Confidence(**change)


def test_plain_data_and_back():
    confidence = Confidence((1.0, 2.0, 3.0, 4.0, 5.0))
    assert Confidence.from_dict(confidence.to_dict()) == confidence
    with pytest.raises(TypeError):
        Confidence.from_dict({**confidence.to_dict(), "kind": ()})
