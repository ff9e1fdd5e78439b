"""Recalibration: confidence and NIL rule of a trained linker, fitted to other annotated documents.

Confidence is calibrated for texts like the training documents. Some fifty annotated documents of
another kind calibrate it for these. Everything else of the model stays as it is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Bools
from sgtb.core.errors import ProblemsError
from sgtb.core.records import NIL, Document
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.mentions.chunks import Chunk, split_into_chunks
from sgtb.linking.parallel import batches
from sgtb.linking.pipeline import LinkPipeline
from sgtb.linking.training.calibrator import (
    NOTHING_SEEN,
    Answers,
    Calibrated,
    Observed,
    answered,
    calibrate,
    check_nil_settings,
    nil_share,
    observe,
)
from sgtb.linking.training.linker_training import LinkerTraining

FOLDS = 5  # of documents, to measure the calibration on documents that it was not fitted to


class Observations(NamedTuple):
    """Decisions on annotated mentions: those with candidates, and whether the others are NIL."""

    decided: Observed
    no_candidates: Bools

    @classmethod
    def joined(cls, parts: Sequence["Observations"]) -> "Observations":
        """Return the observations of several groups of documents."""
        decided = [NOTHING_SEEN, *(part.decided for part in parts)]
        return cls(
            Observed(*map(np.concatenate, zip(*decided, strict=True))),
            np.concatenate([np.zeros(0, np.bool_), *(part.no_candidates for part in parts)]),
        )


@dataclass(frozen=True)
class Recalibrated:
    """A model with new confidence and NIL rule."""

    model: LinkerModel
    documents: int
    mentions: int  # annotated, with candidates
    before: Answers
    after: Answers  # of each fold, fitted to the others


def recalibrate(
    pipeline: LinkPipeline,
    documents: Sequence[Document],
    nil_loss: float = LinkerTraining.nil_loss,
    nil_precision: float | None = None,
) -> Recalibrated:
    """Fit confidence and NIL rule of a model to annotated documents.

    The weights of the model are the prior: few documents change them little.

    documents      with gold of the knowledge base or NIL, and none of those trained on
    nil_loss       right links that NIL may cost, as a share of the mentions in the knowledge base
    nil_precision  wanted precision of links; None: as many links as the rule gives
    """
    check_nil_settings("auto", nil_precision)
    model = pipeline.model
    folds = [observations(pipeline, documents[fold::FOLDS]) for fold in range(FOLDS)]
    everything = Observations.joined(folds)
    if not len(everything.decided.outcome):
        raise ProblemsError(
            "no annotated mention has candidates in this knowledge base, so there is nothing to "
            "calibrate by"
        )

    def fitted(parts: Sequence[Observations]) -> Calibrated:
        return fit_calibration(model, Observations.joined(parts), nil_loss, nil_precision)

    after = []
    for k, fold in enumerate(folds):
        others = fitted([*folds[:k], *folds[k + 1 :]])
        after.append(answered(fold.decided, others.confidence, others.rule))
    final = fitted(folds)
    origin = {**model.origin, "calibration": {**final.to_dict(), "documents": len(documents)}}
    return Recalibrated(
        replace(model, confidence=final.confidence, nil=final.rule, origin=origin),
        len(documents),
        len(everything.decided.outcome),
        answered(everything.decided, model.confidence, model.nil),
        Answers(*map(np.concatenate, zip(*after, strict=True))),
    )  # fmt: skip


def fit_calibration(
    model: LinkerModel,
    seen: Observations,
    nil_loss: float = LinkerTraining.nil_loss,
    nil_precision: float | None = None,
) -> Calibrated:
    """Return confidence and NIL rule for observations, with those of the model as the prior."""
    rule = replace(model.nil, no_candidates=nil_share(seen.no_candidates))
    return calibrate(seen.decided, rule, nil_loss, nil_precision, model.confidence)


def observations(pipeline: LinkPipeline, documents: Iterable[Document]) -> Observations:
    """Decide documents as in linking, without calibration."""
    parts = []
    for batch in batches(documents):
        chunks = [
            chunk
            for document in batch
            for chunk in split_into_chunks(_annotated(pipeline.to_chunk(document), document))
        ]
        parts.append(_observed(pipeline, chunks))
    return Observations.joined(parts)


def _annotated(chunk: Chunk, document: Document) -> Chunk:
    """Return a chunk whose mentions have the gold of a document again."""
    pairs = zip(chunk.document.mentions, document.mentions, strict=True)
    mentions = tuple(replace(mention, gold=own.gold) for mention, own in pairs)
    return replace(chunk, document=replace(chunk.document, mentions=mentions))


def _observed(pipeline: LinkPipeline, chunks: Sequence[Chunk]) -> Observations:
    layout, _, problems = pipeline.pack(chunks)
    golds = np.array([m.gold for chunk in chunks for m in chunk.document.mentions], object)
    annotated, outside = golds != None, golds == NIL  # noqa: E711  (of every element)
    without = np.delete(np.arange(len(golds)), layout.with_candidates)
    no_candidates = outside[without][annotated[without]]
    with_nil = pipeline.policy.nil_is_a_candidate
    if with_nil:
        nil = np.diff(problems.candidate_offsets) - 1
        gold = np.where(outside[layout.with_candidates], nil, problems.gold)
        problems = replace(problems, gold=gold.astype(np.int32))
    known = np.asarray(annotated[layout.with_candidates], np.bool_)
    column = pipeline.policy.score_column
    decided = observe(pipeline.system(None), problems, known, column, with_nil)
    return Observations(decided, np.asarray(no_candidates, np.bool_))
