"""An evaluation: linkers and baselines compared on data sets."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import CorpusError
from sgtb.core.progress import Progress
from sgtb.core.records import NIL, Document
from sgtb.evaluation import (
    Accuracy,
    Calibration,
    NilScores,
    Recall,
    SystemAnswers,
    ambiguity,
    bag_of_titles,
    calibration,
    candidate_recall,
    in_kb_accuracy,
    nil_curve,
    nil_scores,
    paired_bootstrap,
)
from sgtb.evaluation.breakdown import By, Tally
from sgtb.evaluation.linkers.resolved_gold import ResolvedGold, titles_of
from sgtb.evaluation.linkers.runs import (
    DocumentCounts,
    EvaluationSettings,
    Place,
    Run,
    common_kb,
    counted,
    interval_of,
    run_linkers,
)
from sgtb.evaluation.linkers.scores import Evaluation, SetScores, SystemScores, complete
from sgtb.evaluation.linkers.systems import chosen_by_linker
from sgtb.linking.linker import Linker
from sgtb.linking.links import Link


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
    # The counts of training are not in models of earlier versions.
    places = counted(
        runs, [*linkers, *baselines], lambda run: ScoreAccumulator(run.linker.model.seen or None),
        _count, failed,
    )  # fmt: skip
    sets = [_set_scores(*place, settings) for place in places]
    about = {"name": kb.path.name, "entities": len(kb)}
    return complete(Evaluation(about, asdict(settings), tuple(sets)), failed)


class ScoreAccumulator(DocumentCounts):
    """Counts the answers of one system to one data set, with some bytes per mention.

    seen  mentions of each entity in training; None: unknown

    The kinds of counts, for mentions of the knowledge base unless stated:

    known             answered with the gold ("correct"), and all ("total")
    named             the same of mentions whose annotation names an entity, known or not
    ambiguous         the same of those with their gold among several candidates
    candidates        mentions with their gold among the candidates ("found"), candidates ("total")
    title, link, nil  Bag-of-Title, entities named, NIL: "right", "predicted", "gold"
    mentions          all, those without annotation included ("total")
    """

    def __init__(self, seen: Mapping[str, int] | None) -> None:
        super().__init__()
        self.ids: list[str] = []
        kinds: list[By] = ["type", "ambiguity", "length", "words"]
        self.tallies: dict[By, Tally] = {by: Tally(by) for by in kinds}
        if seen is not None:
            self.tallies["frequency"] = Tally("frequency", seen)
        self.confidence, self.right = array("d"), array("b")
        self.link_confidence, self.link_right, self.outside = array("d"), array("b"), array("b")
        self.wrong = array("q")  # positions of document and mention of every mistake, alternating

    def add(
        self,
        resolved: ResolvedGold,
        links: Sequence[Link],
        entities: Sequence[str | None],
        titles: Mapping[str, str],
    ) -> None:
        """Count the answers to a document; `links` have the candidates."""
        known = resolved.known
        documents = [known]
        answers = SystemAnswers.of(documents, [entities])
        listed = [[[other.entity for other in link.candidates] for link in links]]
        ambiguous = [
            entity == mention.gold
            for mention, others, entity in zip(known.mentions, listed[0], entities, strict=True)
            if mention.in_kb and len(others) > 1 and mention.gold in others
        ]
        for kind, document in (("known", known), ("named", resolved.annotated)):
            accuracy = in_kb_accuracy([document], answers)
            self.put(kind, correct=accuracy.correct, total=accuracy.total)
        self.put("ambiguous", correct=sum(ambiguous), total=len(ambiguous))
        found = candidate_recall(documents, listed).found
        self.put("candidates", found=found, total=ambiguity(documents, listed).candidates)
        title = bag_of_titles([resolved.annotated], answers, title_of=titles)
        scores = nil_scores(documents, answers)
        for kind, retrieved in (("title", title), ("link", scores.links), ("nil", scores.nil)):
            self.put(kind, **asdict(retrieved))
        self.put("mentions", total=len(known.mentions))
        for tally in self.tallies.values():
            tally.add(known, entities, listed[0])
        for i, (mention, entity) in enumerate(zip(known.mentions, entities, strict=True)):
            if mention.gold is not None and (entity or NIL) != mention.gold:
                self.wrong.extend((len(self.ids), i))
        self.ids.append(known.id)

    def add_confidences(self, document: Document, links: Sequence[Link]) -> None:
        """Add the confidences of a document's links."""
        for mention, link in zip(document.mentions, links, strict=True):
            if mention.gold is None:
                continue
            if link.candidates:  # without any, there was nothing to decide
                self.confidence.append(link.confidence)
                self.right.append((link.entity or NIL) == mention.gold)
            best = best_link(link)
            self.link_confidence.append(-1.0 if best is None else best[1])
            self.link_right.append(best is not None and best[0] == mention.gold)
            self.outside.append(not mention.in_kb)

    def accuracy(self, kind: str) -> Accuracy:
        """Return the accuracy of a kind, by document."""
        return Accuracy(tuple(self.ids), self.column(kind, "correct"), self.column(kind, "total"))


def best_link(link: Link) -> tuple[str, float] | None:
    """Return the most likely entity other than NIL, with its probability."""
    if link.entity is not None:
        return link.entity, link.confidence
    # The runner-up of NIL is the link that would have been made.
    others = [other for other in link.candidates if other.entity == link.runner_up]
    best = next(iter(others or link.candidates), None)
    return None if best is None else (best.entity, best.probability)


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
    beside = first.accuracy("known")
    systems: dict[str, SystemScores] = {}
    for system, scores in by_system.items():
        systems[system] = _system_scores(scores, beside if systems else None, settings)
    known, unknown = beside.total, first.sum("named", "total") - beside.total
    return SetScores(
        name=name,
        data=place[0],
        split=place[1],
        documents=len(first.ids),
        mentions=first.sum("mentions", "total"),
        known=known,
        unknown=unknown,
        nil=first.sum("nil", "gold") - unknown,
        systems=systems,
    )


def _system_scores(
    scores: ScoreAccumulator, beside: Accuracy | None, settings: EvaluationSettings
) -> SystemScores:
    accuracy = scores.accuracy("known")
    difference = None
    if beside is not None and accuracy.total:
        difference = paired_bootstrap(
            beside, accuracy, settings.samples, settings.seed, settings.level
        )
    intervals = {
        "accuracy": interval_of(accuracy.document_correct, accuracy.document_total, settings),
        "titles": scores.f1_interval("title", settings),
        "links": scores.f1_interval("link", settings),
    }
    confidence = np.array(scores.link_confidence)
    right, outside = (np.array(given, np.bool_) for given in (scores.link_right, scores.outside))
    in_kb = (confidence >= 0) & ~outside
    return SystemScores(
        accuracy=accuracy,
        named=scores.accuracy("named"),
        recall=Recall(scores.sum("candidates", "found"), accuracy.total),
        ambiguous=scores.accuracy("ambiguous"),
        candidates=scores.sum("candidates", "total"),
        titles=scores.precision_recall("title"),
        nil=NilScores(scores.precision_recall("link"), scores.precision_recall("nil")),
        calibration=_calibration(scores.confidence, scores.right, settings.bins),
        calibration_in_kb=_calibration(confidence[in_kb], right[in_kb], settings.bins),
        curve=nil_curve(confidence, right, outside) if outside.any() else None,
        slices={by: tally.slices() for by, tally in scores.tallies.items()},
        wrong=np.array(scores.wrong, np.int64).reshape(-1, 2),
        intervals={name: found for name, found in intervals.items() if found is not None},
        difference=difference,
    )


def _calibration(confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int) -> Calibration | None:
    given = np.array(confidence, np.float64)
    return calibration(given, np.array(right, np.bool_), bins) if len(given) else None
