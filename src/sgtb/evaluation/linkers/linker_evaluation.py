"""An evaluation: linkers and baselines on data sets, side by side."""

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass

import numpy as np

from sgtb.core.errors import SettingsError
from sgtb.core.progress import Progress, silent
from sgtb.core.records import Document
from sgtb.evaluation import (
    Accuracy,
    Calibration,
    NilCurve,
    NilScores,
    Recall,
    calibration,
    nil_curve,
    paired_bootstrap,
    ratio_interval,
)
from sgtb.evaluation.linkers.linked_passes import linked, twin
from sgtb.evaluation.linkers.resolved_gold import Asked, titles_of
from sgtb.evaluation.linkers.score_accumulator import Ledger, Longs
from sgtb.evaluation.linkers.scores import Evaluation, SetScores, SystemScores
from sgtb.evaluation.linkers.systems import Baseline, Chooser, decided
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker import Linker
from sgtb.linking.links import LinkedDocument

Place = tuple[str, str]
"""A data set and a split of it."""


@dataclass(frozen=True)
class EvaluationSettings:
    """How scores are made.

    samples  of documents, drawn for each interval
    level    the share of samples that an interval holds
    seed     of the draws
    bins     of the calibration error
    """

    samples: int = 2_000
    level: float = 0.95
    seed: int = 0
    bins: int = 10

    def __post_init__(self) -> None:
        for name, low in (("samples", 1), ("seed", 0), ("bins", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise SettingsError(f"{name} must be a whole number from {low} up, not {value!r}")
        if not 0 < self.level < 1:
            raise SettingsError(f"level must lie between 0 and 1, as 0.95 does, not {self.level!r}")


def evaluate_linkers(
    linkers: Mapping[str, Linker],
    data: Mapping[str, Iterable[Document]],
    settings: EvaluationSettings | None = None,
    *,
    baselines: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress | None = None,
) -> Evaluation:
    """Link data sets with every linker and compare the answers with the gold.

    linkers    by name, all of one knowledge base; the others are held against the first
    data       documents by the name of the data set, gone through once for each linker: lists,
               or a `CorpusFile`. Splits of a data set are counted apart
    baselines  of `choosers.BASELINES`, with the candidates of the first linker
    jobs       processes to link with
    """
    settings = settings or EvaluationSettings()
    kb = _the_kb(linkers)
    _check(linkers, data, baselines)
    ledgers: dict[Place, dict[str, Ledger]] = {}
    for i, (name, linker) in enumerate(linkers.items()):
        systems: dict[str, Chooser] = {name: decided}
        if i == 0:
            systems |= {baseline: Baseline(kb, baseline) for baseline in baselines}
        _run(linker, systems, data, ledgers, jobs, progress or silent)
    order = [*linkers, *baselines]
    sets = [
        _set_scores(place, _label(place, ledgers), {n: by_system[n] for n in order}, settings)
        for place, by_system in ledgers.items()
    ]
    about = {"name": kb.path.name, "entities": len(kb)}
    return Evaluation(about, asdict(settings), tuple(sets))


def _run(
    linker: Linker,
    systems: Mapping[str, Chooser],
    data: Mapping[str, Iterable[Document]],
    ledgers: dict[Place, dict[str, Ledger]],
    jobs: int,
    progress: Progress,
) -> None:
    """Go through all data sets with one linker, and with what goes by its candidates."""
    seen = linker.model.seen or None  # models of earlier versions do not know
    name = next(iter(systems))
    with twin(linker, reasons=False) as own:
        for title, documents in data.items():
            total = len(documents) if isinstance(documents, Sized) else _counted(ledgers, title)
            stage = f"{name} on {title}"
            for done, (asked, found) in enumerate(linked(own, documents, jobs), 1):
                by_system = ledgers.setdefault((title, asked.inside.split), {})
                for system, choose in systems.items():
                    ledger = by_system.setdefault(system, Ledger(seen))
                    _count(ledger, asked, found, choose, own.kb)
                progress(stage, done, total)


def _count(
    ledger: Ledger, asked: Asked, found: LinkedDocument, choose: Chooser, kb: KnowledgeBase
) -> None:
    entities = choose(found)
    golds = (mention.gold for mention in asked.annotated.mentions)
    ledger.add(asked, found.links, entities, titles_of(kb, {*entities, *golds}))
    if choose is decided:
        ledger.trust(asked.inside, found.links)


def _counted(ledgers: Mapping[Place, Mapping[str, Ledger]], title: str) -> int:
    """Return how many documents an earlier linker met in a data set."""
    return sum(
        max(len(ledger.ids) for ledger in by_system.values())
        for (name, _), by_system in ledgers.items()
        if name == title
    )


def _label(place: Place, places: Iterable[Place]) -> str:
    """Return the name of a data set, with its split if it has several."""
    name, split = place
    if sum(other == name for other, _ in places) == 1:
        return name
    return f"{name}, {split or 'no split'}"


def _set_scores(
    place: Place, name: str, by_system: Mapping[str, Ledger], settings: EvaluationSettings
) -> SetScores:
    first = next(iter(by_system.values()))
    beside = first.accuracy("correct", "total")
    systems: dict[str, SystemScores] = {}
    for system, ledger in by_system.items():
        systems[system] = _system_scores(ledger, beside if systems else None, settings)
    known, named = first.sum("total"), first.sum("named_total")
    nil = first.sum("nil_gold") - (named - known)
    return SetScores(
        name, *place, len(first.ids), first.sum("mentions"), known, named - known, nil, systems
    )


def _system_scores(
    ledger: Ledger, beside: Accuracy | None, settings: EvaluationSettings
) -> SystemScores:
    accuracy = ledger.accuracy("correct", "total")
    draws = {"n_samples": settings.samples, "seed": settings.seed}
    difference = None
    if beside is not None and accuracy.total:
        difference = paired_bootstrap(beside, accuracy, level=settings.level, **draws)
    ratios = {
        "accuracy": (accuracy.document_correct, accuracy.document_total),
        "titles": _f1_parts(ledger, "title"),
        "links": _f1_parts(ledger, "link"),
    }
    return SystemScores(
        accuracy,
        ledger.accuracy("named_correct", "named_total"),
        Recall(ledger.sum("found"), accuracy.total),
        ledger.sum("candidates"),
        ledger.precision_recall("title"),
        NilScores(ledger.precision_recall("link"), ledger.precision_recall("nil")),
        _calibration(ledger, settings.bins),
        _curve(ledger),
        {by: tally.slices() for by, tally in ledger.tallies.items()},
        np.array(ledger.wrong, np.int64).reshape(-1, 2),
        {
            name: ratio_interval(part, total, level=settings.level, **draws)
            for name, (part, total) in ratios.items()
            if total.any()
        },
        difference,
    )


def _calibration(ledger: Ledger, bins: int) -> Calibration | None:
    if not ledger.confidence:
        return None
    return calibration(np.array(ledger.confidence), np.array(ledger.right, np.bool_), bins)


def _curve(ledger: Ledger) -> NilCurve | None:
    if not any(ledger.outside):
        return None
    right, outside = (np.array(given, np.bool_) for given in (ledger.link_right, ledger.outside))
    return nil_curve(np.array(ledger.link_confidence), right, outside)


def _f1_parts(ledger: Ledger, what: str) -> tuple[Longs, Longs]:
    """Return F1 as a ratio: by document, twice what is right, and what was said and should be."""
    right, said, gold = (ledger.column(f"{what}_{part}") for part in ("right", "said", "gold"))
    return 2 * right, said + gold


def _the_kb(linkers: Mapping[str, Linker]) -> KnowledgeBase:
    """Return the knowledge base of all linkers; what a gold is depends on it."""
    kbs = [linker.kb for linker in linkers.values()]
    if not kbs:
        raise SettingsError("there is no linker to evaluate: give at least one")
    for kb in kbs[1:]:
        if kb.state.fingerprint != kbs[0].state.fingerprint:
            raise SettingsError(
                f"one linker has the knowledge base {kbs[0].path}, another {kb.path}, and they "
                "differ; only linkers of one knowledge base can be asked the same"
            )
    return kbs[0]


def _check(
    linkers: Mapping[str, Linker], data: Mapping[str, Iterable[Document]], baselines: Sequence[str]
) -> None:
    for name in baselines:
        if name in linkers:
            raise SettingsError(f"a linker has the name {name!r} of a baseline; give it another")
    if not data:
        raise SettingsError("there is nothing to evaluate on: give at least one data set")
    for name, documents in data.items():
        if iter(documents) is documents:
            raise SettingsError(
                f"the data set {name!r} can be gone through only once; give a list or a CorpusFile"
            )
