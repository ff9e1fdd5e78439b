"""The search for settings: cross-validation over AIDA's train and dev, whole topics held out.

Train and dev were written on the same days of August 1996, test in December. A system that
memorises train does well on dev, but not on test. Held-out topics are the best available
substitute for another month: settings are chosen on them, and test is not used.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.aida import BEAM_WIDTH, N_TREES, TREES, left_out
from experiments.aida_data import FOLDS, AidaData, Packer, Say, silent
from experiments.entity_tables import listed_candidates
from experiments.folds import headline_folds
from sgtb.boosting import SearchPlan, StructuredGradientBoosting, TrainingSettings, TreeSettings
from sgtb.boosting.search.beam import PlanName
from sgtb.core.dtypes import Floats
from sgtb.core.records import Document
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.features.feature_matrix import Featurizer
from sgtb.linking.problem_packing import pack, pair_table

OUTER_FOLDS = 4


@dataclass(frozen=True)
class Trial:
    """Training settings."""

    plan: PlanName = "bsg"
    trees: TreeSettings = TREES
    n_trees: int = N_TREES
    beam_width: int = BEAM_WIDTH
    without: tuple[str, ...] = ()


TRIALS: Mapping[str, Trial] = {
    "as chosen": Trial(),
    "depth 3, η 0.5, all features": Trial(
        trees=replace(TREES, learning_rate=0.5, depth=3, min_leaf=50, feature_share=1.0),
        n_trees=200,
    ),
    "depth 3": Trial(trees=replace(TREES, depth=3)),
    "all features at every tree": Trial(trees=replace(TREES, feature_share=1.0)),
    "η 0.1": Trial(trees=replace(TREES, learning_rate=0.1)),
    "beam 8": Trial(beam_width=8),
    "without rankers": Trial(without=("ranker", "joint ranker")),
    "without coherence and joint ranker": Trial(without=("coherence", "joint ranker")),
    "bs": Trial(plan="bs"),
    "laso": Trial(plan="laso"),
    "bibsg": Trial(plan="bibsg"),
    "local": Trial(plan="local"),
}
"""Trials before settings were fixed, each with one change."""


@dataclass(frozen=True)
class Outcome:
    """The accuracy on each held-out fold, and on all of them."""

    name: str
    folds: tuple[float, ...]
    accuracy: float
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as plain data, in percent."""
        return {
            "name": self.name,
            "accuracy": round(100 * self.accuracy, 2),
            "folds": [round(100 * fold, 2) for fold in self.folds],
            "seconds": round(self.seconds, 1),
        }


@dataclass(frozen=True)
class _Fold:
    train: CandidateTable
    train_features: Floats
    held_out: CandidateTable
    held_out_features: Floats


class TopicFolds:
    """Train and dev in folds of whole topics, packed once for all trials."""

    def __init__(self, data: AidaData, seed: int = 0, say: Say = silent) -> None:
        documents = [*data.documents("train"), *data.documents("dev")]
        known = Packer(data, None, say).known
        self._pairs = pair_table(known.facts)
        self._folds = []
        dealt = headline_folds(documents, OUTER_FOLDS, seed)
        for fold in range(OUTER_FOLDS):
            say(f"packing fold {fold + 1} of {OUTER_FOLDS}")
            train, held_out = (
                known.table(listed_candidates(part, data.entities))
                for part in _parted(documents, dealt == fold)
            )
            inner = headline_folds(train.candidates.documents, FOLDS, seed)
            featurizer, features = Featurizer.fit(train, inner, seed)
            self._folds.append(
                _Fold(
                    train.candidates, features, held_out.candidates, featurizer.features(held_out)
                )
            )

    def run(self, name: str, trial: Trial) -> Outcome:
        """Train on all folds but one, in turn, and test on that one."""
        begin = time.perf_counter()
        without = {*trial.without, *left_out(trial.plan)}
        accuracies, sizes = [], []
        for fold in self._folds:
            system = StructuredGradientBoosting(
                SearchPlan(trial.plan, trial.beam_width), trial.trees,
                TrainingSettings(trial.n_trees, check_every=trial.n_trees),
            )  # fmt: skip
            system.fit(pack(fold.train, fold.train_features, self._pairs, without))
            held_out = pack(fold.held_out, fold.held_out_features, self._pairs, without)
            accuracies.append(system.score(held_out))
            sizes.append(held_out.n_mentions)
        mean = float(np.average(accuracies, weights=sizes))
        return Outcome(name, tuple(accuracies), mean, time.perf_counter() - begin)


def _parted(
    documents: Sequence[Document], chosen: npt.NDArray[np.bool_]
) -> tuple[list[Document], list[Document]]:
    """Return the documents not chosen, and those chosen."""
    pairs = list(zip(documents, chosen.tolist(), strict=True))
    return [d for d, own in pairs if not own], [d for d, own in pairs if own]
