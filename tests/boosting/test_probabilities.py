"""Tiny documents, a beam as wide as the whole space: brute force and numerical derivatives."""

import itertools
import math

import numpy as np
import pytest

from benchmarks.naive import documents_of
from sgtb.boosting import Problems, SearchPlan
from sgtb.boosting.search.collector import Collector, choose_bins
from sgtb.boosting.trainer import point_rows
from sgtb.boosting.trees.forest import Forest, ForestBuilder
from sgtb.boosting.trees.grower import TreeSettings, grow
from sgtb.core.thread_pool import ThreadPool
from tests.helpers.problem_builders import eighths, estimator

JOINT = ["bs", "laso", "bsg", "bibsg"]


def tiny_document(seed: int, sizes=(3, 2, 3)) -> Problems:
    rng = np.random.default_rng(seed)
    values = eighths(rng, 20, 20, 2)
    return Problems.from_lists(
        [[eighths(rng, n, 2).tolist() for n in sizes]],
        [[int(rng.integers(n)) for n in sizes]],
        [[rng.choice(20, size=n, replace=False).tolist() for n in sizes]],
        lambda a, b: values[min(a, b), max(a, b)].tolist(),
    )


class Enumeration:
    """Every sequence of a document's only mentions, in one direction, with rows made here."""

    def __init__(self, problems: Problems, forest: Forest, backward: bool = False) -> None:
        (document,) = documents_of(problems)
        order = range(len(document.local))
        self.order = list(reversed(order)) if backward else list(order)
        self.gold = tuple(document.gold[m] for m in self.order)
        self.sizes = [len(document.local[m]) for m in self.order]
        self.rows = {}
        for length in range(1, len(self.order) + 1):
            for prefix in itertools.product(*map(range, self.sizes[:length])):
                self.rows[prefix] = self._row(document, prefix)
        asked = np.array(list(self.rows.values()), np.float32)
        self.F = dict(zip(self.rows, forest.predict(asked).tolist(), strict=True))

    def _row(self, document, prefix) -> list[float]:
        entity = [document.entity[m][c] for m, c in zip(self.order, prefix, strict=False)]
        pairs = [document.phi_E(entity[-1], other) for other in entity[:-1]]
        pooled = [np.mean(pairs, axis=0), np.max(pairs, axis=0)] if pairs else np.zeros((2, 2))
        local = document.local[self.order[len(prefix) - 1]][prefix[-1]]
        return [*local, *np.float32(pooled).ravel().tolist()]

    def score(self, sequence, changed=None) -> float:
        total = 0.0
        for t in range(len(sequence)):
            total += (changed or self.F)[sequence[: t + 1]]
        return total

    def distribution(self, length: int, changed=None) -> dict:
        """p(y_1:t | x) of every prefix of this length, as the last step of a pass."""
        scores = {y: self.score(y, changed) for y in self.F if len(y) == length}
        Z = math.fsum(math.exp(S) for S in scores.values())
        return {y: math.exp(S) / Z for y, S in scores.items()}

    def derivative(self, prefix, length: int) -> float:
        """−∂/∂F(prefix) of −log p(y*_1:length | x), numerically."""
        step = 1e-5
        losses = []
        for by in (step, -step):
            changed = {**self.F, prefix: self.F[prefix] + by}
            losses.append(-math.log(self.distribution(length, changed)[self.gold[:length]]))
        return (losses[1] - losses[0]) / (2 * step)


def trained(problems: Problems, plan: SearchPlan, n_trees: int = 5):
    """A collector whose forest holds some trees."""
    pool = ThreadPool(1)
    binner = choose_bins(problems, plan, 255)
    forest = ForestBuilder(n_trees, 3, problems.n_local, binner)
    collector = Collector(problems, plan, binner, forest, pool, use_cache=True)
    for _ in range(n_trees):
        epoch = collector.collect()
        settings = TreeSettings(learning_rate=0.5)
        forest.append(grow(point_rows(epoch, binner, pool), binner.n_bins, settings))
    return collector, binner, forest.finished()


def assert_points(epoch, binner, expected) -> None:
    """Compare points with (row, residual) pairs; bins may be shared, so both are sorted."""
    rows = np.array([row for row, _ in expected], np.float32)
    with ThreadPool(1) as pool:
        bins = binner.transform(rows, pool)
    residuals = np.array([residual for _, residual in expected])
    found = epoch.rows[epoch.points, : binner.n_features]
    assert len(found) == len(bins)
    ours, theirs = np.lexsort((epoch.residuals, *found.T)), np.lexsort((residuals, *bins.T))
    np.testing.assert_array_equal(found[ours], bins[theirs])
    np.testing.assert_allclose(epoch.residuals[ours], residuals[theirs], rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["bs", "laso"])
def test_residual_is_the_derivative_of_the_loss_of_the_sequence(name, seed):
    """Early update and LaSO, gold never lost: every prefix, against the loss at T."""
    problems = tiny_document(seed)
    collector, binner, forest = trained(problems, SearchPlan(name, beam_width=18))
    every = Enumeration(problems, forest)
    assert_points(
        collector.collect(),
        binner,
        [(every.rows[prefix], every.derivative(prefix, 3)) for prefix in every.F],
    )


@pytest.mark.parametrize("seed", range(3))
def test_residual_is_the_derivative_of_the_loss_of_the_prefix(seed):
    """BSG: every prefix of length t, against the loss of the gold prefix of length t."""
    problems = tiny_document(seed)
    collector, binner, forest = trained(problems, SearchPlan("bsg", beam_width=18))
    every = Enumeration(problems, forest)
    assert_points(
        collector.collect(),
        binner,
        [(every.rows[prefix], every.derivative(prefix, len(prefix))) for prefix in every.F],
    )


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_residual_is_the_derivative_in_both_directions(rounds):
    problems = tiny_document(4)
    plan = SearchPlan("bibsg", beam_width=18, rounds=rounds)
    collector, binner, forest = trained(problems, plan)
    expected = []
    for backward in (False, True):
        every = Enumeration(problems, forest, backward)
        expected += [(every.rows[y], every.derivative(y, len(y))) for y in every.F] * rounds
    assert_points(collector.collect(), binner, expected)


@pytest.mark.parametrize("seed", range(3))
def test_residual_is_the_derivative_of_every_mention_alone(seed):
    problems = tiny_document(seed)
    collector, binner, forest = trained(problems, SearchPlan("local"))
    expected = []
    for m in range(problems.n_mentions):
        a, b = problems.candidate_offsets[m : m + 2]
        F = forest.predict(problems.local[a:b])
        for c in range(b - a):
            losses = []
            for by in (1e-5, -1e-5):
                changed = F + by * (np.arange(b - a) == c)
                losses.append(np.log(np.exp(changed).sum()) - changed[problems.gold[m]])
            expected.append((problems.local[a + c], (losses[1] - losses[0]) / 2e-5))
    assert_points(collector.collect(), binner, expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", JOINT)
def test_probabilities_equal_enumeration(name, seed):
    problems = tiny_document(seed)
    fitted = estimator(SearchPlan(name, beam_width=18), n_trees=6, learning_rate=0.3).fit(problems)
    decoding = fitted.decode(problems, n_best=18)
    directions = [Enumeration(problems, fitted.model.forest, b) for b in (False, True)]
    whole = [every.distribution(3) for every in directions]
    whole[1] = {y[::-1]: p for y, p in whole[1].items()}
    tops = [max(p.values()) for p in whole]
    # The direction that is surer of its best sequence has the word.
    way = int(name == "bibsg" and tops[1] > tops[0] + 1e-12)
    p = whole[way]
    best = max(p, key=lambda y: p[y])
    assert tuple(decoding.choices.tolist()) == best
    assert decoding.scores[0, 0] == directions[way].score(best[::-1] if way else best)
    for m, choice in enumerate(best):
        agreeing = math.fsum(q for y, q in p.items() if y[m] == choice)
        assert decoding.probability[m] == pytest.approx(agreeing, abs=1e-12)
    assert decoding.n_sequences.tolist() == [18]
    for y, q in zip(decoding.sequences, decoding.sequence_probability[0], strict=True):
        of = [w[tuple(y.tolist())] for w in (whole if name == "bibsg" else whole[:1])]
        assert any(q == pytest.approx(o, abs=1e-12) for o in of)
        assert q == pytest.approx(max(of), abs=1e-12)
    if name != "bibsg":
        assert decoding.sequence_probability.sum() == pytest.approx(1, abs=1e-12)


def test_clamped_probabilities_equal_enumeration_of_what_is_left():
    problems = tiny_document(5)
    fitted = estimator(SearchPlan("bsg", beam_width=18), n_trees=6, learning_rate=0.3).fit(problems)
    # With the first mention fixed, the order of decisions is that of the document.
    every = Enumeration(problems, fitted.model.forest)
    for fixed in range(3):
        scores = {y: every.score(y) for y in every.F if len(y) == 3 and y[0] == fixed}
        Z = math.fsum(math.exp(S) for S in scores.values())
        decoding = fitted.decode(problems, n_best=6, clamp=[fixed, -1, -1])
        assert decoding.n_sequences.tolist() == [6]
        assert decoding.probability[0] == pytest.approx(1, abs=1e-12)
        for y, q in zip(decoding.sequences, decoding.sequence_probability[0], strict=True):
            assert q == pytest.approx(math.exp(scores[tuple(y.tolist())]) / Z, abs=1e-12)
