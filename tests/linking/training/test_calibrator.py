"""Calibrator: weights that are found again, shrinkage, and the price of NIL."""

import numpy as np
import pytest

from sgtb.linking.calibration.confidence import LINK, NIL_OUTCOME, OTHER, SIGNS, Confidence, NilRule
from sgtb.linking.training.calibrator import NOTHING_SEEN, Observed, calibrate, fit_confidence

TRUE = Confidence((0.8, 1.6, 0.2, -0.5, 0.1), (-0.4, 1.2, -1.4, 1.0, -0.1))
RULE = NilRule("candidate")
LOST = 0.02


def observations(n, seed=0, with_nil=True, true=TRUE):
    """Mentions whose outcomes are drawn by known weights."""
    rng = np.random.default_rng(seed)
    signs = rng.uniform(-4, 4, (n, len(SIGNS)))
    signs[:, 0] = 1
    signs[:, 3] = rng.random(n) < 0.2
    probability = true.outcomes(signs, with_nil).cumsum(axis=1)
    outcome = (rng.random(n)[:, None] > probability).sum(axis=1)
    return Observed(signs, outcome.astype(np.int64))


@pytest.mark.parametrize("with_nil", [False, True])
def test_weights_are_found_again(with_nil):
    found = fit_confidence(observations(20_000, with_nil=with_nil), with_nil)
    np.testing.assert_allclose(found.link, TRUE.link, atol=0.12)
    if with_nil:
        np.testing.assert_allclose(found.nil, TRUE.nil, atol=0.12)
    else:
        assert found.nil == Confidence().nil


def test_few_observations_stay_near_the_default():
    assert fit_confidence(NOTHING_SEEN, True) == Confidence()
    few, many = (fit_confidence(observations(n), True) for n in (5, 500))
    default = np.array(Confidence().link)
    assert np.abs(np.array(few.link) - default).sum() < np.abs(np.array(many.link) - default).sum()
    measured = calibrate(NOTHING_SEEN, RULE, LOST, 0.9)
    assert (measured.confidence, measured.rule) == (Confidence(), RULE)
    assert measured.to_dict()["precision"] is measured.to_dict()["log_loss"] is None


def test_separable_observations_stay_finite():
    seen = observations(50)
    perfect = Observed(seen.signs, np.where(seen.signs[:, 1] > 0, LINK, OTHER))
    assert np.abs(fit_confidence(perfect, True).link).max() < 10


def test_the_same_observations_give_the_same_fit():
    assert fit_confidence(observations(300), True) == fit_confidence(observations(300), True)


def test_confidence_holds_on_other_mentions():
    fitted = calibrate(observations(4_000), RULE, LOST)
    others = observations(4_000, seed=1)
    outcomes = fitted.confidence.outcomes(others.signs, True)
    for outcome in (LINK, NIL_OUTCOME, OTHER):
        assert outcomes[:, outcome].mean() == pytest.approx(
            (others.outcome == outcome).mean(), abs=0.02
        )


def test_nil_costs_few_right_links():
    seen = observations(4_000)
    fitted = calibrate(seen, RULE, LOST)
    outcomes = fitted.confidence.outcomes(seen.signs, True)
    linked = fitted.rule.links(outcomes[:, LINK], outcomes[:, NIL_OUTCOME])
    lost = (~linked & (seen.outcome == LINK)).sum() / (seen.outcome != NIL_OUTCOME).sum()
    assert lost <= LOST
    assert fitted.rule.odds > 1 == calibrate(seen, RULE, 1.0).rule.odds
    assert fitted.right == np.where(linked, seen.outcome == LINK, seen.outcome == NIL_OUTCOME).sum()
    never = calibrate(seen, NilRule(), LOST)
    assert (never.rule, never.right) == (NilRule(), (seen.outcome == LINK).sum())


@pytest.mark.parametrize("wanted", [0.9, 0.97])
def test_a_precision_is_reached(wanted):
    fitted = calibrate(observations(4_000), RULE, LOST, wanted)
    assert fitted.precision >= wanted
    assert fitted.rule.threshold > 0.5
