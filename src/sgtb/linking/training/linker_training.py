"""Training of a linker."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.boosting.search.beam import SearchPlan
from sgtb.boosting.trainer import TrainingSettings
from sgtb.boosting.training_progress import Callback
from sgtb.boosting.trees.grower import TreeSettings
from sgtb.core.dtypes import Bools, Floats, Ints, Longs
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.progress import Progress, silent
from sgtb.core.records import NIL, Document
from sgtb.core.settings import check_integer
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.calibration.confidence import NilKind, NilRule, check_share
from sgtb.linking.candidates.candidate_lookup import CandidateSettings
from sgtb.linking.candidates.candidate_table import NOTHING, CandidateTable, Hidden
from sgtb.linking.entities.background import TOPIC_WIDTH, Background
from sgtb.linking.entities.entity_source import NAME_PRIORS, WORD_VECTORS, KbSource
from sgtb.linking.features.feature_matrix import Featurizer
from sgtb.linking.features.ranker import BITS
from sgtb.linking.features.schema import COLLECTIVE, LABELS, Schema
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.mentions.chunks import Chunk, check_document, split_into_chunks
from sgtb.linking.nil_candidate import TrainingCounts, add_nil, nil_rows, score_column
from sgtb.linking.pipeline import Pipeline
from sgtb.linking.problem_packing import Layout
from sgtb.linking.training.calibrator import (
    NOTHING_SEEN,
    Calibrated,
    NilSetting,
    calibrate,
    check_nil_settings,
    nil_kind,
    nil_share,
    observe,
)
from sgtb.linking.training.gold import hide_gold, unknown_as_nil
from sgtb.linking.training.renderings import renderings_of
from sgtb.linking.training.selection import RULES, MentionChoice, choose_mentions, trained_finder
from sgtb.linking.training.topic_folds import topic_folds
from sgtb.text.word_vectors import WordVectors

Fit = Callable[..., StructuredGradientBoosting]
"""`StructuredGradientBoosting.fit`, or a function with its arguments and its result."""
AssignFolds = Callable[[Sequence[Document], int], Ints]
"""From documents and number of folds to the fold of each document."""


@dataclass(frozen=True)
class LinkerTraining:
    """Settings of training.

    fuzzy         whether similarly spelt names are searched; None: if that helps in training
    folds         for cross-fitting the learned features
    bits          of hashed clues: fewer make a smaller model
    topic_width   dimensions of topic vectors
    topic_digits  decimals of topics, for equal models on all machines; None: not rounded
    description_words  whether the lexicon has words that occur in descriptions only, useful with
                  few training texts
    without       feature groups to leave out
    augment       whether training documents are also read in other renderings
    nil           NIL rule: "never", or "candidate" of its own in the search; "auto": a candidate
                  if there is enough to learn it from
    nil_loss      right links that NIL may cost on left-out documents, as a share of the mentions
                  in the knowledge base; 1: NIL wherever it is likelier than the best entity
    nil_precision  precision of links wanted on left-out documents
    hidden        share of the gold entities of a document that are hidden from it, to learn NIL
                  from: in the other renderings, or in the documents if there are none; not used if
                  NIL is never the answer
    all_names     whether the documents annotate all names; otherwise, as with the links of pages,
                  mentions are detected by rules: a tagger would learn to leave names out
    refit         whether `train_linker` trains again on all documents, those of dev included
    """

    plan: SearchPlan = field(default_factory=lambda: SearchPlan("bsg"))
    trees: TreeSettings = field(default_factory=TreeSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    candidates: CandidateSettings = field(default_factory=CandidateSettings)
    fuzzy: bool | None = None
    folds: int = 8
    bits: int = BITS
    topic_width: int = TOPIC_WIDTH
    topic_digits: int | None = None
    description_words: bool = False
    without: tuple[str, ...] = ()
    augment: bool = True
    seed: int = 0
    nil: NilSetting = "auto"
    nil_loss: float = 0.015
    nil_precision: float | None = None
    hidden: float = 0.1
    all_names: bool = True
    refit: bool = False

    def __post_init__(self) -> None:
        check_nil_settings(self.nil, self.nil_precision)
        check_share("nil_loss", self.nil_loss)
        check_share("hidden", self.hidden)
        for name, low, high in (
            ("folds", 2, 100), ("bits", 4, 24), ("topic_width", 1, 1000), ("seed", 0, 2**31),
        ):  # fmt: skip
            check_integer(name, getattr(self, name), low, high)
        if self.topic_digits is not None:
            check_integer("topic_digits", self.topic_digits, 1, 15)
        unknown = [group for group in self.without if group not in LABELS]
        if unknown:
            raise SettingsError(
                f"without names {unknown[0]!r}, which is no feature group; there are "
                f"{', '.join(LABELS)}"
            )

    def with_trees_of(self, model: LinkerModel) -> "LinkerTraining":
        """Return the settings with the number of trees of a model."""
        n_trees = model.forest.forest.n_trees
        return replace(self, training=replace(self.training, n_trees=n_trees))


class Featured(NamedTuple):
    """Documents with candidates and features: f4[C, F]."""

    layout: Layout  # of the documents, with hidden entities, then of other renderings
    features: Floats
    documents: Sequence[Document]  # with all annotations
    source: Longs  # i8[S], the document of each segment of the layout
    n_own: int  # number of segments of the documents themselves

    @property
    def candidates(self) -> CandidateTable:
        """The candidates of the layout."""
        return self.layout.candidates

    @property
    def outside(self) -> Bools:
        """Whether mentions with candidates are NIL."""
        return np.array([m.gold == NIL for m in self.candidates.mentions], np.bool_)

    @property
    def known(self) -> Bools:
        """Whether mentions with candidates are annotated."""
        return np.array([m.gold is not None for m in self.candidates.mentions], np.bool_)

    @property
    def n_learnable(self) -> int:
        """Number of mentions whose entity is among the candidates, or hidden from them."""
        candidates = self.candidates
        shown, whole = (
            sum(1 for document in documents for _ in document.in_kb())
            for documents in (candidates.documents[: self.n_own], self.documents)
        )
        own = candidates.gold[: candidates.mention_offsets[self.n_own]]
        return int((own >= 0).sum()) + whole - shown

    @property
    def no_candidates(self) -> Bools:
        """Whether annotated mentions without candidates are NIL."""
        golds = [m.gold for d in self.candidates.documents for m in d.mentions]
        without = np.delete(np.array(golds, object), self.layout.with_candidates)
        return np.array([gold == NIL for gold in without if gold is not None], np.bool_)


@dataclass(frozen=True)
class Prepared:
    """Documents with features: the input of training that is the same for all plans and trees."""

    pipeline: Pipeline
    featurizer: Featurizer  # trained on all of `train`
    train: Featured  # with cross-fitted features
    folds: Ints  # i4[S], of the segments of `train`
    dev: Featured | None  # None: no dev documents
    nil: NilKind = "never"  # NIL rule
    mentions: MentionChoice = field(default_factory=MentionChoice)  # how mentions are detected

    def left_out(self, settings: LinkerTraining) -> tuple[str, ...]:
        """Return the feature groups that the plan or the settings leave out."""
        local = COLLECTIVE if not settings.plan.uses_history else ()
        return tuple(g for g in self.pipeline.schema.groups if g in {*local, *settings.without})

    @cached_property
    def counts(self) -> TrainingCounts:
        """The counts of annotations in train."""
        return TrainingCounts.of(self.train.documents)

    def problems(self, without: Collection[str]) -> tuple[Problems, Problems | None]:
        """Return the problems of train and dev, with NIL as a candidate if the rule says so.

        Counts in train leave out the own document.
        """
        return self._packed(self.train, without), self.dev and self._packed(self.dev, without)

    def _packed(self, featured: Featured, without: Collection[str]) -> Problems:
        layout, features, candidates = featured.layout, featured.features, featured.candidates
        problems = self.pipeline.pack(layout, features, without)
        if self.nil == "never":
            return problems
        if featured is self.train:
            documents = [featured.documents[d] for d in featured.source.tolist()]
            known = self.counts.lookup_leave_one_out(documents, candidates)
        else:
            known = self.counts.lookup(candidates)
        rows = nil_rows(candidates, features, self.pipeline.schema, without, known)
        return add_nil(problems, rows, featured.outside)


def train_linker(
    kb: KnowledgeBase,
    train: Sequence[Document],
    dev: Sequence[Document] = (),
    settings: LinkerTraining | None = None,
    *,
    words: WordVectors | None = None,
    assign_folds: AssignFolds = topic_folds,
    callbacks: Sequence[Callback] = (),
    origin: dict[str, Any] | None = None,
) -> LinkerModel:
    """Train a model; dev documents choose the number of trees."""
    settings = settings or LinkerTraining()
    prepared = prepare(kb, train, dev, settings, words=words, assign_folds=assign_folds)
    model = fit_linker(prepared, settings, callbacks=callbacks, origin=origin)
    if not settings.refit or prepared.dev is None:
        return model
    again = prepare_refit(prepared, settings, words=words, assign_folds=assign_folds)
    return fit_linker(again, settings.with_trees_of(model), callbacks=callbacks, origin=origin)


def prepare(
    kb: KnowledgeBase,
    train: Sequence[Document],
    dev: Sequence[Document],
    settings: LinkerTraining,
    *,
    words: WordVectors | None = None,
    assign_folds: AssignFolds = topic_folds,
    progress: Progress = silent,
) -> Prepared:
    """Compute candidates and features of documents, which depend on neither plan nor trees."""
    progress("candidates", 0, 1)
    train, dev = unknown_as_nil(kb, train), unknown_as_nil(kb, dev)
    finder, facts = trained_finder(kb, train, settings.candidates, settings.fuzzy), KbSource(kb)
    found = finder.find(train, range(len(train)))
    evidence = facts.evidence
    if np.isnan(found.prior).all():  # all candidates were given
        evidence -= {NAME_PRIORS}
    if words is not None:
        evidence |= {WORD_VECTORS}
    progress("candidates", 1, 1)
    background = Background.build(
        facts, train, words, np.unique(found.entity).astype(np.int64),
        settings.topic_width, settings.topic_digits, settings.description_words,
    )  # fmt: skip
    progress("topics", 1, 1)
    pipeline = Pipeline(kb, background, Schema.of(evidence), finder)
    layout, source, n_own = _laid_out(pipeline, train, settings, training=True)
    if not (layout.candidates.gold >= 0).any():
        raise ProblemsError(
            "no training mention has its gold among its candidates; check that the ids are those "
            f"of {kb.path}"
        )
    folds = assign_folds(train, settings.folds)[source]
    featurizer, features = Featurizer.fit(
        pipeline.table(layout), folds, settings.seed, settings.bits, partial(progress, "features")
    )
    held = None
    if dev:
        laid, own, n_all = _laid_out(pipeline, dev, settings, training=False)
        computed = featurizer.features(pipeline.table(laid), reuse=True)
        held = Featured(laid, computed, dev, own, n_all)
    progress("mentions", 0, 1)
    mentions = RULES
    if settings.all_names:
        mentions = choose_mentions(kb, train, dev, settings.bits, settings.seed)
    progress("mentions", 1, 1)
    featured = Featured(layout, features, train, source, n_own)
    kind = nil_kind(settings.nil, int(featured.outside.sum()))
    return Prepared(pipeline, featurizer, featured, folds, held, kind, mentions)


def prepare_refit(
    prepared: Prepared,
    settings: LinkerTraining,
    *,
    words: WordVectors | None = None,
    assign_folds: AssignFolds = topic_folds,
    progress: Progress = silent,
) -> Prepared:
    """Prepare all documents, those of dev included, for a second training.

    Mentions are detected as dev chose; how well is not known of a tagger that has seen dev.
    """
    documents = list(prepared.train.documents)
    documents += () if prepared.dev is None else prepared.dev.documents
    kb = prepared.pipeline.kb
    again = prepare(
        kb, documents, (), settings, words=words, assign_folds=assign_folds, progress=progress
    )
    return replace(again, mentions=prepared.mentions)


def _laid_out(
    pipeline: Pipeline, documents: Sequence[Document], settings: LinkerTraining, training: bool
) -> tuple[Layout, Longs, int]:
    """Add renderings, hide some gold, and look up candidates.

    Also return the document of each segment, and how many are of the documents themselves.
    """
    share = 0.0 if settings.nil == "never" else settings.hidden
    seed = settings.seed, int(training)
    copies, source = renderings_of(documents if training and settings.augment else ())
    shown: Sequence[Document] = documents if copies else ()
    partly, hidden = hide_gold(pipeline.kb, copies or documents, share, seed)
    entities: list[Hidden] = [*[NOTHING] * len(shown), *hidden]
    chunks, whole = _in_chunks([*shown, *partly])
    n_own = int(np.searchsorted(whole, len(documents)))
    own = np.concatenate([np.arange(len(documents)), source])[whole]
    gone = [entities[d] for d in whole.tolist()]
    layout = pipeline.lay_out(chunks, own.tolist() if training else None, gone)
    return layout, own[layout.source], int(np.searchsorted(layout.source, n_own))


def fit_linker(
    prepared: Prepared,
    settings: LinkerTraining,
    *,
    callbacks: Sequence[Callback] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    origin: dict[str, Any] | None = None,
    progress: Progress = silent,
    fit: Fit = StructuredGradientBoosting.fit,
) -> LinkerModel:
    """Grow trees on prepared documents; only plan, trees and training may differ in the settings.

    callbacks  called after every tree
    progress   called when confidence is fitted
    fit        trains an estimator, in this process or on a cluster
    """
    problems = prepared.problems(prepared.left_out(settings))
    system = StructuredGradientBoosting(settings.plan, settings.trees, settings.training)
    fit(system, *problems, checkpoint=checkpoint, callbacks=callbacks)
    progress("confidence", 0, 1)
    fitted = _calibrated(prepared, settings, problems[0], system.model.forest.n_trees, fit)
    progress("confidence", 1, 1)
    pipeline, finder = prepared.pipeline, prepared.pipeline.finder
    counts = prepared.counts
    if prepared.nil == "never":
        counts = TrainingCounts(counts.entities)  # names are only needed for NIL
    measured = prepared.mentions.measured
    detection = {} if measured is None else {"mention detection": measured}
    return LinkerModel(
        pipeline.schema, prepared.left_out(settings), finder.settings, pipeline.background,
        prepared.featurizer, system.model,
        {**(origin or {}), "calibration": fitted.to_dict(), **detection}, fitted.confidence,
        fitted.rule, counts, finder.trained, prepared.mentions.tagger,
    )  # fmt: skip


def _calibrated(
    prepared: Prepared, settings: LinkerTraining, train: Problems, n_trees: int, fit: Fit
) -> Calibrated:
    """Fit confidence and NIL rule on the left-out half of the folds of train."""
    column = score_column(prepared.pipeline.schema, prepared.left_out(settings))
    left_out = prepared.folds % 2 == 0
    others, own = train.take(np.flatnonzero(~left_out)), train.take(np.flatnonzero(left_out))
    seen = NOTHING_SEEN
    if (others.gold >= 0).any():
        half = replace(settings.training, n_trees=n_trees)
        second = fit(StructuredGradientBoosting(settings.plan, settings.trees, half), others)
        known = prepared.train.known[np.repeat(left_out, np.diff(train.mention_offsets))]
        seen = observe(second, own, known, column, prepared.nil == "candidate")
    held = () if prepared.dev is None else (prepared.dev,)
    outside = np.concatenate([one.no_candidates for one in (prepared.train, *held)])
    rule = NilRule(prepared.nil, no_candidates=nil_share(outside))
    return calibrate(seen, rule, settings.nil_loss, settings.nil_precision)


def _in_chunks(documents: Sequence[Document]) -> tuple[list[Document], Longs]:
    """Split long documents; return the chunks and the document index of each."""
    for d in documents:
        check_document(d if d.sentences else replace(d, sentences=((0, len(d.tokens)),)))
    splits = [split_into_chunks(Chunk(d, (False,) * len(d.mentions))) for d in documents]
    whole = np.repeat(np.arange(len(splits)), [len(chunks) for chunks in splits])
    return [chunk.document for chunks in splits for chunk in chunks], whole.astype(np.int64)
