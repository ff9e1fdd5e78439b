"""Confidence: curves that only rise, probabilities that stay such, fits that dev agrees with."""

import numpy as np
import pytest

from sgtb.core.errors import SettingsError
from sgtb.linking.calibration.confidence import (
    KINDS,
    MAX_POINTS,
    SAME,
    Confidence,
    Curve,
    share_out,
)
from sgtb.linking.calibration.isotonic import falling_curve, pool_violators, rising_curve
from sgtb.linking.training.calibrator import Observed, fit_confidence, log_loss

# Curves


def test_a_curve_goes_straight_between_its_points():
    curve = Curve((0.2, 0.6), (0.1, 0.5))
    assert curve(np.array([0.0, 0.2, 0.4, 0.6, 1.0])).tolist() == pytest.approx(
        [0.1, 0.1, 0.3, 0.5, 0.5]
    )
    assert Curve.from_dict(curve.to_dict()) == curve


@pytest.mark.parametrize(
    ("x", "y", "complaint"),
    [
        ((), (), "1 to 1000 points"),
        ((0.1,), (0.1, 0.2), "points"),
        (tuple(np.linspace(0, 1, MAX_POINTS + 1)), (0.5,) * (MAX_POINTS + 1), "1 to 1000"),
        ((0.1, 0.1), (0.1, 0.2), "not in order"),
        ((0.2, 0.1), (0.1, 0.2), "not in order"),
        ((0.1, 0.2, 0.3), (0.1, 0.2, 0.1), "rises and falls"),
        ((0.1, 1.1), (0.1, 0.2), "from 0 to 1"),
        ((0.1, 0.2), (-0.1, 0.2), "from 0 to 1"),
        ((0.1, 0.2), (0.1, float("nan")), "from 0 to 1"),
        ((0.1, True), (0.1, 0.2), "from 0 to 1"),
        ((0.1, "1"), (0.1, 0.2), "from 0 to 1"),
    ],
)
def test_impossible_curves(x, y, complaint):
    with pytest.raises(SettingsError, match=complaint):
        Curve(x, y)


# Isotonic regression, and its slow twin


def nearest_rising(values, weights):
    """max over a <= i of min over b >= i of the mean of a..b: the textbook's other formula."""
    n = len(values)

    def mean(a, b):
        return np.average(values[a : b + 1], weights=weights[a : b + 1])

    return [max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


@pytest.mark.parametrize("seed", range(30))
def test_pooling_agrees_with_its_twin(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))
    values, weights = rng.integers(0, 5, n) / 4.0, rng.integers(1, 6, n).astype(float)
    starts = pool_violators(values, weights)
    assert starts[0] == 0
    assert (np.diff(starts) > 0).all()
    sizes = np.diff(np.append(starts, n))
    levels = np.add.reduceat(values * weights, starts) / np.add.reduceat(weights, starts)
    np.testing.assert_allclose(np.repeat(levels, sizes), nearest_rising(values, weights))


@pytest.mark.parametrize("seed", range(5))
def test_curves_follow_what_happened(seed):
    rng = np.random.default_rng(seed)
    x = rng.random(20_000)
    curve = rising_curve(x, rng.random(len(x)) < x**2)
    places = np.linspace(0.05, 0.95, 19)
    assert np.abs(curve(places) - places**2).max() < 0.06
    assert len(curve.x) <= MAX_POINTS
    falling = falling_curve(x, rng.random(len(x)) < 1 - x)
    assert np.abs(falling(places) - (1 - places)).max() < 0.06
    assert falling.y[0] > falling.y[-1]


def test_few_observations_are_never_certain():
    for happened in ([True], [False], [True, True, True]):
        x = np.linspace(0.5, 0.9, len(happened))
        curve = rising_curve(x, np.array([*happened]))
        assert all(0 <= y <= 1 for y in curve.y)
    mixed = rising_curve(np.array([0.1, 0.2, 0.9]), np.array([False, True, True]))
    assert 0 < mixed.y[0] < mixed.y[-1] < 1


def test_many_distinct_numbers_make_a_bounded_curve():
    x = np.linspace(0, 1, 5000)
    curve = rising_curve(x, x > 0.5)
    assert len(curve.x) <= MAX_POINTS
    steps = rising_curve(np.repeat(x, 3), np.tile([True, False, True], len(x)) & True)
    assert len(steps.x) == 1


# Probabilities


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


@pytest.mark.parametrize("seed", range(20))
def test_others_share_what_is_left(seed):
    rng = np.random.default_rng(seed)
    p, offsets, choice = some_mentions(rng, 50)
    chosen = rng.random(50)
    taken = rng.random(50) * (1 - chosen)
    shared = share_out(p, offsets, choice, chosen, taken)
    for m in range(50):
        own, before = shared[offsets[m] : offsets[m + 1]], p[offsets[m] : offsets[m + 1]]
        assert own[choice[m]] == chosen[m]
        assert ((own >= 0) & (own <= 1)).all()
        assert own.sum() + taken[m] <= 1 + 1e-12
        others = np.arange(len(own)) != choice[m]
        behind = others & (before <= before[choice[m]])
        assert (own[behind] <= chosen[m]).all()
        if others.any():  # in proportion
            ratio = own[others] / before[others]
            np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


def test_nothing_learned_changes_no_bit():
    p, offsets, choice = some_mentions(np.random.default_rng(1), 200)
    plain = Confidence()
    same = plain.probabilities(p, offsets)
    several, nil = np.diff(offsets) > 1, np.zeros(200, bool)
    chosen = plain.of_chosen(same[offsets[:-1] + choice], several, nil)
    assert np.array_equal(share_out(same, offsets, choice, chosen, np.zeros(200)), p)


def test_probabilities_that_are_certain_or_impossible():
    p = np.array([1.0, 0.0, 0.0, 1.0, 1.0])
    offsets, choice = np.array([0, 2, 4, 5]), np.array([0, 0, 0], np.int32)
    shared = share_out(p, offsets, choice, np.array([0.9, 0.2, 0.7]), np.zeros(3))
    assert shared.tolist() == pytest.approx([0.9, 0.0, 0.2, 0.8, 0.7])
    assert Confidence("temperature", 2.0).probabilities(p, offsets).tolist() == p.tolist()


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_temperature_is_a_power(temperature):
    p, offsets, _ = some_mentions(np.random.default_rng(2), 40)
    warm = Confidence("temperature", temperature).probabilities(p, offsets)
    for m in range(40):
        own = p[offsets[m] : offsets[m + 1]] ** (1 / temperature)
        np.testing.assert_allclose(warm[offsets[m] : offsets[m + 1]], own / own.sum())


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"kind": "magic"}, "no confidence 'magic'"),
        ({"temperature": 0.0}, "temperature"),
        ({"temperature": float("inf")}, "temperature"),
        ({"single": 1.5}, "single"),
        ({"entity": Curve((0.1, 0.2), (0.9, 0.1))}, "entity of a confidence falls"),
    ],
)
def test_impossible_confidences(change, complaint):
    with pytest.raises(SettingsError, match=complaint):
        Confidence(**change)


def test_plain_data_and_back():
    one = Confidence("isotonic", 1.0, 0.9, Curve((0.1, 0.7), (0.2, 0.9)), SAME)
    assert Confidence.from_dict(one.to_dict()) == one
    with pytest.raises(SettingsError, match="'z' is unknown to a curve"):
        Curve.from_dict({"x": [0.1], "y": [0.1], "z": []})


# Fitting


def observed(rng, n, truth, single=0.0, documents=40):
    """Mentions of two candidates; the chosen one is right with probability truth(p)."""
    p = 0.5 + 0.5 * rng.random(n)
    alone = rng.random(n) < single
    right = rng.random(n) < np.where(alone, 0.9, truth(p))
    sizes = np.where(alone, 1, 2)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    flat = np.concatenate([[1.0] if a else [q, 1 - q] for a, q in zip(alone, p, strict=True)])
    return Observed(
        rng.integers(documents, size=n), offsets, flat, np.zeros(n, np.int32),
        np.zeros(n, bool), right, np.zeros(n, bool), np.zeros(0, bool),
    )  # fmt: skip


def sharper(power):
    return lambda p: p**power / (p**power + (1 - p) ** power)


def test_what_is_right_as_it_is_stays():
    seen = observed(np.random.default_rng(3), 4000, lambda p: p)
    fitted = fit_confidence(seen)
    kept = fitted.confidence
    assert fitted.losses["plain"] < fitted.losses["isotonic"] + 0.005
    chosen = seen.probability[seen.offsets[:-1]]
    assert np.abs(seen.chosen(kept) - chosen).mean() < 0.02


@pytest.mark.parametrize(("power", "temperature"), [(2.0, 0.5), (0.5, 2.0)])
def test_a_temperature_is_found(power, temperature):
    fitted = fit_confidence(observed(np.random.default_rng(4), 6000, sharper(power)))
    assert fitted.confidence.kind == "temperature"
    assert fitted.confidence.temperature == pytest.approx(temperature, rel=0.15)
    assert fitted.losses["temperature"] < fitted.losses["plain"]


def test_what_no_temperature_can_say_needs_a_curve():
    seen = observed(np.random.default_rng(5), 6000, lambda p: np.where(p < 0.8, 0.3, 0.7))
    fitted = fit_confidence(seen)
    assert fitted.confidence.kind == "isotonic"
    low, high = fitted.confidence.entity(np.array([0.6, 0.95]))
    assert (low, high) == pytest.approx((0.3, 0.7), abs=0.04)
    assert log_loss(seen.chosen(fitted.confidence), seen.right) < fitted.losses["plain"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_candidate_is_no_certainty(kind):
    truth = {"plain": lambda p: p, "temperature": sharper(2.0), "isotonic": lambda p: 0 * p + 0.6}
    fitted = fit_confidence(observed(np.random.default_rng(6), 5000, truth[kind], single=0.3))
    assert fitted.confidence.single == pytest.approx(0.9, abs=0.02)


def test_too_few_documents_to_compare():
    fitted = fit_confidence(observed(np.random.default_rng(7), 30, lambda p: p, documents=1))
    assert fitted == (Confidence(), {})
    tiny = fit_confidence(observed(np.random.default_rng(8), 4, lambda p: p, documents=4))
    assert set(tiny.losses) == {"plain"}


@pytest.mark.parametrize(("n", "kinds"), [(49, 1), (60, 2), (199, 2), (230, 3)])
def test_few_mentions_teach_little(n, kinds):
    seen = observed(np.random.default_rng(10), n, lambda p: np.where(p < 0.8, 0.1, 0.9))
    assert list(fit_confidence(seen).losses) == [*KINDS[:kinds]]


def test_the_same_mentions_give_the_same_fit():
    one, other = (fit_confidence(observed(np.random.default_rng(9), 500, sharper(2))) for _ in "12")
    assert one == other
