"""The grower against scikit-learn's regression tree, and against gains worked out slowly."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from sgtb.boosting import TreeSettings
from sgtb.boosting.data.binning import Binner
from sgtb.boosting.trees.forest import Forest, ForestBuilder
from sgtb.boosting.trees.grower import PointRows, Tree, draw_features, grow
from sgtb.boosting.trees.histogram import padded
from sgtb.core.dtypes import SCORE_GRID
from sgtb.core.errors import SettingsError
from sgtb.core.thread_pool import ThreadPool


def binned(values: np.ndarray, pool: ThreadPool, max_bins: int = 255) -> tuple[np.ndarray, Binner]:
    binner = Binner.fit(values, max_bins)
    x = np.zeros((len(values), padded(values.shape[1])), np.uint8)
    x[:, : values.shape[1]] = binner.transform(values, pool)
    return x, binner


def grown(values, residuals, threads=1, asked=None, **settings) -> tuple[Tree, Forest]:
    """A tree on bins, and as a forest of one on raw numbers; `asked`: the features drawn."""
    options = TreeSettings(**settings)
    with ThreadPool(threads) as pool:
        x, binner = binned(values, pool, options.max_bins)
        drawn = np.isin(np.arange(binner.n_features), asked) | (asked is None)
        n_bins = np.where(drawn, binner.n_bins, np.int32(1))
        tree = grow(PointRows(x, residuals, len(n_bins), pool), n_bins, options)
    builder = ForestBuilder(1, options.depth, values.shape[1], binner)
    builder.append(tree)
    return tree, builder.finished()


def sample(seed, n, n_features, n_distinct):
    rng = np.random.default_rng(seed)
    values = rng.integers(n_distinct, size=(n, n_features)).astype(np.float32) / 4
    signal = np.sin(values[:, 0]) + values[:, -1] * (values[:, 1] > values[:, 1].mean())
    return values, signal + rng.normal(size=n)


def structure(feature, threshold, left, right, values, rows=None, node=0):
    """Nested (feature, rows that go left, left child, right child), or None for a leaf.

    Thresholds are compared by what they do: ours lie between two values of the whole sample,
    scikit-learn's between two values of the node.
    """
    rows = np.arange(len(values)) if rows is None else rows
    if feature[node] < 0:
        return None
    goes_left = values[rows, feature[node]] <= threshold[node]
    columns = (feature, threshold, left, right, values)
    return (
        int(feature[node]),
        rows[goes_left].tolist(),
        structure(*columns, rows[goes_left], left[node]),
        structure(*columns, rows[~goes_left], right[node]),
    )


def our_structure(forest: Forest, values):
    return structure(forest.feature, forest.threshold, forest.left, forest.left + 1, values)


def their_structure(tree, values):
    return structure(tree.feature, tree.threshold, tree.children_left, tree.children_right, values)


@pytest.mark.parametrize(
    ("depth", "min_leaf", "n"), [(1, 1, 40), (3, 1, 150), (3, 20, 300), (5, 7, 200), (8, 2, 300)]
)
@pytest.mark.parametrize("seed", range(3))
def test_tree_equals_scikit_learns(depth, min_leaf, n, seed):
    values, residuals = sample(seed, n, n_features=5, n_distinct=60)
    _, forest = grown(values, residuals, depth=depth, min_leaf=min_leaf)
    theirs = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=min_leaf, random_state=0).fit(
        values, residuals
    )
    np.testing.assert_allclose(forest.predict(values), theirs.predict(values), rtol=0, atol=1e-6)
    # Nodes of a few rows are often split as well in several ways.
    if min_leaf > 2:
        assert our_structure(forest, values) == their_structure(theirs.tree_, values)


@pytest.mark.parametrize("seed", range(3))
def test_tree_on_many_rows_and_255_distinct_values_equals_scikit_learns(seed):
    values, residuals = sample(seed, 20_000, n_features=12, n_distinct=255)
    _, forest = grown(values, residuals, threads=2, min_leaf=5)
    theirs = DecisionTreeRegressor(max_depth=3, min_samples_leaf=5, random_state=0)
    theirs.fit(values, residuals)
    assert our_structure(forest, values) == their_structure(theirs.tree_, values)
    assert forest.threshold[0] == pytest.approx(theirs.tree_.threshold[0])
    np.testing.assert_allclose(forest.predict(values), theirs.predict(values), rtol=0, atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"l2": 3.0}, {"l2": 0.5, "min_leaf": 4}, {"min_gain": 9}])
@pytest.mark.parametrize("seed", range(3))
def test_root_split_and_leaves_follow_the_formula(settings, seed):
    values, residuals = sample(seed, 60, n_features=4, n_distinct=9)
    options = TreeSettings(depth=1, learning_rate=0.25, **settings)

    def strength(part):
        return part.sum() ** 2 / (len(part) + options.l2)

    gains = {}
    for f in range(values.shape[1]):
        for cut in np.unique(values[:, f])[:-1]:
            left, right = (residuals[values[:, f] <= cut], residuals[values[:, f] > cut])
            if min(len(left), len(right)) >= options.min_leaf:
                gains[f, cut] = strength(left) + strength(right) - strength(residuals)
    feature, cut = max(gains, key=lambda key: gains[key])
    assert gains[feature, cut] > options.min_gain
    _, forest = grown(values, residuals, depth=1, learning_rate=0.25, **settings)
    assert forest.feature.tolist() == [feature, -1, -1]
    assert cut <= forest.threshold[0] < values[values[:, feature] > cut, feature].min()
    goes_left = values[:, feature] <= cut
    for node, part in ((1, residuals[goes_left]), (2, residuals[~goes_left])):
        mean = 0.25 * part.sum() / (len(part) + options.l2)
        assert forest.value[node] == pytest.approx(mean, abs=SCORE_GRID)


@pytest.mark.parametrize("asked", [[4], [1, 3], [0, 2], [1, 2, 3, 4]])
@pytest.mark.parametrize("seed", range(3))
def test_tree_of_some_features_is_that_of_their_columns_alone(asked, seed):
    values, residuals = sample(seed, 200, n_features=5, n_distinct=60)
    tree, forest = grown(values, residuals, asked=asked, depth=4, min_leaf=7)
    alone, _ = grown(values[:, asked], residuals, depth=4, min_leaf=7)
    assert tree.feature.tolist() == [asked[f] if f >= 0 else -1 for f in alone.feature]
    for ours, of_columns in zip(tree[1:], alone[1:], strict=True):
        assert ours.tobytes() == of_columns.tobytes()
    theirs = DecisionTreeRegressor(max_depth=4, min_samples_leaf=7, random_state=0)
    expected = theirs.fit(values[:, asked], residuals).predict(values[:, asked])
    np.testing.assert_allclose(forest.predict(values), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("share", "n", "n_drawn"),
    [(0.4, 50, 20), (0.001, 50, 1), (0.01, 3, 1), (0.5, 1, 1), (0.999, 10, 10), (0.5, 0, 0)],
)
def test_draw_has_a_share_of_the_features_and_one_at_least(share, n, n_drawn):
    n_bins = np.arange(2, n + 2, dtype=np.int32)
    drawn = draw_features(n_bins, share, np.random.default_rng(0))
    assert drawn.dtype == np.int32
    assert (drawn > 1).sum() == n_drawn
    np.testing.assert_array_equal(drawn, np.where(drawn > 1, n_bins, 1))


def test_every_feature_is_drawn_about_as_often():
    n_bins, rng = np.full(10, 9, np.int32), np.random.default_rng(1)
    times = sum((draw_features(n_bins, 0.3, rng) > 1).astype(int) for _ in range(2000))
    assert times.sum() == 3 * 2000
    np.testing.assert_allclose(times, 600, atol=100)


def test_all_features_are_no_draw():
    n_bins, rng = np.array([3, 1, 7], np.int32), np.random.default_rng(2)
    before = rng.bit_generator.state
    assert draw_features(n_bins, 1.0, rng) is n_bins
    assert rng.bit_generator.state == before


def test_a_split_must_gain_more_than_asked_for():
    values = np.array([[0.0], [0.0], [1.0], [1.0]], np.float32)
    residuals = np.array([0.0, 0.0, 1.0, 1.0])  # gain 2²/2 − 2²/4 = 1
    assert grown(values, residuals, depth=1, min_gain=0.999)[0].feature.tolist() == [0, -1, -1]
    assert grown(values, residuals, depth=1, min_gain=1.0)[0].feature.tolist() == [-1]


def test_equal_gains_go_to_the_lower_feature_then_the_lower_threshold():
    column = np.array([0, 1, 2, 3], np.float32)
    values = np.stack([column, column], axis=1)
    tree, _ = grown(values, np.array([1.0, 0.0, 0.0, 1.0]), depth=1)
    assert (tree.feature[0], tree.bin[0]) == (0, 0)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -0.7])
@pytest.mark.parametrize("n", [3, 7, 50])
def test_constant_residuals_are_not_split(value, n):
    values = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    tree, _ = grown(values, np.full(n, value))
    assert tree.feature.tolist() == [-1]
    assert tree.value[0] == pytest.approx(value, abs=SCORE_GRID)


def test_a_leaf_has_the_rows_it_must_have():
    values, residuals = sample(5, 100, n_features=3, n_distinct=50)
    for min_leaf in (1, 10, 40, 51):
        tree, forest = grown(values, residuals, depth=5, min_leaf=min_leaf)
        _, members = np.unique(forest.predict(values), return_counts=True)
        assert members.min() >= min_leaf
    assert tree.feature.tolist() == [-1]  # no way to make two halves of 51


def test_nothing_to_grow_on():
    with ThreadPool(1) as pool:
        rows = PointRows(np.zeros((0, 8), np.uint8), np.zeros(0), 2, pool)
        none = grow(rows, np.ones(2, np.int32), TreeSettings())
        rows = PointRows(np.zeros((2, 0), np.uint8), np.ones(2), 0, pool)
        featureless = grow(rows, np.zeros(0, np.int32), TreeSettings())
    assert (none.feature.tolist(), none.value.tolist()) == ([-1], [0.0])
    assert (featureless.feature.tolist(), featureless.value.tolist()) == ([-1], [1.0])


def test_leaf_values_are_on_the_grid():
    values, residuals = sample(1, 80, n_features=3, n_distinct=30)
    tree, _ = grown(values, residuals / 7, learning_rate=0.1)
    on_grid = tree.value / SCORE_GRID
    assert np.count_nonzero(tree.value) == 8
    np.testing.assert_array_equal(on_grid, np.rint(on_grid))


@pytest.mark.parametrize("settings", [{}, {"depth": 6, "min_leaf": 3}, {"l2": 1.0}])
def test_same_tree_from_any_number_of_threads(settings):
    values, residuals = sample(2, 30_000, n_features=9, n_distinct=255)
    one, *others = (grown(values, residuals, threads, **settings)[0] for threads in (1, 2, 3))
    for other in others:
        for a, b in zip(one, other, strict=True):
            assert a.tobytes() == b.tobytes()


def test_order_of_rows_does_not_matter():
    values, residuals = sample(3, 5_000, n_features=4, n_distinct=100)
    order = np.random.default_rng(0).permutation(len(values))
    for a, b in zip(
        grown(values, residuals)[0], grown(values[order], residuals[order])[0], strict=True
    ):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0.0), ("learning_rate", float("nan")), ("depth", 0), ("depth", 13),
        ("min_leaf", 0), ("l2", -1.0), ("l2", float("inf")), ("min_gain", -0.1), ("max_bins", 1),
        ("max_bins", 256), ("depth", 2.5), ("min_leaf", 1.5), ("max_bins", 9.5), ("depth", "3"),
        ("feature_share", 0.0), ("feature_share", 1.01), ("feature_share", float("nan")),
    ],
)  # fmt: skip
def test_impossible_settings_are_refused_by_name(name, value):
    with pytest.raises(SettingsError, match=name):
        TreeSettings(**{name: value})
