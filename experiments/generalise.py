"""Generalisation: accuracy on left-out domains, and on other renderings of the same texts.

AIDA-CoNLL's train and dev have three domains that share few names and no layout: soccer, other
sport, and news. Each is left out in turn. Settings are compared by the mean; AIDA-test is not
used for that. The renderings of AIDA-test are linked with the settings of the experiment `aida`.
Folds are by topic, as in `sgtb train`.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from experiments.aida import estimator
from experiments.aida_data import FOLDS, AidaData, Known, Packer, Say, silent
from experiments.entity_tables import listed_candidates
from experiments.folds import topic_of
from experiments.renderings import RENDERINGS
from sgtb.boosting import StructuredGradientBoosting
from sgtb.boosting.search.beam import PlanName
from sgtb.core.records import Document
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.features.feature_matrix import Featurizer
from sgtb.linking.problem_packing import pack, pair_table
from sgtb.linking.training.renderings import renderings_of
from sgtb.linking.training.topic_folds import topic_folds

N_TREES = 150
DOMAINS = ("soccer", "other sport", "news")
BASELINE = "in-links"
"""Baseline: the candidate with the most in-links."""


@dataclass(frozen=True)
class Setting:
    """Training settings: feature groups left out, and whether other renderings are used."""

    without: tuple[str, ...] = ()
    renderings: bool = True


SETTINGS: Mapping[str, Setting] = {
    "as chosen": Setting(),
    "no renderings": Setting(renderings=False),
    "without place": Setting(("place",)),
    "without local ranker": Setting(("ranker",)),
    "without both rankers": Setting(("ranker", "joint ranker")),
    "without coherence": Setting(("coherence",)),
}


def domain_of(document: Document) -> str:
    """Return the domain of an agency report, by its headline."""
    topic = topic_of(document)[0]
    return "news" if topic == "news" else "soccer" if topic == "SOCCER" else "other sport"


def run_domains(
    data: AidaData, names: Sequence[str], plan: PlanName, say: Say = silent
) -> dict[str, dict[str, float]]:
    """Return the accuracy in percent on each left-out domain, by setting, and of the baseline."""
    known = Packer(data, None, say).known
    documents = [*data.documents("train"), *data.documents("dev")]
    found: dict[str, dict[str, float]] = {BASELINE: {}, **{name: {} for name in names}}
    for domain in DOMAINS:
        others = [d for d in documents if domain_of(d) != domain]
        held = listed_candidates([d for d in documents if domain_of(d) == domain], data.entities)
        found[BASELINE][domain] = _percent(np.zeros(len(held.gold), np.int32), held)
        for name in names:
            system = _train(data, known, others, SETTINGS[name], plan)
            found[name][domain] = system.accuracy(held)
            say(f"{domain} left out, {name}: {found[name][domain]:.2f}")
    return found


def run_renderings(
    data: AidaData, split: str, plan: PlanName, say: Say = silent
) -> dict[str, float]:
    """Return the accuracy in percent on each rendering of a split, trained on AIDA-train."""
    known = Packer(data, None, say).known
    system = _train(data, known, data.documents("train"), Setting(), plan)
    found = {}
    for name, render in RENDERINGS.items():
        rendered = listed_candidates(render(data.documents(split)), data.entities)
        found[name] = system.accuracy(rendered)
        say(f"{split}, {name}: {found[name]:.2f}")
    return found


@dataclass(frozen=True)
class _Trained:
    """A trained system with its features."""

    system: StructuredGradientBoosting
    featurizer: Featurizer
    known: Known
    without: tuple[str, ...]

    def accuracy(self, candidates: CandidateTable) -> float:
        """Return the accuracy in percent."""
        segments = self.known.segmented(candidates).candidates
        features = self.featurizer.features(self.known.table(segments))
        problems = pack(segments, features, pair_table(self.known.facts), self.without)
        return _percent(self.system.predict(problems), segments)


def _train(
    data: AidaData, known: Known, documents: Sequence[Document], setting: Setting, plan: PlanName
) -> _Trained:
    copies, source = renderings_of(documents if setting.renderings else ())
    folds = topic_folds(documents, FOLDS)
    whole = np.concatenate([np.arange(len(documents)), source])
    own = known.segmented(listed_candidates([*documents, *copies], data.entities))
    table = known.table(own.candidates)
    featurizer, features = Featurizer.fit(table, folds[whole[own.source]], 0)
    system = estimator(plan, 0, N_TREES)
    pairs = pair_table(known.facts)
    system.fit(pack(own.candidates, features, pairs, setting.without))
    return _Trained(system, featurizer, known, setting.without)


def _percent(choices: Any, candidates: CandidateTable) -> float:
    return 100 * float(np.mean(choices == candidates.gold))


def run_generalise(
    data: AidaData, names: Sequence[str], plan: PlanName, split: str, say: Say = silent
) -> dict[str, Any]:
    """Return both tables as plain data."""
    begin = time.perf_counter()
    domains = run_domains(data, names, plan, say) if names else {}
    return {
        "plan": plan,
        "trees": N_TREES,
        "domains": {
            name: {**row, "mean": sum(row.values()) / len(row)} for name, row in domains.items()
        },
        "split": split,
        "renderings": run_renderings(data, split, plan, say),
        "seconds": round(time.perf_counter() - begin, 1),
    }


def show(record: dict[str, Any]) -> None:
    """Print both tables."""
    if record["domains"]:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Accuracy on left-out domains")
        table.add_column("setting")
        for name in (*DOMAINS, "mean"):
            table.add_column(name, justify="right")
        for name, row in record["domains"].items():
            table.add_row(name, *(f"{row[key]:.2f}" for key in (*DOMAINS, "mean")))
        Console().print(table)
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, title=f"Renderings of AIDA {record['split']}"
    )
    for name in ("rendering", "accuracy", "loss"):
        table.add_column(name, justify="left" if name == "rendering" else "right")
    first, *_ = record["renderings"].values()
    for name, accuracy in record["renderings"].items():
        table.add_row(name, f"{accuracy:.2f}", f"{first - accuracy:.2f}")
    Console().print(table)
    print(f"{record['plan']}, {record['trees']} trees; {record['seconds']:.0f} s")
