"""The peer experiment: sgtb and spaCy's trainable `entity_linker` with the same candidates.

Both are trained on AIDA-train with the same knowledge base, candidates, priors and descriptions,
and link given spans. Each runs in a separate process, so that peaks of memory can be compared.
"""

import math
import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.aida_data import Say, silent
from experiments.output import peak_bytes, print_notes, print_table
from experiments.wned import AIDA, Training, gold_sets, prepared_for, read_aida_splits
from sgtb.boosting.search.beam import PlanName
from sgtb.core.records import Document
from sgtb.evaluation.linkers.resolved_gold import ALL
from sgtb.evaluation.metrics import share
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.links import Link
from sgtb.linking.training.linker_training import fit_linker
from sgtb.linking.training.selection import trained_finder
from sgtb.linking.training.training_data import TrainingData
from sgtb.text.word_vectors import WordVectors

SPACY = "spaCy entity_linker"
NOTE = (
    "Accuracy in percent on mentions whose gold is among the candidates. Training includes the "
    "choice of epochs or trees on dev. Linking speed of sgtb includes the lookup of candidates and "
    "calibrated confidence; spaCy gets its candidates ready-made."
)
"""Must accompany the figures."""

Chosen = Sequence[Sequence[tuple[str | None, Set[str]]]]
"""By document and mention: the answer, and the candidates."""
Sets = Mapping[str, Sequence[Document]]


@dataclass(frozen=True)
class PeerSettings:
    """Input of both systems.

    epochs  of spaCy; the best on dev is kept
    """

    data: Path
    kb: Path
    plan: PlanName
    epochs: int
    seed: int


@dataclass(frozen=True)
class PeerRun:
    """The counts of a system.

    right     recalled mentions answered with their gold, by set
    recalled  mentions with their gold among the candidates, by set
    mentions  linked, of all sets together
    """

    right: Mapping[str, int]
    recalled: Mapping[str, int]
    mentions: int
    training_seconds: float
    linking_seconds: float
    peak_bytes: int
    note: str


def run_peers(settings: PeerSettings, say: Say = silent) -> dict[str, PeerRun]:
    """Run both systems, one after the other."""
    runs: dict[str, Callable[[PeerSettings], PeerRun]] = {
        f"sgtb, {settings.plan}": run_sgtb, SPACY: run_spacy,
    }  # fmt: skip
    results = {}
    for name, run in runs.items():
        say(f"training and linking: {name}")
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            results[name] = pool.submit(run, settings).result()
    return results


def run_sgtb(settings: PeerSettings) -> PeerRun:
    """Train and test a linker of sgtb."""
    with KnowledgeBase.open(settings.kb) as kb:
        training, sets = _read(settings, kb)
        begin = time.perf_counter()
        prepared = prepared_for(kb, training, settings.seed)
        model = fit_linker(prepared, training.settings(settings.plan, settings.seed))
        trained = time.perf_counter()
        linker = Linker(model, kb, LinkerSettings(nil=0.0, candidates=ALL))
        linked = {name: [*linker.pipe(documents)] for name, documents in sets.items()}
        seconds = trained - begin, time.perf_counter() - trained
        peak = peak_bytes()
        chosen = {
            name: [[(link.entity, _ids(link)) for link in one.links] for one in found]
            for name, found in linked.items()
        }
        return _scored(sets, chosen, seconds, peak, f"{model.forest.forest.n_trees} trees")


def run_spacy(settings: PeerSettings) -> PeerRun:
    """Train and test spaCy's entity linker."""
    from experiments.spacy_peer import SpacyLinker, entity_vectors, listed_candidates

    with KnowledgeBase.open(settings.kb) as kb:
        training, sets = _read(settings, kb)
        train, dev = training.train.documents, training.dev.documents
        own_settings = training.settings(settings.plan, settings.seed)
        finder = trained_finder(kb, train, own_settings.candidates, own_settings.fuzzy)
        found = {name: finder.find(documents) for name, documents in sets.items()}
        listed = {name: listed_candidates(kb, sets[name], one) for name, one in found.items()}
        own = listed_candidates(kb, train, finder.find(train, range(len(train))))
        held = listed_candidates(kb, dev, finder.find(dev))
        ids = sorted({id_ for one in (own, held, *listed.values()) for row in one
                      for pairs in row.values() for id_, _ in pairs})  # fmt: skip
        popularity = kb.rows["in_links"][np.array(kb.numbers(ids), np.int64)]
        begin = time.perf_counter()
        vectors = entity_vectors(kb, ids, WordVectors.glove())
        linker = SpacyLinker(ids, popularity, vectors, settings.seed)
        epochs = linker.train((train, own), (dev, held), settings.epochs)
        trained = time.perf_counter()
        answers = {name: [*linker.link(docs, listed[name])] for name, docs in sets.items()}
        seconds = trained - begin, time.perf_counter() - trained
        peak = peak_bytes()
    chosen = {
        name: [
            [
                (answer, {id_ for id_, _ in own[m.first]})
                for m, answer in zip(d.mentions, row, strict=True)
            ]
            for d, own, row in zip(sets[name], listed[name], answers[name], strict=True)
        ]
        for name in sets
    }
    best = max(range(len(epochs)), key=lambda i: epochs[i])
    note = f"epoch {best + 1} of {len(epochs)}, limited by --epochs"
    return _scored(sets, chosen, seconds, peak, note)


def _read(settings: PeerSettings, kb: KnowledgeBase) -> tuple[Training, Sets]:
    """Return AIDA's training documents, and the test sets with gold as ids."""
    aida = read_aida_splits(settings.data, kb)
    sets = gold_sets(settings.data, kb, aida["test"])
    known = {name: TrainingData.of(kb, documents).documents for name, documents in sets.items()}
    return Training.of(kb, AIDA, aida), known


def _ids(link: Link) -> set[str]:
    return {other.entity for other in link.candidates}


def _scored(
    sets: Sets, chosen: Mapping[str, Chosen], seconds: tuple[float, float], peak: int, note: str
) -> PeerRun:
    right: dict[str, int] = {}
    recalled: dict[str, int] = {}
    for name, documents in sets.items():
        counted = [
            answer == mention.gold
            for document, row in zip(documents, chosen[name], strict=True)
            for mention, (answer, ids) in zip(document.mentions, row, strict=True)
            if mention.gold in ids
        ]
        right[name], recalled[name] = sum(counted), len(counted)
    mentions = sum(len(document.mentions) for given in sets.values() for document in given)
    return PeerRun(right, recalled, mentions, *seconds, peak, note)


def as_json(results: Mapping[str, PeerRun]) -> dict[str, Any]:
    """Return the results as plain data; accuracies in percent."""
    return {"note": NOTE, "systems": {name: _system(run) for name, run in results.items()}}


def _system(run: PeerRun) -> dict[str, Any]:
    accuracy = {name: round(100 * share(n, run.recalled[name]), 2) for name, n in run.right.items()}
    return {
        "accuracy": {name: None if math.isnan(x) else x for name, x in accuracy.items()},
        "recalled": dict(run.recalled),
        "training_seconds": round(run.training_seconds, 1),
        "mentions_per_second": round(run.mentions / run.linking_seconds),
        "peak_megabytes": round(run.peak_bytes / 2**20),
        "trained": run.note,
    }


def show(record: dict[str, Any]) -> None:
    """Print accuracies, then costs."""
    systems = record["systems"]
    sets = next(iter(systems.values()))["accuracy"]
    rows = [
        (name, *("–" if x is None else f"{x:.1f}" for x in one["accuracy"].values()))
        for name, one in systems.items()
    ]
    print_table("Accuracy on recalled mentions", ("system", *sets), rows)
    costs = ("training_seconds", "mentions_per_second", "peak_megabytes")
    rows = [(name, *(f"{one[key]:,.0f}" for key in costs)) for name, one in systems.items()]
    print_table("Costs", ("system", "training, s", "mentions per s", "peak, MB"), rows)
    trained = "; ".join(f"{name}: {one['trained']}" for name, one in systems.items())
    print_notes([record["note"], f"Trained: {trained}."])
