"""An evaluation: linkers and baselines compared on data sets."""

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
from sgtb.evaluation.linkers.resolved_gold import (
    ResolvedGold,
    copy_linker,
    link_resolved,
    titles_of,
)
from sgtb.evaluation.linkers.score_accumulator import Longs, ScoreAccumulator
from sgtb.evaluation.linkers.scores import Evaluation, SetScores, SystemScores
from sgtb.evaluation.linkers.systems import Baseline, System, chosen_by_linker
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker import Linker
from sgtb.linking.links import LinkedDocument

Place = tuple[str, str]
"""A data set and a split of it."""


@dataclass(frozen=True)
class EvaluationSettings:
    """Settings of an evaluation.

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

    linkers    by name, all of one knowledge base; the others are compared with the first
    data       documents by the name of the data set, iterated once per linker: lists, or a
               `CorpusFile`. Splits of a data set are scored separately
    baselines  of `systems.BASELINES`, with the candidates of the first linker
    jobs       processes to link with
    """
    settings = settings or EvaluationSettings()
    kb = _the_kb(linkers)
    _check(linkers, data, baselines)
    accumulators: dict[Place, dict[str, ScoreAccumulator]] = {}
    for i, (name, linker) in enumerate(linkers.items()):
        systems: dict[str, System] = {name: chosen_by_linker}
        if i == 0:
            systems |= {baseline: Baseline(kb, baseline) for baseline in baselines}
        _run(linker, systems, data, accumulators, jobs, progress or silent)
    order = [*linkers, *baselines]
    sets = [
        _set_scores(place, _label(place, accumulators), {n: by_system[n] for n in order}, settings)
        for place, by_system in accumulators.items()
    ]
    about = {"name": kb.path.name, "entities": len(kb)}
    return Evaluation(about, asdict(settings), tuple(sets))


def _run(
    linker: Linker,
    systems: Mapping[str, System],
    data: Mapping[str, Iterable[Document]],
    accumulators: dict[Place, dict[str, ScoreAccumulator]],
    jobs: int,
    progress: Progress,
) -> None:
    """Link all data sets with one linker; baselines use its candidates."""
    seen = linker.model.seen or None  # not in models of earlier versions
    name = next(iter(systems))
    with copy_linker(linker, reasons=False) as own:
        for title, documents in data.items():
            total = (
                len(documents) if isinstance(documents, Sized) else _counted(accumulators, title)
            )
            stage = f"{name} on {title}"
            for done, (resolved, found) in enumerate(link_resolved(own, documents, jobs), 1):
                by_system = accumulators.setdefault((title, resolved.known.split), {})
                for system, choose in systems.items():
                    scores = by_system.setdefault(system, ScoreAccumulator(seen))
                    _count(scores, resolved, found, choose, own.kb)
                progress(stage, done, total)


def _count(
    scores: ScoreAccumulator,
    resolved: ResolvedGold,
    found: LinkedDocument,
    choose: System,
    kb: KnowledgeBase,
) -> None:
    entities = choose(found)
    golds = (mention.gold for mention in resolved.annotated.mentions)
    scores.add(resolved, found.links, entities, titles_of(kb, {*entities, *golds}))
    if choose is chosen_by_linker:
        scores.add_confidences(resolved.known, found.links)


def _counted(accumulators: Mapping[Place, Mapping[str, ScoreAccumulator]], title: str) -> int:
    """Return the number of documents of a data set, as counted for an earlier linker."""
    return sum(
        max(len(scores.ids) for scores in by_system.values())
        for (name, _), by_system in accumulators.items()
        if name == title
    )


def _label(place: Place, places: Iterable[Place]) -> str:
    """Return the name of a data set, with its split if it has several."""
    name, split = place
    if sum(other == name for other, _ in places) == 1:
        return name
    return f"{name}, {split or 'no split'}"


def _set_scores(
    place: Place, name: str, by_system: Mapping[str, ScoreAccumulator], settings: EvaluationSettings
) -> SetScores:
    first = next(iter(by_system.values()))
    beside = first.accuracy("correct", "total")
    systems: dict[str, SystemScores] = {}
    for system, scores in by_system.items():
        systems[system] = _system_scores(scores, beside if systems else None, settings)
    known, named = first.sum("total"), first.sum("named_total")
    nil = first.sum("nil_gold") - (named - known)
    data, split = place
    return SetScores(
        name=name,
        data=data,
        split=split,
        documents=len(first.ids),
        mentions=first.sum("mentions"),
        known=known,
        unknown=named - known,
        nil=nil,
        systems=systems,
    )


def _system_scores(
    scores: ScoreAccumulator, beside: Accuracy | None, settings: EvaluationSettings
) -> SystemScores:
    accuracy = scores.accuracy("correct", "total")
    draws = {"n_samples": settings.samples, "seed": settings.seed}
    difference = None
    if beside is not None and accuracy.total:
        difference = paired_bootstrap(beside, accuracy, level=settings.level, **draws)
    ratios = {
        "accuracy": (accuracy.document_correct, accuracy.document_total),
        "titles": _f1_parts(scores, "title"),
        "links": _f1_parts(scores, "link"),
    }
    return SystemScores(
        accuracy=accuracy,
        named=scores.accuracy("named_correct", "named_total"),
        recall=Recall(scores.sum("found"), accuracy.total),
        candidates=scores.sum("candidates"),
        titles=scores.precision_recall("title"),
        nil=NilScores(scores.precision_recall("link"), scores.precision_recall("nil")),
        calibration=_calibration(scores, settings.bins),
        curve=_curve(scores),
        slices={by: tally.slices() for by, tally in scores.tallies.items()},
        wrong=np.array(scores.wrong, np.int64).reshape(-1, 2),
        intervals={
            name: ratio_interval(part, total, level=settings.level, **draws)
            for name, (part, total) in ratios.items()
            if total.any()
        },
        difference=difference,
    )


def _calibration(scores: ScoreAccumulator, bins: int) -> Calibration | None:
    if not scores.confidence:
        return None
    return calibration(np.array(scores.confidence), np.array(scores.right, np.bool_), bins)


def _curve(scores: ScoreAccumulator) -> NilCurve | None:
    if not any(scores.outside):
        return None
    right, outside = (np.array(given, np.bool_) for given in (scores.link_right, scores.outside))
    return nil_curve(np.array(scores.link_confidence), right, outside)


def _f1_parts(scores: ScoreAccumulator, what: str) -> tuple[Longs, Longs]:
    """Return F1 as a ratio by document: twice the right ones; the predicted and the gold ones."""
    right, predicted, gold = (
        scores.column(f"{what}_{part}") for part in ("right", "predicted", "gold")
    )
    return 2 * right, predicted + gold


def _the_kb(linkers: Mapping[str, Linker]) -> KnowledgeBase:
    """Return the knowledge base of all linkers; gold is resolved against it."""
    kbs = [linker.kb for linker in linkers.values()]
    if not kbs:
        raise SettingsError("there is no linker to evaluate: give at least one")
    for kb in kbs[1:]:
        if kb.state.fingerprint != kbs[0].state.fingerprint:
            raise SettingsError(
                f"one linker has the knowledge base {kbs[0].path}, another {kb.path}, and they "
                "differ; compare linkers of one knowledge base"
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
