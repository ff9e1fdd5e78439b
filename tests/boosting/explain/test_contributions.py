"""Contributions against brute force over all subsets of features, and their sum."""

import itertools
import math

import numpy as np
import pytest

from benchmarks.generated_corpus import CorpusShape, generate
from benchmarks.naive import row_of
from sgtb.boosting import PLANS, Problems, SearchPlan
from sgtb.core.errors import ProblemsError
from tests.boosting.explain.test_counterfactuals import factors, walks_of
from tests.boosting.test_search import random_clamp
from tests.helpers.problem_builders import eighths, estimator, random_problems, score_with


def all_comparisons(problems) -> tuple[np.ndarray, np.ndarray]:
    """Every candidate of every mention, the chosen ones too."""
    mentions = np.repeat(np.arange(problems.n_mentions), np.diff(problems.candidate_offsets))
    return mentions, np.arange(problems.n_candidates) - problems.candidate_offsets[mentions]


# Brute force


def shapley_values(forest, y, r) -> np.ndarray:
    """From F of every mixture of the two rows; what agrees in both has no part."""
    n = len(y)
    mixtures = np.array(list(itertools.product([False, True], repeat=n)))  # True: from y
    F = dict(zip(map(tuple, mixtures), forest.predict(np.where(mixtures, y, r)), strict=True))
    parts = np.zeros(n)
    for taken, value in F.items():
        size = sum(taken)
        for f in range(n):
            if not taken[f]:
                gain = F[(*taken[:f], True, *taken[f + 1 :])] - value
                weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
                parts[f] += weight * gain
    return parts


def twin_parts(walk, choices, m, runner_up, forest) -> tuple[np.ndarray, np.ndarray]:
    """The parts of local features and of the other mentions, one row at a time."""
    document, score = walk.document, score_with(forest)
    t = walk.mentions.index(m)
    history = walk.mentions[:t]
    prefix = tuple(choices[s] for s in history)
    rows = [np.array(row_of(walk, prefix, c), np.float32) for c in (choices[m], runner_up)]
    parts = shapley_values(forest, *rows)
    n_local = len(document.local[m][runner_up])
    mentions = np.zeros(len(document.local))
    if walk.plan.uses_history and history:
        decided = [document.entity[s][choices[s]] for s in history]
        phi = [
            np.array([document.phi_E(document.entity[m][c], other) for other in decided])
            for c in (choices[m], runner_up)
        ]
        for e in range(document.n_pair):
            d = phi[0][:, e] - phi[1][:, e]
            push = np.maximum(d if d.sum() > 0 else -d, 0)
            if parts[n_local + e] != 0:
                mentions[list(history)] += parts[n_local + e] * push / push.sum()
            tops = phi[0][:, e], phi[1][:, e]
            decisive = tops[0] if tops[0].max() > tops[1].max() else tops[1]
            mentions[history[int(np.argmax(decisive))]] += parts[n_local + document.n_pair + e]
    own = factors(walk, choices, score)
    changed = factors(walk, [*choices[:m], runner_up, *choices[m + 1 :]], score)
    for later in range(t + 1, len(walk.mentions)):
        mentions[walk.mentions[later]] += own[later] - changed[later]
    return parts[:n_local], mentions


def assert_explained_alike(problems, fitted, plan, clamp) -> None:
    decoding = fitted.decode(problems, clamp=clamp)
    asked = all_comparisons(problems)
    found = fitted.contributions(problems, decoding, *asked, clamp)
    k = 0
    for d, walk in walks_of(problems, plan, decoding, clamp):
        choices = decoding.document(d).choices.tolist()
        for m, candidates in enumerate(walk.document.local):
            for runner_up in range(len(candidates)):
                local, mentions = twin_parts(walk, choices, m, runner_up, fitted.model.forest)
                np.testing.assert_allclose(found[k].local, local, rtol=0, atol=1e-12)
                np.testing.assert_allclose(found[k].mentions, mentions, rtol=0, atol=1e-12)
                k += 1
    assert k == len(found)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("source", ["block", "table"])
def test_parts_equal_brute_force(name, source):
    rng = np.random.default_rng(41)
    problems = random_problems(rng, n_documents=2, max_candidates=3, source=source)
    plan = SearchPlan(name, 2)
    fitted = estimator(plan, n_trees=3, learning_rate=0.5).fit(problems)
    assert_explained_alike(problems, fitted, plan, None)
    assert_explained_alike(problems, fitted, plan, random_clamp(rng, problems))


@pytest.mark.parametrize("depth", range(1, 7))
def test_parts_of_deep_trees_equal_brute_force(depth):
    rng = np.random.default_rng(42)
    problems = random_problems(rng, n_documents=4, max_mentions=5, n_local=3, n_pair=1)
    plan = SearchPlan("bibsg", 2)
    fitted = estimator(plan, n_trees=8, learning_rate=0.5, depth=depth).fit(problems)
    assert_explained_alike(problems, fitted, plan, None)


# Sums


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("source", ["block", "table", "none"])
@pytest.mark.parametrize("depth", range(1, 7))
def test_parts_add_up(name, source, depth):
    rng = np.random.default_rng(depth)
    problems = random_problems(
        rng, n_documents=5, max_mentions=8, max_candidates=6, n_local=5, n_pair=4, source=source
    )
    fitted = estimator(SearchPlan(name), n_trees=20, learning_rate=0.5, depth=depth).fit(problems)
    for clamp in (None, random_clamp(rng, problems)):
        assert_adds_up(problems, fitted, clamp)


def assert_adds_up(problems, fitted, clamp) -> None:
    decoding = fitted.decode(problems, clamp=clamp)
    found = fitted.contributions(problems, decoding, *all_comparisons(problems), clamp)
    exact = fitted.counterfactuals(problems, decoding, clamp, np.inf)
    np.testing.assert_array_equal(found.total, -exact.score)
    sums = [
        part.local.sum() + part.mentions.sum() for part in map(found.__getitem__, range(len(found)))
    ]
    np.testing.assert_allclose(sums, found.total, rtol=0, atol=1e-9)


def test_parts_of_a_generated_corpus_add_up():
    problems = generate(CorpusShape(n_documents=4, fixed_mentions=20, mean_candidates=8), 3)
    fitted = estimator(SearchPlan("bsg"), n_trees=100, depth=6, learning_rate=0.3).fit(problems)
    assert_adds_up(problems, fitted, None)


# Single facts


def test_candidates_that_agree_in_everything_have_no_parts():
    rng = np.random.default_rng(43)
    values = eighths(rng, 6, 6, 2)
    rows = eighths(rng, 3, 2).tolist()
    problems = Problems.from_lists(
        [[[rows[0], rows[1]], [rows[1], rows[1]], [rows[2], rows[0]]]],
        [[0, 0, 1]],
        [[[0, 1], [2, 3], [4, 5]]],
        lambda a, b: values[min(a // 2 * 2, b // 2 * 2), max(a // 2 * 2, b // 2 * 2)].tolist(),
    )
    fitted = estimator(SearchPlan("bsg"), n_trees=6, learning_rate=0.5).fit(problems)
    decoding = fitted.decode(problems)
    twins = fitted.contribution(problems, decoding, 1, 1)
    assert not twins.local.any()
    assert not twins.mentions.any()
    assert twins.total == 0
    itself = fitted.contribution(problems, decoding, 2, int(decoding.choices[2]))
    assert not itself.local.any()
    assert not itself.mentions.any()
    assert itself.total == 0


def test_comparisons_may_come_in_any_order_and_twice():
    problems = random_problems(np.random.default_rng(44), n_documents=4)
    fitted = estimator(SearchPlan("bibsg"), n_trees=5).fit(problems)
    decoding = fitted.decode(problems)
    mentions, runner_ups = all_comparisons(problems)
    whole = fitted.contributions(problems, decoding, mentions, runner_ups)
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(mentions)), 2))
    mixed = fitted.contributions(problems, decoding, mentions[order], runner_ups[order])
    for k, original in enumerate(order):
        one = fitted.contribution(problems, decoding, mentions[original], runner_ups[original])
        for other in (mixed[k], one):
            assert other.local.tobytes() == whole[original].local.tobytes()
            assert other.mentions.tobytes() == whole[original].mentions.tobytes()
            assert other.total == whole[original].total


def test_threads_change_nothing():
    problems = random_problems(np.random.default_rng(45), n_documents=9, max_mentions=6)
    fitted = estimator(SearchPlan("bsg"), n_trees=8).fit(problems)
    decoding = fitted.decode(problems)
    alone = fitted.contributions(problems, decoding, *all_comparisons(problems))
    fitted.set_params(training__threads=3)
    crowd = fitted.contributions(problems, decoding, *all_comparisons(problems))
    for field in ("local", "offsets", "mentions", "total"):
        assert getattr(crowd, field).tobytes() == getattr(alone, field).tobytes()


def test_answers_are_counted_and_found_by_number():
    problems = random_problems(np.random.default_rng(46))
    fitted = estimator(SearchPlan("bsg"), n_trees=3).fit(problems)
    decoding = fitted.decode(problems)
    found = fitted.contributions(problems, decoding, [0, 1], [1, 2])
    assert len(found) == 2
    assert len(list(found)) == 2
    assert found[-1].total == found[1].total
    with pytest.raises(IndexError, match="comparison 2 of 2"):
        found[2]
    assert len(fitted.contributions(problems, decoding, [], [])) == 0


@pytest.mark.parametrize(
    ("mentions", "runner_ups", "message"),
    [
        ([0, 1], [0], r"equally long.*\(2,\) and \(1,\)"),
        (0, 1, "equally long"),
        ([0.5], [1], "whole numbers"),
        ([10_000], [0], "no mention 10000"),
        ([-1], [0], "no mention -1"),
        ([0], [4], "document 0, mention 0: the runner-up is candidate 4.* 4 candidates"),
        ([0], [-1], "the runner-up is candidate -1"),
    ],
)
def test_comparisons_with_nothing_are_refused(mentions, runner_ups, message):
    problems = random_problems(np.random.default_rng(46))
    fitted = estimator(SearchPlan("bsg"), n_trees=3).fit(problems)
    with pytest.raises(ProblemsError, match=message):
        fitted.contributions(problems, fitted.decode(problems), mentions, runner_ups)
