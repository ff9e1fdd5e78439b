"""The bootstrap against a literal loop, against the truth, and against itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.evaluation import bootstrap, interval, paired_bootstrap, ratio_interval
from tests.helpers.answer_builders import accuracy
from tests.helpers.strategies import two_systems

A = accuracy([1, 0, 3, 2, 5], [2, 4, 3, 2, 9])
B = accuracy([2, 2, 2, 1, 9], [2, 4, 3, 2, 9])


def naive(a, b, draws, level):
    """The difference of accuracies, sample by sample and document by document."""
    samples = []
    for draw in draws:
        right_a = right_b = asked = 0
        for i in draw:
            right_a += int(a.document_correct[i])
            right_b += int(b.document_correct[i])
            asked += int(a.document_total[i])
        samples.append((right_b - right_a) / asked)
    samples.sort()
    k = int((len(samples) + 1) * (1 - level) / 2 + 1e-9)
    at_most = sum(sample <= 0 for sample in samples)
    at_least = sum(sample >= 0 for sample in samples)
    p = 2 * (1 + min(at_most, at_least)) / (1 + len(samples))
    return samples[k - 1], samples[len(samples) - k], min(1.0, p)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_agrees_with_a_loop_on_the_same_draws(level):
    draws = np.random.default_rng(7).integers(5, size=(199, 5))
    found = paired_bootstrap(A, B, n_samples=199, seed=7, level=level)
    assert (found.low, found.high, found.p_value) == naive(A, B, draws, level)


def test_agrees_with_a_loop_on_drawn_up_samples(monkeypatch):
    # 3 samples, level 0.5: rank (3 + 1) · 0.25 = 1, so the interval is the whole range.
    draws = [[0, 0, 0, 0, 0], [2, 2, 3, 3, 3], [0, 1, 2, 3, 4]]
    monkeypatch.setattr(bootstrap, "_draws", lambda *_: iter([np.array(draws)]))
    found = paired_bootstrap(A, B, n_samples=3, level=0.5)
    # Σ (b − a) / Σ total: 5·1 / 5·2, then (2·−1 + 3·−1) / (2·3 + 3·2), then (1+2−1−1+4) / 20
    assert (found.low, found.high) == (-5 / 12, 5 / 10)
    assert found.value == 5 / 20
    assert found.p_value == 1  # one sample of three on the other side: 2 · (1 + 1) / (1 + 3)
    assert (found.low, found.high, found.p_value) == naive(A, B, draws, 0.5)


def test_identical_systems_do_not_differ():
    found = paired_bootstrap(A, A)
    assert (found.value, found.low, found.high, found.p_value) == (0, 0, 0, 1)
    assert (found.level, found.n_samples) == (0.95, 10_000)


def test_a_system_better_on_every_document():
    a, b = accuracy([0, 1, 2], [2, 3, 4]), accuracy([2, 3, 3], [2, 3, 4])
    found = paired_bootstrap(a, b, n_samples=999)
    assert found.value == (8 - 3) / 9
    # A sample is worst with the last document alone, 1/4, and best with the first alone, 2/2.
    assert 1 / 4 <= found.low < found.value < found.high <= 1
    assert found.p_value == 2 / 1000  # the least that 999 samples can show


def test_documents_are_drawn_not_mentions():
    # All of one document right, all of the other wrong: accuracy is 0, 1/2 or 1, and 0 and 1
    # each take a quarter of the samples. Drawing 200 mentions would stay near 1/2.
    found = interval(accuracy([100, 0], [100, 100]))
    assert (found.value, found.low, found.high) == (1 / 2, 0, 1)


def test_documents_without_in_kb_mentions_change_nothing():
    gaps = accuracy([0, 1, 0, 0, 3, 2, 5, 0], [0, 2, 4, 0, 3, 2, 9, 0])
    assert interval(gaps) == interval(A)


def test_results_are_the_same_every_time_and_differ_by_seed():
    assert paired_bootstrap(A, B) == paired_bootstrap(A, B)
    assert interval(A) == interval(A)
    samples = [
        bootstrap._samples(A.document_correct, A.document_total, 50, seed) for seed in (0, 1)
    ]
    assert (samples[0] != samples[1]).any()


@pytest.mark.parametrize("draws_at_a_time", [1, 5, 6, 12, 35])
def test_the_size_of_chunks_does_not_matter(draws_at_a_time, monkeypatch):
    whole = bootstrap._samples(A.document_correct, A.document_total, 101, 3)
    monkeypatch.setattr(bootstrap, "_DRAWS", draws_at_a_time)
    np.testing.assert_array_equal(
        bootstrap._samples(A.document_correct, A.document_total, 101, 3), whole
    )


def test_chunks_stay_small():
    rows = [len(c) for c in bootstrap._draws(100_000, 25, np.random.default_rng(0))]
    assert sum(rows) == 25
    assert max(rows) * 100_000 <= bootstrap._DRAWS


def simulated(rng):
    """A system's accuracy on sixty documents, some harder than others; 0.8 in the long run."""
    total = rng.integers(1, 30, 60)
    return accuracy(rng.binomial(total, rng.beta(8, 2, 60)), total)


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(11)
    found = [interval(simulated(rng), n_samples=399) for _ in range(300)]
    held = sum(one.low <= 0.8 <= one.high for one in found)
    # 95% of 300 are 285, give or take 4; with 60 documents percentile intervals are a bit short.
    assert 264 <= held <= 297


def test_p_values_are_small_by_chance_only_as_often_as_they_say():
    rng = np.random.default_rng(12)
    small = 0
    for _ in range(300):
        a = simulated(rng)
        total = a.document_total
        b = rng.binomial(total, 0.8)
        # On every document a coin decides which system is which: neither is the better one.
        heads = rng.random(60) < 0.5
        one = accuracy(np.where(heads, a.document_correct, b), total)
        other = accuracy(np.where(heads, b, a.document_correct), total)
        small += paired_bootstrap(one, other, n_samples=399).p_value < 0.05
    assert 3 <= small <= 36  # 5% of 300 are 15, give or take 4


@settings(deadline=None)
@given(two_systems(), st.integers(0, 5))
def test_swapping_systems_changes_nothing_but_the_sign(systems, seed):
    a, b = systems
    there = paired_bootstrap(a, b, n_samples=79, seed=seed)
    back = paired_bootstrap(b, a, n_samples=79, seed=seed)
    assert (there.value, there.low, there.high) == (-back.value, -back.high, -back.low)
    assert there.p_value == back.p_value
    assert 2 / 80 <= there.p_value <= 1
    assert -1 <= there.low <= there.high <= 1
    assert there.value == pytest.approx(b.micro - a.micro)


@settings(deadline=None)
@given(two_systems())
def test_an_interval_lies_within_the_documents_accuracies(systems):
    a, _ = systems
    asked = a.document_total > 0
    each = a.document_correct[asked] / a.document_total[asked]
    found = interval(a, n_samples=79)
    assert found.value == a.micro
    assert each.min() <= found.low <= found.high <= each.max()


def test_systems_asked_different_things_are_not_compared():
    with pytest.raises(ProblemsError, match=r"document d1: 4 in-KB mentions .* 5"):
        paired_bootstrap(A, accuracy([1, 0, 3, 2, 5], [2, 5, 3, 2, 9]))
    with pytest.raises(ProblemsError, match="5 documents, the other 1"):
        paired_bootstrap(A, accuracy([1], [2]))
    other = type(B)(("d0", "x", "d2", "d3", "d4"), B.document_correct, B.document_total)
    with pytest.raises(ProblemsError, match=r"document 1 is d1 .* x"):
        paired_bootstrap(A, other)


def test_nothing_to_sample_is_an_error():
    with pytest.raises(ProblemsError, match="none of the 2 documents"):
        interval(accuracy([0, 0], [0, 0]))
    with pytest.raises(ProblemsError, match="nothing to sample"):
        paired_bootstrap(accuracy([], []), accuracy([], []))


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, float("nan")])
def test_a_level_is_a_share(level):
    with pytest.raises(SettingsError, match="between 0 and 1"):
        interval(A, level=level)


@pytest.mark.parametrize(("level", "least"), [(0.95, 39), (0.9, 19), (0.5, 3), (0.99, 199)])
def test_a_level_needs_enough_samples(level, least):
    interval(A, n_samples=least, level=level)
    with pytest.raises(SettingsError, match=f"at least {least}$"):
        interval(A, n_samples=least - 1, level=level)
    with pytest.raises(SettingsError, match=f"at least {least}$"):
        paired_bootstrap(A, B, n_samples=0, level=level)


def test_any_ratio_of_sums_has_an_interval():
    found = ratio_interval(A.document_correct, A.document_total, n_samples=99)
    assert found == interval(A, n_samples=99)
    assert ratio_interval(2 * A.document_correct, A.document_total, 99).value == 2 * A.micro
    with pytest.raises(ProblemsError, match="in part"):
        ratio_interval(A.document_correct[1:], A.document_total)
