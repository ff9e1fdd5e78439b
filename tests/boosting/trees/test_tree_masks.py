"""Masks of trees against a plain walk."""

import numpy as np
import pytest

from sgtb.boosting.trees import forest as tree_masks
from sgtb.boosting.trees.forest import Forest, TreeMasks

N_LOCAL = 2


def grown(depth: int, n_trees: int, n_global: int, seed: int) -> Forest:
    """Return trees that test any feature, some branches shorter than others."""
    rng = np.random.default_rng(seed)
    feature, threshold, left, value, roots = [], [], [], [], [0]
    for _ in range(n_trees):
        waiting = [(len(feature), 0)]
        feature.append(-1), threshold.append(0.0), left.append(0), value.append(0.0)
        while waiting:
            node, level = waiting.pop(0)
            if level == depth or rng.random() < 0.2:
                value[node] = float(rng.integers(-64, 64)) / 64
                continue
            feature[node] = int(rng.integers(N_LOCAL + n_global))
            threshold[node] = float(rng.integers(1, 10))
            left[node] = len(feature)
            for child in (len(feature), len(feature) + 1):
                feature.append(-1), threshold.append(0.0), left.append(0), value.append(0.0)
                waiting.append((child, level + 1))
        roots.append(len(feature))
    return Forest(
        np.array(roots, np.int32), np.array(feature, np.int32), np.array(threshold, np.float32),
        np.array(left, np.int32), np.array(value),
    )  # fmt: skip


@pytest.mark.parametrize("depth", [1, 3, 4, 5])
@pytest.mark.parametrize("n_global", [2, 4, 6])
def test_masks_end_in_the_leaves_of_a_walk(depth, n_global):
    forest = grown(depth, 13, n_global, seed=depth)
    arrays, binner = forest.compiled(N_LOCAL, N_LOCAL + n_global)
    trees = TreeMasks.of(arrays, forest.n_trees, n_global)
    globals_ = np.random.default_rng(9).integers(0, 12, (40, n_global)).astype(np.float32)
    bins = np.array(
        [np.searchsorted(binner.thresholds[N_LOCAL + g], globals_[:, g]) for g in range(n_global)],
        np.uint8,
    )
    # Local masks that leave everything: those of a row which goes left at all local splits.
    rows = np.hstack([np.zeros((40, N_LOCAL), np.float32), globals_])
    reached = np.bitwise_and.reduce(
        [trees.mask[trees.row[g, bins[g]]] for g in range(n_global)], axis=0
    )
    place = (reached & -reached) * np.uint32(0x077CB531) >> np.uint32(27)
    values = trees.value.reshape(-1, 32)
    got = values[np.arange(len(values)), place].sum(axis=1)
    without = [t for t in range(forest.n_trees) if t not in trees.tree]
    first = sum((arrays.leaf_value[t, 0] for t in without), 0.0)
    assert (got + first).tolist() == forest.predict(rows).tolist()


def test_trees_without_global_splits_are_left_out():
    forest = grown(3, 5, 0, seed=1)
    trees = TreeMasks.of(forest.compiled(N_LOCAL, N_LOCAL)[0], 5, 0)
    assert len(trees.tree) == 0
    assert trees.mask.size == 0


def test_no_tables_for_deep_trees_or_too_many(monkeypatch):
    deep = grown(6, 30, 2, seed=1)
    assert deep.depth() == 6
    assert TreeMasks.of(deep.compiled(N_LOCAL, N_LOCAL + 2)[0], 30, 2) is None
    arrays = grown(3, 5, 2, seed=1).compiled(N_LOCAL, N_LOCAL + 2)[0]
    monkeypatch.setattr(tree_masks, "MAX_SIZE", 10)
    assert TreeMasks.of(arrays, 5, 2) is None
