"""The sample: forty documents with the paper's own features, for training and testing in seconds.

It tests the format, and the learner with other features. Forty documents are too few to
distinguish plans.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.aida import Watch, unwatched
from experiments.processed_features import PROCESSED_FEATURES, ProcessedDocument, read_processed
from sgtb.boosting import (
    Problems,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
    TreeSettings,
)
from sgtb.boosting.data.pairs import PairTable
from sgtb.boosting.search.beam import PlanName
from sgtb.core.dtypes import Ints
from sgtb.core.errors import CorpusError
from sgtb.core.sparse_matrix import group_of
from sgtb.evaluation import Accuracy, Recall, interval

SAMPLE = Path("sgtb-sample", "AIDA-PPR-processed-sample.jsonl.xz")
N_TRAIN, N_TEST = 30, 10
N_TREES = 100
TREES = TreeSettings(learning_rate=0.1, depth=3, min_leaf=10)
BASELINE = "prior_1"
"""The feature whose highest value is the baseline's choice."""


@dataclass(frozen=True)
class SampleRun:
    """A plan's accuracy on the test documents."""

    plan: str
    test: Accuracy
    seconds: float


@dataclass(frozen=True)
class SampleResult:
    """All runs, the baseline, and the size of the training data."""

    runs: tuple[SampleRun, ...]
    baseline: Accuracy
    recall: Recall
    n_train_mentions: int


def read_sample(folder: Path) -> tuple[ProcessedDocument, ...]:
    """Read the sample from the folder of all data."""
    documents = read_processed(folder / SAMPLE)
    if len(documents) != N_TRAIN + N_TEST:
        raise CorpusError(
            f"{folder / SAMPLE}: {len(documents)} documents, while the sample has "
            f"{N_TRAIN + N_TEST}; fetch it again"
        )
    return documents


def pack_processed(documents: Sequence[ProcessedDocument]) -> Problems:
    """Return the problems of documents: their 19 local features, and one of pairs.

    The file has no pair features. The one added here is whether two candidates are the same
    entity.
    """
    ids = {id_ for document in documents for m in document.mentions for id_ in m.candidates}
    # Numbers of pages in ascending order, so that ties go to the lower.
    row = {id_: i for i, id_ in enumerate(sorted(ids, key=int))}
    own = np.arange(len(row))
    return Problems.from_lists(
        [[mention.features.tolist() for mention in d.mentions] for d in documents],
        [
            [m.candidates.index(m.gold) if m.gold in m.candidates else None for m in d.mentions]
            for d in documents
        ],
        [[[row[id_] for id_ in m.candidates] for m in d.mentions] for d in documents],
        PairTable.build(len(row), links=[(own, own, np.ones(len(row)))]),
    )


def run_sample(
    documents: Sequence[ProcessedDocument],
    plans: Sequence[PlanName],
    watch: Watch = unwatched,
) -> SampleResult:
    """Train every plan on the first documents, test it on the last."""
    problems = pack_processed(documents)
    train, test = problems[:N_TRAIN], problems[-N_TEST:]
    runs = []
    for plan in plans:
        before = time.perf_counter()
        training = TrainingSettings(N_TREES, patience=None)
        system = StructuredGradientBoosting(SearchPlan(plan), TREES, training)
        with watch(plan) as callback:
            system.fit(train, callbacks=[] if callback is None else [callback])
        seconds = time.perf_counter() - before
        runs.append(SampleRun(plan, _accuracy(test, system.predict(test)), seconds))
    recall = Recall(int((test.gold >= 0).sum()), test.n_mentions)
    return SampleResult(tuple(runs), _accuracy(test, by_prior(test)), recall, train.n_mentions)


def by_prior(problems: Problems) -> Ints:
    """Return the candidate with the highest prior, ties to the lower id; -1 without candidates."""
    prior = problems.local[:, PROCESSED_FEATURES.index(BASELINE)]
    choices = np.full(problems.n_mentions, -1, np.int32)
    offsets = problems.candidate_offsets.tolist()
    for m in range(problems.n_mentions):
        if offsets[m] < offsets[m + 1]:
            choices[m] = prior[offsets[m] : offsets[m + 1]].argmax()
    return choices


def _accuracy(problems: Problems, choices: Ints) -> Accuracy:
    """Count right choices per document; a missing gold counts as wrong."""
    document = group_of(problems.mention_offsets)
    right = (choices == problems.gold) & (problems.gold >= 0)
    n = problems.n_documents
    return Accuracy(
        tuple(map(str, range(n))),
        np.bincount(document[right], minlength=n),
        np.bincount(document, minlength=n),
    )


def as_json(result: SampleResult) -> dict[str, Any]:
    """Return the result as plain data; all shares in percent."""
    return {
        "train": {"documents": N_TRAIN, "mentions": result.n_train_mentions},
        "test": {
            "documents": N_TEST,
            "mentions": result.recall.total,
            "recall": round(100 * result.recall.share, 2),
        },
        "baseline": {"feature": BASELINE, **_points(result.baseline)},
        "systems": {
            run.plan: {**_points(run.test), "seconds": round(run.seconds, 2)} for run in result.runs
        },
        "trees": N_TREES,
    }


def _points(accuracy: Accuracy) -> dict[str, float]:
    likely = interval(accuracy)
    names = {"accuracy": likely.value, "low": likely.low, "high": likely.high}
    return {name: round(100 * value, 2) for name, value in names.items()}
