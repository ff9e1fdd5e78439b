"""Small documents, trained models and the twin's view of both, for the learner's tests.

Features are small multiples of 1/8: dot products and sums of them are exact, so the kernels
and the twin see the same rows to the last bit, whatever order they add in.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.naive import Point, Row, collect, documents_of
from sgtb.boosting import (
    PairTable,
    Problems,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
    TreeSettings,
)
from sgtb.boosting.data.binning import Binner
from sgtb.boosting.search.collector import Epoch
from sgtb.boosting.trees.forest import Forest
from sgtb.core.thread_pool import ThreadPool

Source = Literal["block", "table", "none"]


def eighths(rng: np.random.Generator, *shape: int) -> Any:
    """Numbers from -2 to 2 that float32 and sums of them hold exactly."""
    return rng.integers(-16, 17, size=shape) / 8


def random_problems(
    rng: np.random.Generator,
    n_documents: int = 3,
    max_mentions: int = 4,
    max_candidates: int = 4,
    n_local: int = 2,
    n_pair: int = 2,
    source: Source = "block",
    absent: float = 0.1,
) -> Problems:
    """Documents of 0 to `max_mentions` mentions with 0 to `max_candidates` candidates.

    Entities come back in other mentions of their document; those of a table share names. The gold
    is missing from a share `absent` of the mentions that have candidates.
    """
    n_rows = 4 * max_candidates
    local, gold, entity = [], [], []
    for d in range(n_documents):
        sizes = rng.integers(0, max_candidates + 1, size=rng.integers(0, max_mentions + 1))
        if d == 0:  # one document at least that has something to teach
            sizes = np.full(max_mentions, max_candidates)
        local.append([eighths(rng, n, n_local).tolist() for n in sizes])
        entity.append([rng.choice(n_rows, size=n, replace=False).tolist() for n in sizes])
        gold.append(
            [
                None if n == 0 or (d > 0 and rng.random() < absent) else int(rng.integers(n))
                for n in sizes
            ]
        )
    found = Problems.from_lists(local, gold, entity, _pairs(rng, n_rows, n_pair, source))
    if source == "table":
        name = rng.integers(n_rows // 2, size=len(found.pairs.row))
        found = replace(found, pairs=replace(found.pairs, name=name))
    return found


def _pairs(rng: np.random.Generator, n_rows: int, n_pair: int, source: Source) -> Any:
    if source == "none":
        return None
    if source == "table":
        spaces = [eighths(rng, n_rows, 6 - s) for s in range(n_pair // 2)]
        links = [
            (
                rng.integers(n_rows, size=3 * n_rows),
                rng.integers(n_rows, size=3 * n_rows),
                rng.integers(1, 5, size=3 * n_rows),
            )
            for _ in range(n_pair - n_pair // 2)
        ]
        return PairTable.build(n_rows, spaces, links)
    values = eighths(rng, n_rows, n_rows, n_pair)
    return lambda a, b: values[min(a, b), max(a, b)].tolist()


def shuffled_candidates(rng: np.random.Generator, problems: Problems) -> Problems:
    """The same documents with the candidates of every mention in another order."""
    order = np.arange(problems.n_candidates)
    gold = problems.gold.copy()
    for m in range(problems.n_mentions):
        a, b = problems.candidate_offsets[m : m + 2]
        order[a:b] = rng.permutation(order[a:b])
        if gold[m] >= 0:
            gold[m] = np.flatnonzero(order[a:b] == a + gold[m])[0]
    return replace(problems, gold=gold, entity=problems.entity[order], local=problems.local[order])


def estimator(plan: SearchPlan, **settings: Any) -> StructuredGradientBoosting:
    """An estimator of one thread unless told otherwise; settings go where their name belongs."""
    of_trees = {k: v for k, v in settings.items() if k in TreeSettings.__dataclass_fields__}
    rest = {k: v for k, v in settings.items() if k not in of_trees}
    training = TrainingSettings(**{"n_trees": 12, "threads": 1, **rest})
    return StructuredGradientBoosting(plan, TreeSettings(**of_trees), training)


def model_bytes(fitted: StructuredGradientBoosting, folder: Path) -> bytes:
    """What `save` writes."""
    path = folder / "model.safetensors"
    fitted.save(path)
    return path.read_bytes()


def score_with(forest: Forest) -> Callable[[Row], float]:
    """F of one raw row, for the twin: follow the drawing in the module of forests."""
    roots, feature, threshold, left, value = (
        getattr(forest, name).tolist()
        for name in ("roots", "feature", "threshold", "left", "value")
    )

    def score(row: Row) -> float:
        raw = np.asarray(row, np.float32).tolist()
        total = 0.0
        for node in roots[:-1]:
            while left[node]:
                node = left[node] + (raw[feature[node]] > threshold[node])
            total += value[node]
        return total

    return score


def twin_points(problems: Problems, plan: SearchPlan, forest: Forest) -> list[Point]:
    """The points that the twin collects, document after document."""
    score = score_with(forest)
    return [point for x in documents_of(problems) for point in collect(x, plan, score)]


def assert_same_points(
    epoch: Epoch, points: Iterable[Point], binner: Binner, in_order: bool
) -> None:
    """Hold what the kernels collected against what the twin did, its rows on the same bins."""
    points = list(points)
    rows = epoch.rows[epoch.points]
    found = rows[:, : binner.n_features]
    assert not rows[:, binner.n_features :].any()
    raw = np.array([point.row for point in points], np.float32)
    with ThreadPool(1) as pool:
        expected = binner.transform(raw.reshape(len(points), binner.n_features), pool)
    residuals = np.array([point.residual for point in points])
    assert len(found) == len(expected)
    if not in_order:
        found, found_residuals = _sorted(found, epoch.residuals)
        expected, residuals = _sorted(expected, residuals)
    else:
        found_residuals = epoch.residuals
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(found_residuals, residuals, rtol=0, atol=1e-13)


def _sorted(rows: Any, residuals: Any) -> tuple[Any, Any]:
    order = np.lexsort((residuals, *rows.T))
    return rows[order], residuals[order]
