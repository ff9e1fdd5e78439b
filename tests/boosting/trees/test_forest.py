"""The forest: raw numbers, bins, masks and walks all give the same scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgtb.boosting import (
    Problems,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
    TreeSettings,
)
from sgtb.boosting.data.binning import Binner
from sgtb.boosting.model_file import Model
from sgtb.boosting.trees.forest import MASKED_DEPTH, Forest, ForestBuilder
from sgtb.boosting.trees.grower import PointRows, Tree, grow
from sgtb.boosting.trees.histogram import padded
from sgtb.core.dtypes import SCORE_GRID
from sgtb.core.thread_pool import ThreadPool
from tests.helpers.problem_builders import score_with

LOCAL, GLOBAL = 3, 4


def random_tree(rng, depth, n_bins) -> Tree:
    """Any tree of at most this depth: thresholds need not make sense."""
    feature, bins, left, value = [-1], [0], [0], [0.0]
    level = [0]
    for _ in range(depth):
        below = []
        for node in level:
            if rng.random() < 0.2:
                continue
            first = len(feature)
            feature[node] = int(rng.integers(len(n_bins)))
            bins[node] = int(rng.integers(n_bins[feature[node]] - 1))
            left[node] = first
            feature += [-1, -1]
            bins += [0, 0]
            left += [0, 0]
            value += [0.0, 0.0]
            below += [first, first + 1]
        level = below
    for node in range(len(feature)):
        if feature[node] < 0:
            value[node] = int(rng.integers(-1000, 1000)) * SCORE_GRID
    return Tree(
        np.array(feature, np.int32), np.array(bins, np.uint8), np.array(left, np.int32),
        np.array(value),
    )  # fmt: skip


def random_forest(seed, depth, n_trees=6) -> tuple[ForestBuilder, Binner, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(40, LOCAL + GLOBAL)).astype(np.float32)
    binner = Binner.fit(values, 20)
    builder = ForestBuilder(n_trees, depth, LOCAL, binner)
    for _ in range(n_trees):
        builder.append(random_tree(rng, depth, binner.n_bins))
    asked = np.concatenate([values, rng.normal(size=(40, LOCAL + GLOBAL)).astype(np.float32)])
    asked[:20, 0] = [*binner.thresholds[0, :19].tolist(), 0.0]  # right on the borders
    return builder, binner, asked


def scores_in_search(forest: Forest, rows: np.ndarray, depth: int) -> np.ndarray:
    """Score rows as candidates of a mention after another one with a single candidate.

    Their global features are mean and maximum over one decision.
    """
    n_pair = GLOBAL // 2
    blocks = [rows[:1, :LOCAL].tolist(), rows[:, :LOCAL].tolist()]
    pairs = rows[:, LOCAL : LOCAL + n_pair].tolist()
    problems = Problems.from_lists(
        [blocks], [[0, 0]], [[[0], list(range(1, len(rows) + 1))]],
        lambda a, b: pairs[max(a, b) - 1] if max(a, b) else [0.0] * n_pair,
    )  # fmt: skip
    model = Model(
        forest, SearchPlan("bsg"), TreeSettings(depth=depth), TrainingSettings(), LOCAL, n_pair, ()
    )
    scorer = StructuredGradientBoosting(model.plan, model.trees, model.training)
    scorer._model = model
    return scorer.decode(problems).factor[1:]


def assert_same(a: Forest, b: Forest) -> None:
    for name in ("roots", "feature", "threshold", "left", "value"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name


@pytest.mark.parametrize("depth", range(1, 9))
@pytest.mark.parametrize("seed", range(2))
def test_raw_numbers_bins_and_masks_score_the_same(depth, seed):
    builder, _, rows = random_forest(seed, depth)
    forest = builder.finished()
    rows[:, LOCAL + GLOBAL // 2 :] = rows[:, LOCAL : LOCAL + GLOBAL // 2]  # one decision
    raw = forest.predict(rows)
    assert raw.tolist() == list(map(score_with(forest), rows))
    arrays, _ = forest.compiled(LOCAL, LOCAL + GLOBAL)
    assert (arrays.depth > MASKED_DEPTH) == (forest.depth() > MASKED_DEPTH)
    np.testing.assert_array_equal(raw, scores_in_search(forest, rows, depth))


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_compiled_forests_keep_every_threshold(seed, depth):
    forest = random_forest(seed, depth, n_trees=3)[0].finished()
    arrays, binner = forest.compiled(LOCAL, LOCAL + GLOBAL)
    back = ForestBuilder(3, depth, LOCAL, binner)
    back.extend(forest)
    assert_same(back.finished(), forest)
    assert arrays.roots.tolist() == forest.roots.tolist()
    assert binner.n_bins.sum() - binner.n_features == len(
        {(f, t) for f, t in zip(forest.feature, forest.threshold, strict=True) if f >= 0}
    )


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_extended_builder_is_as_if_it_had_grown_the_trees(depth):
    builder, binner, _ = random_forest(4, depth, n_trees=5)
    whole = builder.finished()
    resumed = ForestBuilder(5, depth, LOCAL, binner)
    resumed.extend(whole.first(3))
    assert resumed.n_trees == 3
    assert_same(resumed.finished(), whole.first(3))
    again = ForestBuilder(5, depth, LOCAL, binner)
    again.extend(whole)
    assert_same(again.finished(), whole)
    for name, array in again.arrays._asdict().items():
        np.testing.assert_array_equal(array, getattr(builder.arrays, name), name)


def test_finished_forests_do_not_change_when_the_builder_goes_on():
    builder, _, rows = random_forest(5, 3, n_trees=4)
    young = ForestBuilder(5, 3, LOCAL, builder._binner)
    young.extend(builder.finished())
    forest = young.finished()
    before = forest.predict(rows)
    young.append(random_tree(np.random.default_rng(0), 3, builder._binner.n_bins))
    np.testing.assert_array_equal(forest.predict(rows), before)
    assert young.finished().n_trees == 5


def test_first_trees_are_what_boosting_had():
    builder, _, rows = random_forest(6, 3)
    forest = builder.finished()
    np.testing.assert_array_equal(forest.first(0).predict(rows), np.zeros(len(rows)))
    total = np.zeros(len(rows))
    for t in range(forest.n_trees):
        total += forest.first(t + 1).predict(rows) - forest.first(t).predict(rows)
    np.testing.assert_array_equal(total, forest.predict(rows))


def test_depth_counts_questions():
    leaf = Forest(
        np.array([0, 1], np.int32), np.array([-1], np.int32), np.zeros(1, np.float32),
        np.zeros(1, np.int32), np.ones(1),
    )  # fmt: skip
    assert leaf.depth() == 0
    assert leaf.predict(np.zeros((2, 0), np.float32)).tolist() == [1, 1]
    for depth in (1, 4, 8):
        rng = np.random.default_rng(depth)
        values = rng.normal(size=(400, 2)).astype(np.float32)
        binner = Binner.fit(values)
        x = np.zeros((400, padded(2)), np.uint8)
        with ThreadPool(1) as pool:
            x[:, :2] = binner.transform(values, pool)
            tree = grow(
                PointRows(x, rng.normal(size=400), binner.n_features, pool),
                binner.n_bins,
                TreeSettings(depth=depth),
            )
        builder = ForestBuilder(1, depth, 2, binner)
        builder.append(tree)
        assert builder.finished().depth() == depth
