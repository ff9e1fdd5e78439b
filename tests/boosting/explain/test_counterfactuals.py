"""Alternatives against a twin that scores changed sequences from scratch."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.generated_corpus import CorpusShape, generate
from benchmarks.naive import decoding_walk, documents_of, row_of
from sgtb.boosting import SearchPlan
from sgtb.boosting.trees.forest import MASKED_DEPTH
from sgtb.core.errors import ProblemsError, SettingsError
from tests.boosting.test_search import every_plan, random_clamp
from tests.helpers.problem_builders import estimator, random_problems, score_with


def factors(walk, choices, score) -> list[float]:
    """F of every decision of a sequence, in the order of the walk."""
    taken = tuple(choices[m] for m in walk.mentions)
    return [score(row_of(walk, taken[:t], c)) for t, c in enumerate(taken)]


def walks_of(problems, plan, decoding, clamp):
    """Per document, the twin's walk in the direction that the decoding tells."""
    for d, document in enumerate(documents_of(problems)):
        a, b = problems.mention_offsets[d : d + 2]
        fixed = None if clamp is None else [None if c < 0 else int(c) for c in clamp[a:b]]
        yield d, decoding_walk(document, plan, int(decoding.direction[d]), fixed)


def twin_scores(problems, plan, fitted, decoding, clamp, margin) -> np.ndarray:
    score = score_with(fitted.model.forest)
    found = []
    for d, walk in walks_of(problems, plan, decoding, clamp):
        choices = decoding.document(d).choices.tolist()
        own = factors(walk, choices, score)
        assert sum(own) == decoding.scores[d, 0]
        for m, candidates in enumerate(walk.document.local):
            for c in range(len(candidates)):
                changed = factors(walk, [*choices[:m], c, *choices[m + 1 :]], score)
                t = walk.mentions.index(m)
                if changed[t] - own[t] < -margin:
                    found.append(changed[t] - own[t])
                else:
                    found.append(sum(changed) - sum(own))
    return np.array(found)


def assert_weighed_alike(problems, fitted, plan, clamp) -> None:
    decoding = fitted.decode(problems, clamp=clamp)
    for margin in (np.inf, 0.5, 0.0):
        found = fitted.counterfactuals(problems, decoding, clamp, margin)
        expected = twin_scores(problems, plan, fitted, decoding, clamp, margin)
        np.testing.assert_array_equal(found.score, expected)
    for m, choice in enumerate(decoding.choices):
        a, b = problems.candidate_offsets[m : m + 2]
        if choice < 0:
            assert a == b
            continue
        assert found.score[a + choice] == 0
        p = np.exp(expected[a:b]) / np.exp(expected[a:b]).sum()
        if clamp is not None and clamp[m] >= 0:
            p = np.arange(b - a) == clamp[m]
        np.testing.assert_allclose(found.probability[a:b], p, rtol=1e-12)


@every_plan
@pytest.mark.parametrize("source", ["block", "table"])
def test_alternatives_equal_the_twins(plan, source):
    rng = np.random.default_rng(31)
    problems = random_problems(rng, source=source)
    fitted = estimator(plan, n_trees=4, learning_rate=0.4).fit(problems)
    assert_weighed_alike(problems, fitted, plan, None)
    assert_weighed_alike(problems, fitted, plan, random_clamp(rng, problems))


@every_plan
@pytest.mark.parametrize("seed", range(4))
def test_alternatives_in_larger_documents_equal_the_twins(plan, seed):
    rng = np.random.default_rng(seed)
    problems = random_problems(
        rng, n_documents=6, max_mentions=7, max_candidates=5, n_pair=3,
        source="table" if seed % 2 else "block",
    )  # fmt: skip
    settings = {"depth": 5 if seed == 3 else 3, "threads": 1 + seed % 3}
    fitted = estimator(plan, n_trees=15, learning_rate=0.3, **settings).fit(problems[:3])
    assert_weighed_alike(problems, fitted, plan, None)
    assert_weighed_alike(problems, fitted, plan, random_clamp(rng, problems))


@pytest.mark.parametrize("source", ["none", "table"])
def test_mentions_that_fill_lane_blocks(source):
    problems = random_problems(
        np.random.default_rng(32), n_documents=2, max_mentions=3, max_candidates=35, source=source
    )
    plan = SearchPlan("bsg")
    fitted = estimator(plan, n_trees=4, depth=4, learning_rate=0.4).fit(problems)
    assert_weighed_alike(problems, fitted, plan, None)


@pytest.mark.parametrize("source", ["block", "table"])
def test_alternatives_of_trees_too_deep_for_tables_equal_the_twins(source):
    rng = np.random.default_rng(34)
    problems = random_problems(rng, n_documents=6, max_mentions=6, source=source)
    plan = SearchPlan("bsg")
    fitted = estimator(plan, n_trees=6, depth=7, min_leaf=1, learning_rate=0.4).fit(problems)
    assert fitted.model.forest.depth() > MASKED_DEPTH
    assert_weighed_alike(problems, fitted, plan, None)
    assert_weighed_alike(problems, fitted, plan, random_clamp(rng, problems))


def test_scores_have_the_bits_of_the_search():
    """Vectors that are not exact in any order: the search itself scores what is clamped."""
    problems = generate(CorpusShape(n_documents=2, fixed_mentions=9, fixed_candidates=6), 5)
    fitted = estimator(SearchPlan("bsg"), n_trees=60, depth=5, learning_rate=0.3).fit(problems)
    decoding = fitted.decode(problems)
    found = fitted.counterfactuals(problems, decoding, margin=np.inf)
    for c in range(problems.n_candidates):
        m = int(np.searchsorted(problems.candidate_offsets, c, side="right")) - 1
        changed = decoding.choices.copy()
        changed[m] = c - problems.candidate_offsets[m]
        scores = fitted.decode(problems, clamp=changed).scores[:, 0]
        assert found.score[c] == (scores - decoding.scores[:, 0]).sum()


def test_direction_is_that_of_the_best_sequence():
    problems = random_problems(np.random.default_rng(33), n_documents=30, max_mentions=6)
    plan = SearchPlan("bibsg", 3)
    fitted = estimator(plan, n_trees=10, learning_rate=0.5).fit(problems)
    decoding = fitted.decode(problems)
    assert set(decoding.direction.tolist()) == {0, 1}
    score = score_with(fitted.model.forest)
    for d, walk in walks_of(problems, plan, decoding, None):
        alone = decoding.document(d)
        assert alone.direction.tolist() == decoding.direction[d : d + 1].tolist()
        assert sum(factors(walk, alone.choices.tolist(), score)) == decoding.scores[d, 0]
    assert not fitted.set_params(plan="bsg").fit(problems).decode(problems).direction.any()


@pytest.mark.parametrize("name", ["local", "bsg", "bibsg"])
def test_threads_and_company_change_nothing(name):
    problems = random_problems(np.random.default_rng(34), n_documents=9, max_mentions=6)
    fitted = estimator(SearchPlan(name), n_trees=8).fit(problems)
    decoding = fitted.decode(problems)
    alone = fitted.counterfactuals(problems, decoding)
    crowd = fitted.set_params(training__threads=3).counterfactuals(problems, decoding)
    one_by_one = [
        fitted.counterfactuals(problems[d], decoding.document(d)) for d in range(len(problems))
    ]
    for field in ("score", "probability"):
        expected = getattr(alone, field).tobytes()
        assert getattr(crowd, field).tobytes() == expected
        assert b"".join(getattr(part, field).tobytes() for part in one_by_one) == expected


def test_local_probabilities_are_those_of_the_decoding():
    problems = random_problems(np.random.default_rng(35), n_documents=5)
    fitted = estimator(SearchPlan("local"), n_trees=8).fit(problems)
    decoding = fitted.decode(problems)
    found = fitted.counterfactuals(problems, decoding).probability
    decided = decoding.choices >= 0
    at = (problems.candidate_offsets[:-1] + decoding.choices)[decided]
    np.testing.assert_allclose(found[at], decoding.probability[decided], rtol=1e-12)


@pytest.fixture(scope="module")
def decoded():
    problems = random_problems(np.random.default_rng(36))
    fitted = estimator(SearchPlan("bsg"), n_trees=8).fit(problems)
    return problems, fitted, fitted.decode(problems)


def test_a_decoding_of_other_documents_is_refused(decoded):
    problems, fitted, decoding = decoded
    with pytest.raises(ProblemsError, match="other documents"):
        fitted.counterfactuals(problems[:2], decoding)
    choices = decoding.sequences.copy()
    choices[0, 0] = 17
    with pytest.raises(ProblemsError, match=r"document 0, mention 0.* choice 17.* 4 candidates"):
        fitted.counterfactuals(problems, replace(decoding, sequences=choices))
    choices[0, 0] = -1
    with pytest.raises(ProblemsError, match="document 0, mention 0"):
        fitted.counterfactuals(problems, replace(decoding, sequences=choices))


def test_a_decoding_of_another_clamp_or_other_scores_is_refused(decoded):
    problems, fitted, decoding = decoded
    clamp = np.full(problems.n_mentions, -1)
    clamp[1] = (decoding.choices[1] + 1) % 4
    with pytest.raises(ProblemsError, match=r"document 0, mention 1.* clamped to"):
        fitted.counterfactuals(problems, decoding, clamp)
    with pytest.raises(ProblemsError, match="never does"):
        fitted.counterfactuals(
            problems, replace(decoding, direction=decoding.direction + np.int8(1))
        )
    with pytest.raises(ProblemsError, match="document 0: its best sequence scores"):
        fitted.counterfactuals(problems, replace(decoding, factor=decoding.factor + 1))


@pytest.mark.parametrize("margin", [-1.0, float("nan")])
def test_a_margin_below_nothing_is_refused(decoded, margin):
    problems, fitted, decoding = decoded
    with pytest.raises(SettingsError, match="margin is"):
        fitted.counterfactuals(problems, decoding, margin=margin)


def test_nothing_to_weigh(decoded):
    problems, fitted, _ = decoded
    nothing = problems[:0]
    found = fitted.counterfactuals(nothing, fitted.decode(nothing))
    assert found.score.shape == found.probability.shape == (0,)
