"""An evaluation: linkers and baselines compared on data sets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from sgtb.core.dtypes import Longs
from sgtb.core.errors import CorpusError, SettingsError
from sgtb.core.progress import Progress
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
from sgtb.evaluation.linkers.resolved_gold import titles_of
from sgtb.evaluation.linkers.runs import Place, Run, common_kb, counted, run_linkers
from sgtb.evaluation.linkers.score_accumulator import ScoreAccumulator
from sgtb.evaluation.linkers.scores import Evaluation, SetScores, SystemScores, complete
from sgtb.evaluation.linkers.systems import chosen_by_linker
from sgtb.linking.linker import Linker


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
) -> Evaluation[SystemScores]:
    """Link data sets with every linker and compare the answers with the gold.

    linkers    by name, all of one knowledge base; the others are compared with the first
    data       documents by the name of the data set, iterated once per linker: lists, or a
               `CorpusFile`. Splits of a data set are scored separately
    baselines  of `systems.BASELINES`, with the candidates of the first linker
    jobs       processes to link with

    If a data set cannot be read to its end, the others are evaluated before the
    `IncompleteEvaluationError` is raised, which has their scores.
    """
    settings = settings or EvaluationSettings()
    kb = common_kb(linkers)
    failed: dict[str, CorpusError] = {}
    runs = run_linkers(
        linkers, data, baselines=baselines, jobs=jobs, progress=progress, failed=failed
    )
    places = counted(runs, [*linkers, *baselines], _new_scores, _count, failed)
    sets = [_set_scores(*place, settings) for place in places]
    about = {"name": kb.path.name, "entities": len(kb)}
    return complete(Evaluation(about, asdict(settings), tuple(sets)), failed)


def _new_scores(run: Run) -> ScoreAccumulator:
    return ScoreAccumulator(run.linker.model.seen or None)  # not in models of earlier versions


def _count(scores: ScoreAccumulator, run: Run) -> None:
    resolved, links = run.resolved, run.found.links
    entities = run.choose(run.found)
    golds = (mention.gold for mention in resolved.annotated.mentions)
    scores.add(resolved, links, entities, titles_of(run.linker.kb, {*entities, *golds}))
    if run.choose is chosen_by_linker:
        scores.add_confidences(resolved.known, links)


def _set_scores(
    place: Place, name: str, by_system: Mapping[str, ScoreAccumulator], settings: EvaluationSettings
) -> SetScores[SystemScores]:
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
        ambiguous=scores.accuracy("ambiguous_correct", "ambiguous_total"),
        candidates=scores.sum("candidates"),
        titles=scores.precision_recall("title"),
        nil=NilScores(scores.precision_recall("link"), scores.precision_recall("nil")),
        calibration=_calibration(scores, settings.bins),
        calibration_in_kb=_calibration_in_kb(scores, settings.bins),
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


def _calibration_in_kb(scores: ScoreAccumulator, bins: int) -> Calibration | None:
    confidence, right = np.array(scores.link_confidence), np.array(scores.link_right, np.bool_)
    counted = (confidence >= 0) & ~np.array(scores.outside, np.bool_)
    return calibration(confidence[counted], right[counted], bins) if counted.any() else None


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
