"""The fast search against the naive twin: points of every epoch, and everything decoded."""

import numpy as np
import pytest

from benchmarks.naive import (
    BACKWARD,
    FORWARD,
    Decoded,
    Sequenced,
    _best_of,
    _fresh,
    bidirectional_search,
    decode,
    decoding_walk,
    documents_of,
)
from sgtb.boosting import PLANS, Decoding, SearchPlan, TreeSettings
from sgtb.boosting.search.collector import Collector, choose_bins
from sgtb.boosting.trainer import point_rows
from sgtb.boosting.trees.forest import ForestBuilder
from sgtb.boosting.trees.grower import grow
from sgtb.core.thread_pool import ThreadPool
from tests.helpers.problem_builders import (
    assert_same_points,
    estimator,
    random_problems,
    score_with,
    twin_points,
)

PLANS_TO_SEARCH = [
    SearchPlan("local"),
    *(SearchPlan(name, width) for name in ("bs", "laso", "bsg") for width in (1, 2, 5)),
    *(SearchPlan("bibsg", width, rounds) for width in (1, 3) for rounds in (1, 2, 3)),
]


def spelled(plan: SearchPlan) -> str:
    return f"{plan.name}-{plan.beam_width}-{plan.rounds}"


every_plan = pytest.mark.parametrize("plan", PLANS_TO_SEARCH, ids=spelled)


# Training points


def assert_epochs_agree(problems, plan, n_epochs, use_cache=True, threads=1, depth=3) -> None:
    """Train by hand; hold the points of every epoch against the twin's."""
    settings = TreeSettings(learning_rate=0.6, depth=depth)
    with ThreadPool(threads) as pool:
        binner = choose_bins(problems, plan, 255)
        forest = ForestBuilder(n_epochs, depth, problems.n_local, binner)
        collector = Collector(problems, plan, binner, forest, pool, use_cache)
        for _ in range(n_epochs):
            epoch = collector.collect()
            points = twin_points(problems, plan, forest.finished())
            assert_same_points(epoch, points, binner, in_order=plan.name not in ("bs", "laso"))
            forest.append(grow(point_rows(epoch, binner, pool), binner.n_bins, settings))


@every_plan
@pytest.mark.parametrize("source", ["block", "table"])
def test_points_of_every_epoch_equal_the_twins(plan, source):
    problems = random_problems(np.random.default_rng(11), source=source)
    assert_epochs_agree(problems, plan, n_epochs=5)


@every_plan
@pytest.mark.parametrize("seed", range(4))
def test_points_of_larger_documents_equal_the_twins(plan, seed):
    problems = random_problems(
        np.random.default_rng(seed), n_documents=5, max_mentions=7, max_candidates=5, n_pair=3,
        source="table" if seed % 2 else "block",
    )  # fmt: skip
    assert_epochs_agree(problems, plan, 12, use_cache=seed != 2, threads=1 + seed % 3)


@pytest.mark.parametrize("name", PLANS)
def test_points_of_deep_trees_equal_the_twins(name):
    problems = random_problems(np.random.default_rng(12), max_mentions=6, n_documents=4)
    assert_epochs_agree(problems, SearchPlan(name), 6, depth=5)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("n_candidates", [15, 16, 17, 35])
def test_points_of_mentions_that_fill_lane_blocks_equal_the_twins(name, n_candidates):
    problems = random_problems(
        np.random.default_rng(13), n_documents=2, max_mentions=3, max_candidates=n_candidates
    )
    assert_epochs_agree(problems, SearchPlan(name), 4)


@pytest.mark.parametrize("name", PLANS)
def test_points_without_pair_features_equal_the_twins(name):
    problems = random_problems(np.random.default_rng(14), source="none")
    assert_epochs_agree(problems, SearchPlan(name, beam_width=2), 5)


@pytest.mark.parametrize("name", PLANS)
def test_points_without_local_features_equal_the_twins(name):
    problems = random_problems(np.random.default_rng(15), n_local=0)
    assert_epochs_agree(problems, SearchPlan(name, beam_width=2), 5)


# Decoding


def twin_finals(document, plan, score, clamp) -> list[Decoded]:
    """The final beam of every direction."""
    if plan.name != "bibsg":
        return [decode(document, plan, score, clamp)]
    walks = (decoding_walk(document, plan, direction, clamp) for direction in (FORWARD, BACKWARD))
    passes = list(bidirectional_search(*walks, _fresh(score)))
    return [_best_of(walk, beams) for _, walk, beams in passes[-2:]]


def assert_decoded_alike(problems, fitted, plan, clamp) -> None:
    score = score_with(fitted.model.forest)
    n_best = 1 if plan.name == "local" else 2 * plan.beam_width
    decoding = fitted.decode(problems, n_best=n_best, clamp=clamp)
    assert decoding.choices.tolist() == fitted.decode(problems, clamp=clamp).choices.tolist()
    for d, document in enumerate(documents_of(problems)):
        found = decoding.document(d)
        a, b = problems.mention_offsets[d : d + 2]
        fixed = None if clamp is None else [None if c < 0 else int(c) for c in clamp[a:b]]
        if not any(document.local):
            assert found.choices.tolist() == [-1] * len(document.local)
            assert found.n_sequences.tolist() == [0]
            continue
        finals = twin_finals(document, plan, score, fixed)
        # Two directions may be equally sure but for the last bit; then either may win.
        tops = [max(s.p for s in final.beam) for final in finals]
        winners = [f for f, top in zip(finals, tops, strict=True) if top > max(tops) - 1e-12]
        assert any(alike(found, winner) for winner in winners)
        if len(winners) == 1:
            assert found.choices.tolist() == decode(document, plan, score, fixed).choices
        assert_same_sequences(found, [s for final in finals for s in final.beam])


def alike(found: Decoding, twin: Decoded) -> bool:
    return (
        found.choices.tolist() == twin.choices
        and found.scores[0, 0] == twin.score
        and np.allclose(found.probability, twin.probabilities, rtol=0, atol=1e-12)
    )


def assert_same_sequences(found: Decoding, expected: list[Sequenced]) -> None:
    """Every sequence once, with the higher of its probabilities, likely ones first."""
    n = int(found.n_sequences[0])
    listed = [tuple(choices) for choices in found.sequences[:n].tolist()]
    assert len(set(listed)) == n
    assert set(listed) == {tuple(s.choices) for s in expected}
    p = found.sequence_probability[0, :n]
    assert (np.diff(p) <= 0).all()
    for rank, choices in enumerate(listed):
        same = [s for s in expected if tuple(s.choices) == choices]
        best = max(s.p for s in same)
        assert p[rank] == pytest.approx(best, abs=1e-12)
        assert found.scores[0, rank] in [s.S for s in same if s.p > best - 1e-12]


def random_clamp(rng, problems) -> np.ndarray:
    sizes = np.diff(problems.candidate_offsets)
    chosen = (rng.random(len(sizes)) * sizes).astype(np.int64)
    return np.where((rng.random(len(sizes)) < 0.4) & (sizes > 0), chosen, -1)


@every_plan
@pytest.mark.parametrize("source", ["block", "table"])
def test_decoding_equals_the_twins(plan, source):
    rng = np.random.default_rng(21)
    problems = random_problems(rng, source=source)
    fitted = estimator(plan, n_trees=4, learning_rate=0.4).fit(problems)
    assert_decoded_alike(problems, fitted, plan, None)
    assert_decoded_alike(problems, fitted, plan, random_clamp(rng, problems))


@every_plan
@pytest.mark.parametrize("seed", range(4))
def test_decoding_larger_documents_equals_the_twins(plan, seed):
    rng = np.random.default_rng(seed)
    problems = random_problems(
        rng, n_documents=6, max_mentions=7, max_candidates=5, n_pair=3,
        source="table" if seed % 2 else "block",
    )  # fmt: skip
    depth = 5 if seed == 3 else 3
    fitted = estimator(plan, n_trees=15, learning_rate=0.3, depth=depth, threads=1 + seed % 3)
    fitted.fit(problems[:3])
    assert_decoded_alike(problems, fitted, plan, None)
    for _ in range(3):
        assert_decoded_alike(problems, fitted, plan, random_clamp(rng, problems))


def test_local_n_best_are_the_most_probable_of_all():
    problems = random_problems(np.random.default_rng(22), n_documents=1, max_mentions=3)
    fitted = estimator(SearchPlan("local"), n_trees=5, learning_rate=0.3).fit(problems)
    forest, sizes = fitted.model.forest, np.diff(problems.candidate_offsets)
    n = int(sizes.prod())
    decoding = fitted.decode(problems, n_best=n + 5)
    assert decoding.n_sequences.tolist() == [n]
    scores = np.split(forest.predict(problems.local), problems.candidate_offsets[1:-1])
    p = [np.exp(s - s.max()) / np.exp(s - s.max()).sum() for s in scores]
    chosen = decoding.sequences[:n]
    assert len({tuple(s) for s in chosen.tolist()}) == n
    expected = np.prod([p[m][chosen[:, m]] for m in range(len(p))], axis=0)
    np.testing.assert_allclose(decoding.sequence_probability[0, :n], expected, rtol=1e-12)
    assert (np.diff(decoding.sequence_probability[0, :n]) <= 1e-15).all()
    assert decoding.sequence_probability[0, :n].sum() == pytest.approx(1)
    np.testing.assert_allclose(
        fitted.decode(problems).probability, [p[m][c] for m, c in enumerate(chosen[0])]
    )
