"""The estimator: scikit-learn's habits, clamps, n best, and many threads at once."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from benchmarks.generated_corpus import CorpusShape, generate
from sgtb.boosting import (
    PLANS,
    Problems,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
    TreeSettings,
)
from sgtb.core.errors import NotFittedError, ProblemsError, SettingsError
from tests.helpers.problem_builders import estimator, random_problems

SMALL = replace(CorpusShape.tiny(), n_documents=30, fixed_mentions=6, fixed_candidates=4)


@pytest.fixture(scope="module")
def corpus():
    return generate(SMALL, seed=1)


@pytest.fixture(scope="module")
def fitted(corpus):
    return estimator(SearchPlan("bsg"), n_trees=10).fit(corpus)


# Parameters


def test_parameters_reach_into_the_settings():
    e = StructuredGradientBoosting("laso", TreeSettings(depth=2))
    params = e.get_params()
    assert params["plan"] == "laso"
    assert params["plan__name"] == "laso"
    assert params["plan__beam_width"] == 4
    assert params["trees__depth"] == 2
    assert params["training"] is None
    assert params["training__n_trees"] == 250
    assert set(e.get_params(deep=False)) == {"plan", "trees", "training"}
    e.set_params(trees__depth=5, plan__beam_width=7, training__n_trees=9, training__threads=1)
    assert e.trees == TreeSettings(depth=5)
    assert e.plan == SearchPlan("laso", beam_width=7)
    assert e.training == TrainingSettings(n_trees=9, threads=1)
    e.set_params(plan="bsg", plan__rounds=3)  # the group first, then its field
    assert e.plan == SearchPlan("bsg", rounds=3)


@pytest.mark.parametrize("name", ["depth", "trees__dept", "tree__depth", "trees__", "model"])
def test_unknown_parameters_are_refused(name):
    with pytest.raises(SettingsError, match=f"there is no parameter '{name}'"):
        StructuredGradientBoosting().set_params(**{name: 1})


def test_impossible_values_are_refused_when_set():
    with pytest.raises(SettingsError, match="depth is 99"):
        StructuredGradientBoosting().set_params(trees__depth=99)


def test_clone_has_the_settings_and_not_the_model(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(generate(CorpusShape.tiny()))


def test_grid_search_takes_documents_as_samples(corpus):
    search = GridSearchCV(
        estimator(SearchPlan("bsg"), n_trees=5), {"trees__depth": [1, 3]}, cv=KFold(3)
    )
    search.fit(corpus)
    assert search.best_params_["trees__depth"] in (1, 3)
    scores = search.cv_results_["mean_test_score"]
    assert (scores > 0.3).all()
    assert scores[0] != scores[1]
    assert search.best_estimator_.model.forest.depth() == search.best_params_["trees__depth"]
    np.testing.assert_array_equal(search.predict(corpus), search.best_estimator_.predict(corpus))
    # One fold by hand.
    test, train = corpus[:10], corpus[10:]
    by_hand = estimator(SearchPlan("bsg"), n_trees=5, depth=1).fit(train).score(test)
    assert search.cv_results_["split0_test_score"][0] == by_hand


def test_cross_validation_works_too(corpus):
    scores = cross_val_score(estimator(SearchPlan("local"), n_trees=3), corpus, cv=KFold(2))
    assert scores.shape == (2,)
    assert np.isfinite(scores).all()


def test_a_sequence_of_problems_is_joined(corpus, fitted):
    np.testing.assert_array_equal(fitted.predict(list(corpus)), fitted.predict(corpus))


def test_repr_names_the_settings():
    assert "bsg" in repr(StructuredGradientBoosting())


# Answers


def test_not_fitted():
    e = StructuredGradientBoosting()
    p = generate(CorpusShape.tiny())
    for ask in (e.predict, e.decode, e.score, e.save):
        with pytest.raises(NotFittedError, match="not trained: call fit or load"):
            ask(p)
    with pytest.raises(NotFittedError):
        e.model  # noqa: B018
    with pytest.raises(ValueError, match="not trained"):  # as scikit-learn's own error
        e.history  # noqa: B018


def test_fit_returns_the_estimator(corpus):
    e = estimator(SearchPlan("local"), n_trees=1)
    assert e.fit(corpus) is e


def test_score_is_the_share_of_right_choices(corpus, fitted):
    right = fitted.predict(corpus) == corpus.gold
    assert fitted.score(corpus) == right.mean()
    # A mention whose gold is not among its candidates counts as wrong.
    holes = corpus.gold.copy()
    holes[right] = -1
    assert fitted.score(replace(corpus, gold=holes)) == 0.0
    assert fitted.score(corpus, gold=holes) == 0.0
    assert fitted.score(corpus, gold=fitted.predict(corpus)) == 1.0


@pytest.mark.parametrize(
    ("features", "complaint"),
    [
        ({"n_local": 3}, "the documents have 3 local features, the model was trained with 2"),
        ({"n_pair": 1}, "the documents have 1 pair features, the model was trained with 2"),
        ({"source": "none"}, "the documents have 0 pair features"),
    ],
)
def test_documents_with_other_features_are_refused(features, complaint):
    rng = np.random.default_rng(0)
    e = estimator(SearchPlan("bsg"), n_trees=2).fit(random_problems(rng))
    for ask in (e.predict, e.decode, e.score):
        with pytest.raises(ValueError, match=complaint):
            ask(random_problems(rng, **features))


# Clamps


def pair_world() -> tuple[Problems, Problems]:
    """Documents of two mentions whose right choices are those that belong together.

    Local features tell only the first mention apart, and that in training only.
    """
    local, gold, entity = [], [], []
    for d in range(40):
        side = d % 2
        local.append([[[float(side == 0)], [float(side == 1)]], [[0.0], [0.0]]])
        entity.append([[0, 1], [2, 3]])
        gold.append([side, side])

    def together(a, b):
        return [float({a, b} in ({0, 2}, {1, 3}))]

    undecided = [[[[0.5], [0.5]], [[0.5], [0.5]]]]
    return (
        Problems.from_lists(local, gold, entity, together),
        Problems.from_lists(undecided, None, entity[:1], together),
    )


@pytest.mark.parametrize("name", ["bs", "laso", "bsg", "bibsg"])
def test_clamps_steer_the_other_choices(name):
    train, asked = pair_world()
    e = estimator(SearchPlan(name, beam_width=2), n_trees=20).fit(train)
    assert e.score(train) == 1.0
    for mention in (0, 1):
        for choice in (0, 1):
            clamp = [-1, -1]
            clamp[mention] = choice
            decoding = e.decode(asked, clamp=clamp)
            assert decoding.choices.tolist() == [choice, choice]
            assert decoding.probability[mention] == pytest.approx(1)
            assert decoding.probability[1 - mention] > 0.6
    both = e.decode(asked, clamp=[0, 1])
    assert both.choices.tolist() == [0, 1]
    assert both.probability.tolist() == [1, 1]


@pytest.mark.parametrize("name", PLANS)
def test_no_clamp_is_as_good_as_none(name, corpus):
    e = estimator(SearchPlan(name), n_trees=5).fit(corpus)
    free, none = e.decode(corpus, clamp=np.full(corpus.n_mentions, -1)), e.decode(corpus)
    np.testing.assert_array_equal(free.choices, none.choices)
    np.testing.assert_array_equal(free.probability, none.probability)


@pytest.mark.parametrize(
    ("clamp", "complaint"),
    [
        ([0], "clamp needs one whole number per mention"),
        ([0.0, 0.0, 0.0], "clamp needs one whole number per mention"),
        ([-1, 2, -1], "document 0, mention 1: clamp is 2, but the mention has 2 candidates"),
        ([-1, -1, -2], "document 1, mention 0: clamp is -2"),
    ],
)
def test_impossible_clamps_are_refused(clamp, complaint):
    p = Problems.from_lists([[[[1.0], [0.0]], [[1.0], [0.0]]], [[[1.0], [0.0]]]], [[0, 0], [1]])
    e = estimator(SearchPlan("bsg"), n_trees=2).fit(p)
    with pytest.raises(ProblemsError, match=complaint):
        e.decode(p, clamp=clamp)


# n best


@pytest.mark.parametrize("name", PLANS)
def test_n_best_are_different_and_in_order(name, corpus):
    e = estimator(SearchPlan(name, beam_width=4), n_trees=8, learning_rate=0.3).fit(corpus)
    decoding = e.decode(corpus, n_best=4)
    np.testing.assert_array_equal(decoding.choices, e.predict(corpus))
    assert (decoding.n_sequences == 4).all()
    assert (np.diff(decoding.sequence_probability, axis=1) <= 1e-15).all()
    for d in range(len(corpus)):
        document = decoding.document(d)
        assert len({tuple(s) for s in document.sequences.tolist()}) == 4
        assert document.sequences.shape == (4, 6)
        # Each choice of the best sequence is at least as probable as the sequence.
        assert (document.probability >= document.sequence_probability[0, 0] - 1e-12).all()


def test_n_best_of_a_narrow_beam(corpus):
    e = estimator(SearchPlan("bsg", beam_width=2), n_trees=3).fit(corpus)
    decoding = e.decode(corpus, n_best=5)
    assert (decoding.n_sequences == 2).all()
    assert (decoding.sequences[2:] == -1).all()
    assert decoding.document(0).sequences.shape == (2, 6)
    with pytest.raises(SettingsError, match="n_best is 0"):
        e.decode(corpus, n_best=0)


def test_an_absurd_n_best_does_not_take_all_memory(corpus):
    e = estimator(SearchPlan("local"), n_trees=1).fit(corpus)
    with pytest.raises(SettingsError, match="n_best is"):
        e.decode(corpus, n_best=10**12)


# Threads


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("threads", [1, 2])
def test_concurrent_predictions_equal_serial_ones(name, threads, corpus, tmp_path):
    estimator(SearchPlan(name), n_trees=10, threads=threads).fit(corpus).save(tmp_path / "m")
    e = StructuredGradientBoosting.load(tmp_path / "m")  # nothing compiled yet
    e.set_params(training__threads=threads)
    parts = [corpus[i::8] for i in range(8)]
    found: list = [None] * 8
    start = threading.Barrier(8)

    def ask(i):
        start.wait()
        found[i] = [e.decode(parts[i], n_best=2) for _ in range(5)]

    workers = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for part, decodings in zip(parts, found, strict=True):
        serial = e.decode(part, n_best=2)
        for decoding in decodings:
            for field in ("probability", "sequences", "scores", "sequence_probability"):
                assert getattr(decoding, field).tobytes() == getattr(serial, field).tobytes()
