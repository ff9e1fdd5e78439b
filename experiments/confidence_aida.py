"""Confidence and NIL on AIDA-CoNLL.

Two settings. *listed* is the paper's: linked mentions with the candidates that PPRforNED lists for
them. NIL cannot be learned there: linked mentions have a list with the gold in it, NIL mentions
mostly have none. *by name* looks up all mentions, NIL ones included. Everything is trained on train
and calibrated on dev and left-out topics of train; test is linked last, and so are the five sets of
WNED, which are from other domains.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.aida import Watch, unwatched
from experiments.aida_data import AidaData, Say, silent
from experiments.aida_linker import WAYS, Trial, kept_model
from experiments.linker_cache import LinkerCache
from sgtb.core.dtypes import Doubles
from sgtb.core.records import NIL, Document, Mention
from sgtb.evaluation import (
    Calibration,
    NilCurve,
    NilScores,
    SystemAnswers,
    calibration,
    nil_curve,
    nil_scores,
)
from sgtb.evaluation.metrics import share
from sgtb.formats.codecs.wned_corpus import WnedCorpus
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.calibration.confidence import Confidence, choose_threshold
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import Link
from sgtb.linking.pipeline import LinkPipeline
from sgtb.linking.training.calibrator import answered
from sgtb.linking.training.gold import align_gold, unknown_as_nil
from sgtb.linking.training.recalibration import Observations, fit_calibration, observations

TESTED = ("dev", "test")
LISTED, CANDIDATE, PRECISE = "listed", "by name, candidate", "by name, precise"
PRECISION = 0.95
"""Target precision of links on dev of the system PRECISE, which is otherwise CANDIDATE."""

Pairs = Sequence[tuple[Mention, Link]]


@dataclass(frozen=True)
class SplitScores:
    """The scores of a linker on a split.

    before, after  calibration on mentions with candidates, with the default confidence and with
                   the fitted one
    floor          expected calibration error of answers that are right as often as the fitted
                   confidence says: what the number of mentions alone costs
    scores         of all annotated mentions
    decided        of those with candidates: the others are NIL without any decision
    in_kb, always  accuracy on linked mentions, and the same if every mention were linked
    curve          by threshold; None without NIL
    """

    before: Calibration
    after: Calibration
    floor: float
    scores: NilScores
    decided: NilScores
    in_kb: float
    always: float
    curve: NilCurve | None


@dataclass(frozen=True)
class System:
    """A model with its NIL rule, and its scores by split."""

    model: LinkerModel
    scores: Mapping[str, SplitScores]


@dataclass(frozen=True)
class ConfidenceResult:
    """All systems, and the scores of CANDIDATE on sets of other domains.

    left_out  calibration error of CANDIDATE on each of these sets, calibrated on dev and the others
    """

    trial: Trial
    systems: Mapping[str, System]
    elsewhere: Mapping[str, SplitScores]
    left_out: Mapping[str, float]
    seconds: float


def run_confidence(
    data: AidaData,
    cache: LinkerCache,
    kb: KnowledgeBase,
    trial: Trial,
    corpora: Sequence[WnedCorpus] = (),
    watch: Watch = unwatched,
    say: Say = silent,
) -> ConfidenceResult:
    """Train and calibrate, and link dev, test and the sets of other domains."""
    begin = time.perf_counter()
    listed = kept_model(data, cache, kb, "listed", trial, watch)
    own = kept_model(data, cache, kb, "by name", trial, watch, "candidate")
    precise = _precise(own, kb, [*map(WAYS["by name"].given, data.documents("dev"))])
    systems = {}
    for name, way, model in (
        (LISTED, "listed", listed), (CANDIDATE, "by name", own), (PRECISE, "by name", precise),
    ):  # fmt: skip
        say(f"linking dev and test, {name}")
        scores = {split: score_split(model, kb, way, data.documents(split)) for split in TESTED}
        systems[name] = System(model, scores)
    elsewhere = {}
    pipeline = LinkPipeline(own, kb, LinkerSettings())
    observed = {"dev": observations(pipeline, map(WAYS["by name"].given, data.documents("dev")))}
    for corpus in corpora:
        say(f"linking {corpus.name}")
        documents = unknown_as_nil(kb, align_gold(kb, corpus.documents))
        elsewhere[corpus.name] = score_split(own, kb, "by name", documents)
        observed[corpus.name] = observations(pipeline, documents)
    left_out = {name: left_out_error(own, observed, name) for name in elsewhere}
    return ConfidenceResult(trial, systems, elsewhere, left_out, time.perf_counter() - begin)


def left_out_error(model: LinkerModel, observed: Mapping[str, Observations], name: str) -> float:
    """Return the calibration error on a set, calibrated on all others as `sgtb calibrate` does."""
    others = Observations.joined([one for other, one in observed.items() if other != name])
    fitted = fit_calibration(model, others)
    return calibration(*answered(observed[name].decided, fitted.confidence, fitted.rule)).ece


def _precise(model: LinkerModel, kb: KnowledgeBase, dev: Sequence[Document]) -> LinkerModel:
    """Return a model whose links have a precision of PRECISION on dev."""
    pairs = [(m, link) for m, link in _pairs(dev, _linked(model, kb, dev)) if link.entity]
    right = np.array([link.entity == m.gold for m, link in pairs], np.bool_)
    threshold = choose_threshold(np.array([link.confidence for _, link in pairs]), right, PRECISION)
    return replace(model, nil=replace(model.nil, threshold=threshold))


def score_split(
    model: LinkerModel, kb: KnowledgeBase, way: str, documents: Sequence[Document]
) -> SplitScores:
    """Link documents, once calibrated and once with the probabilities of the search."""
    given = [*map(WAYS[way].given, documents)]
    unfitted = replace(model, confidence=Confidence())
    raw, linked = (_linked(one, kb, given) for one in (unfitted, model))
    answers = [[link.entity for link in links] for links in linked]
    scores = nil_scores(documents, SystemAnswers.of(documents, answers))
    with_candidates = [_decided(*pair) for pair in zip(documents, linked, strict=True)]
    decided = nil_scores(with_candidates, SystemAnswers.of(with_candidates, answers))
    pairs = _pairs(documents, linked)
    best = [_best(link) for _, link in pairs]
    right = np.array([entity == m.gold for (m, _), (entity, _) in zip(pairs, best, strict=True)])
    outside = np.array([mention.gold == NIL for mention, _ in pairs])
    curve = nil_curve(np.array([sure for _, sure in best]), right, outside)
    return SplitScores(
        before=_calibration(_pairs(documents, raw)),
        after=_calibration(pairs),
        floor=error_floor(np.array([link.confidence for _, link in pairs if link.candidates])),
        scores=scores,
        decided=decided,
        in_kb=share(scores.links.right, scores.links.gold),
        always=share(int(right.sum()), scores.links.gold),
        curve=curve if decided.nil.gold else None,
    )


def _linked(
    model: LinkerModel, kb: KnowledgeBase, documents: Sequence[Document]
) -> list[tuple[Link, ...]]:
    linker = Linker(model, kb, LinkerSettings(candidates=2))
    return [document.links for document in linker.pipe(documents)]


def _pairs(documents: Sequence[Document], linked: Sequence[Sequence[Link]]) -> Pairs:
    """Return the annotated mentions with their links."""
    return [
        (mention, link)
        for document, links in zip(documents, linked, strict=True)
        for mention, link in zip(document.mentions, links, strict=True)
        if mention.gold is not None
    ]


def _decided(document: Document, links: Sequence[Link]) -> Document:
    """Return a document in which only mentions with candidates have gold."""
    pairs = zip(document.mentions, links, strict=True)
    mentions = (m if link.candidates else replace(m, gold=None) for m, link in pairs)
    return replace(document, mentions=tuple(mentions))


def _best(link: Link) -> tuple[str | None, float]:
    """Return the most likely entity and its probability; -1 without candidates."""
    entity = link.runner_up if link.entity is None else link.entity
    sure = [other.probability for other in link.candidates if other.entity == entity]
    return entity, sure[0] if sure else -1.0


def error_floor(confidence: Doubles, samples: int = 200) -> float:
    """Return the mean calibration error of simulated answers that are right as often as said."""
    rng = np.random.default_rng(0)
    right = rng.random((samples, len(confidence))) < confidence
    return float(np.mean([calibration(confidence, one).ece for one in right]))


def _calibration(pairs: Pairs) -> Calibration:
    some = [(m, link) for m, link in pairs if link.candidates]
    right = [(link.entity or NIL) == mention.gold for mention, link in some]
    return calibration(np.array([link.confidence for _, link in some]), np.array(right))
