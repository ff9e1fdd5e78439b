"""Naive timing: the time of the naive twin, from a sample of documents and epochs.

The twin is too slow to be run to the end. Its work in an epoch is a number of rows, each made
once and passed to every tree so far, so an epoch with m trees takes a + b·m, and documents
add up. The trees are those of the learner, given to scikit-learn node by node: the twin is
measured on the beams it would have had, and its decisions can be compared with the learner's.

All choices favour the twin: pair features are looked up before the measurement, its
processes are assumed to be perfectly balanced, sending rows between them takes no time, and
scikit-learn fits its trees to values binned beforehand.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeRegressor
from sklearn.tree._tree import Tree as SklearnTree

from benchmarks.measure import (
    CORES,
    Line,
    fit_line,
    interpolated_total,
    seconds_of,
    side_by_side,
)
from benchmarks.naive import (
    Memory,
    NaiveDocument,
    collect,
    collect_with,
    decode,
    documents_of,
    fit_tree,
    score_row,
)
from benchmarks.sample import Sample, choose_sample
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.beam import SearchPlan
from sgtb.boosting.trees.forest import Forest
from sgtb.core.dtypes import Bytes, Doubles, Ints


@dataclass(frozen=True)
class NaiveTraining:
    """The twin's training time, and what it was computed from (seconds).

    Per epoch sampled: both processes' time on their halves of the sample, averaged.
    """

    seconds: float
    seconds_remembering: float
    sampled_documents: int
    documents: int
    scale: float
    history_scale: float
    processes: int
    epochs: tuple[int, ...]
    epoch_seconds: tuple[float, ...]
    epoch_seconds_remembering: tuple[float, ...]
    a: float
    b: float
    tree_fit_seconds: float
    tree_fit_rows: int
    formula: str = (
        "seconds = scale * sum over m < n_trees of (a + b * m) + n_trees * tree_fit_seconds, "
        "a + b * m fitted to epoch_seconds; remembering: epoch_seconds_remembering, linear in "
        "between, in place of a + b * m for m > 0, and epoch_seconds[0] for m = 0"
    )


@dataclass(frozen=True)
class NaiveDecoding:
    """The twin's decoding time; `agreement` is the share of choices that are also ours.

    It may be slightly below 1: numpy adds up the terms of a dot product in another order
    than our kernel, and a similarity that differs in its last bit may cross a threshold.
    """

    seconds: float
    sampled_documents: int
    documents: int
    scale: float
    processes: int
    n_trees: int
    sample_seconds: float
    agreement: float
    formula: str = "seconds = scale * sample_seconds"


@dataclass(frozen=True)
class Task:
    """Input of the measurement: the corpus, the forest trained on it, the plan."""

    problems: Problems
    forest: Forest
    plan: SearchPlan
    sampled_documents: int
    epochs: tuple[int, ...]


class _Timings(NamedTuple):
    """What one process measured on its documents."""

    plain: list[float]
    remembering: list[float]
    decoding: float
    choices: list[list[int]]


def time_naive_twin(
    task: Task, rows: Bytes, residuals: Doubles, our_choices: Ints
) -> tuple[NaiveTraining, NaiveDecoding]:
    """Measure training and decoding; `rows` and `residuals` are those of an epoch of ours."""
    problems, n_trees = task.problems, task.forest.n_trees
    sample = choose_sample(problems, task.sampled_documents)
    trees = sklearn_trees(task.forest, problems.n_local + 2 * problems.n_pair)
    documents = documents_of(problems.take(sample.documents))
    # As the twin distributes them: by size, in turn.
    by_size = sorted(range(len(documents)), key=lambda d: -len(documents[d].local))
    shares = [by_size[i::CORES] for i in range(CORES)]
    both = side_by_side(lambda i: _measure([documents[d] for d in shares[i]], task, trees))
    tree_fit = seconds_of(lambda: fit_tree(rows, residuals, task.forest.depth()))

    plain = tuple(float(np.mean(pair)) for pair in zip(*(t.plain for t in both), strict=True))
    cached = tuple(
        float(np.mean(pair)) for pair in zip(*(t.remembering for t in both), strict=True)
    )
    line = fit_line(task.epochs, plain)
    training = NaiveTraining(
        plain_total(line, sample.scale, n_trees, tree_fit),
        remembering_total(plain[0], task.epochs, cached, sample.scale, n_trees, tree_fit),
        len(documents), len(problems), sample.scale, sample.history_scale, CORES, task.epochs,
        plain, cached, line.intercept, line.slope, tree_fit, len(rows),
    )  # fmt: skip
    decoding_seconds = float(np.mean([t.decoding for t in both]))
    theirs = {d: c for i in range(CORES) for d, c in zip(shares[i], both[i].choices, strict=True)}
    decoding = NaiveDecoding(
        sample.scale * decoding_seconds, len(documents), len(problems), sample.scale, CORES,
        n_trees, decoding_seconds, _agreement(problems, sample, theirs, our_choices),
    )  # fmt: skip
    return training, decoding


def plain_total(line: Line, scale: float, n_trees: int, tree_fit: float) -> float:
    """Return the time of all epochs, with every row scored against every tree."""
    return scale * line.total(n_trees) + n_trees * tree_fit


def remembering_total(
    first: float,
    epochs: Sequence[int],
    seconds: Sequence[float],
    scale: float,
    n_trees: int,
    tree_fit: float,
) -> float:
    """Return the time of all epochs with cached rows.

    Epoch 0 has none and takes `first`, the time of the first plain epoch measured.
    """
    later = interpolated_total(epochs, seconds, 1, n_trees - 1)
    return scale * (first + later) + n_trees * tree_fit


def sklearn_trees(forest: Forest, n_features: int) -> list[DecisionTreeRegressor]:
    """Return the same trees as scikit-learn's, one by one."""
    model = fit_tree(np.zeros((2, n_features)), [0.0, 1.0]).tree_
    node_type = model.__getstate__()["nodes"].dtype
    trees = []
    for start, stop in zip(forest.roots[:-1].tolist(), forest.roots[1:].tolist(), strict=True):
        inside = forest.feature[start:stop] >= 0
        left = forest.left[start:stop].astype(np.int64) - start
        nodes = np.zeros(stop - start, node_type)
        nodes["left_child"] = np.where(inside, left, -1)
        nodes["right_child"] = np.where(inside, left + 1, -1)
        nodes["feature"] = np.where(inside, forest.feature[start:stop], -2)
        nodes["threshold"] = np.where(inside, forest.threshold[start:stop], -2.0)
        nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = 1
        tree = SklearnTree(n_features, np.array([1]), 1)
        tree.__setstate__(
            {
                "max_depth": forest.depth(),
                "node_count": len(nodes),
                "nodes": nodes,
                "values": forest.value[start:stop].reshape(-1, 1, 1).copy(),
            }
        )
        trees.append(DecisionTreeRegressor())
        trees[-1].tree_ = tree
    return trees


def _measure(
    documents: list[NaiveDocument], task: Task, trees: list[DecisionTreeRegressor]
) -> _Timings:
    plain, remembering = [], []
    for m in task.epochs:
        # The epoch before, not measured: it fills the caches and looks the pairs up.
        known = trees[: m - 1]
        memories = [Memory(known, 1.0) for _ in documents]
        _remember(documents, task.plan, memories)
        known.append(trees[m - 1])
        remembering.append(seconds_of(lambda m=memories: _remember(documents, task.plan, m)))  # type: ignore[misc]
        plain.append(seconds_of(lambda m=m: _score_anew(documents, task.plan, trees[:m])))  # type: ignore[misc]
    begin = time.perf_counter()
    choices = [decode(d, task.plan, lambda row: score_row(trees, row)).choices for d in documents]
    return _Timings(plain, remembering, time.perf_counter() - begin, choices)


def _remember(documents: list[NaiveDocument], plan: SearchPlan, memories: list[Memory]) -> None:
    for document, memory in zip(documents, memories, strict=True):
        memory.turn()
        collect_with(document, plan, memory.factor)


def _score_anew(
    documents: list[NaiveDocument], plan: SearchPlan, trees: list[DecisionTreeRegressor]
) -> None:
    for document in documents:
        collect(document, plan, lambda row: score_row(trees, row))


def _agreement(
    problems: Problems, sample: Sample, theirs: dict[int, list[int]], ours: Ints
) -> float:
    same = []
    for i, d in enumerate(sample.documents.tolist()):
        a, b = problems.mention_offsets[d : d + 2].tolist()
        same += [x == y for x, y in zip(theirs[i], ours[a:b].tolist(), strict=True)]
    return float(np.mean(same))
