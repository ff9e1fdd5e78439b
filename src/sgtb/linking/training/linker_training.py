"""Training of a linker."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.boosting.search.beam import SearchPlan
from sgtb.boosting.trainer import TrainingSettings
from sgtb.boosting.training_progress import Callback
from sgtb.boosting.trees.grower import TreeSettings
from sgtb.core.dtypes import Floats, Ints, Longs
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.progress import Progress, silent
from sgtb.core.records import NIL, Document
from sgtb.core.settings import check_integer
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.calibration.confidence import unknown_as_nil
from sgtb.linking.candidates.candidate_lookup import CandidateFinder, CandidateSettings
from sgtb.linking.candidates.weak_names import TrainedNames
from sgtb.linking.entities.background import TOPIC_WIDTH, Background
from sgtb.linking.entities.entity_source import NAME_PRIORS, WORD_VECTORS, KbSource
from sgtb.linking.features.feature_matrix import Featurizer
from sgtb.linking.features.feature_registry import COLLECTIVE, LABELS
from sgtb.linking.features.ranker import BITS
from sgtb.linking.features.schema import Schema
from sgtb.linking.features.training_counts import TrainingCounts
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.mentions.chunks import Chunk, check_document, split_into_chunks
from sgtb.linking.nil_candidate import add_nil
from sgtb.linking.pipeline import CountLookup, Pipeline
from sgtb.linking.problem_packing import Layout
from sgtb.linking.training.mention_selection import MentionChoice, choose_mentions
from sgtb.linking.training.nil_selection import NilSetting, check_nil_settings, choose_nil_rule
from sgtb.text.word_vectors import WordVectors

FUZZY_GAIN = 0.02
"""Gain in the recall of training mentions for which similarly spelt names are searched."""

AssignFolds = Callable[[Sequence[Document], int, int], Ints]
"""From documents, number of folds and seed to the fold of each document."""


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
    nil           NIL rule: "never", "threshold" of confidence, "candidate" of its own in the
                  search; "auto": chosen on dev
    nil_precision  precision of links wanted on dev
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
    seed: int = 0
    nil: NilSetting = "auto"
    nil_precision: float | None = None

    def __post_init__(self) -> None:
        check_nil_settings(self.nil, self.nil_precision)
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


def random_folds(documents: Sequence[Document], n_folds: int, seed: int) -> Ints:
    """Return random folds of equal size."""
    if len(documents) < n_folds:
        raise SettingsError(
            f"{len(documents)} documents are too few for {n_folds} folds; set fewer folds"
        )
    return (np.random.default_rng(seed).permutation(len(documents)) % n_folds).astype(np.int32)


class Featured(NamedTuple):
    """Documents with candidates and features: f4[C, F]."""

    layout: Layout
    features: Floats


@dataclass(frozen=True)
class Prepared:
    """Documents with features: the input of training that is the same for all plans and trees.

    featurizer  trained on all of `train`
    train       with cross-fitted features
    dev         None: no dev documents
    mentions    how mentions are detected
    """

    pipeline: Pipeline
    featurizer: Featurizer
    train: Featured
    dev: Featured | None
    mentions: MentionChoice = field(default_factory=MentionChoice)

    def left_out(self, settings: LinkerTraining) -> tuple[str, ...]:
        """Return the feature groups that the plan or the settings leave out."""
        local = COLLECTIVE if not settings.plan.uses_history else ()
        return tuple(g for g in self.pipeline.schema.groups if g in {*local, *settings.without})

    def problems(self, without: Collection[str]) -> tuple[Problems, Problems | None]:
        """Return the problems of train and dev."""
        dev = None if self.dev is None else self.pipeline.pack(*self.dev, without)
        return self.pipeline.pack(*self.train, without), dev

    def problems_with_nil(
        self, without: Collection[str], counts: TrainingCounts
    ) -> tuple[Problems, Problems | None]:
        """Return the same with NIL candidates; counts in train leave out the own document."""
        train, dev = self.problems(without)
        train = _with_nil(self.pipeline, self.train, without, train, counts.lookup_leave_one_out)
        if self.dev is None or dev is None:
            return train, None
        return train, _with_nil(self.pipeline, self.dev, without, dev, counts.lookup)


def train_linker(
    kb: KnowledgeBase,
    train: Sequence[Document],
    dev: Sequence[Document] = (),
    settings: LinkerTraining | None = None,
    *,
    words: WordVectors | None = None,
    assign_folds: AssignFolds = random_folds,
    callbacks: Sequence[Callback] = (),
    origin: dict[str, Any] | None = None,
) -> LinkerModel:
    """Train a model; dev documents choose the number of trees, calibration and NIL rule."""
    settings = settings or LinkerTraining()
    prepared = prepare(kb, train, dev, settings, words=words, assign_folds=assign_folds)
    return fit_linker(prepared, settings, callbacks=callbacks, origin=origin)


def prepare(
    kb: KnowledgeBase,
    train: Sequence[Document],
    dev: Sequence[Document],
    settings: LinkerTraining,
    *,
    words: WordVectors | None = None,
    assign_folds: AssignFolds = random_folds,
    progress: Progress = silent,
) -> Prepared:
    """Compute candidates and features of documents, which depend on neither plan nor trees."""
    progress("candidates", 0, 1)
    train, dev = unknown_as_nil(kb, train), unknown_as_nil(kb, dev)
    finder, source = trained_finder(kb, train, settings), KbSource(kb)
    found = finder.find(train, range(len(train)))
    evidence = source.evidence
    if np.isnan(found.prior).all():  # all candidates were given
        evidence -= {NAME_PRIORS}
    if words is not None:
        evidence |= {WORD_VECTORS}
    progress("candidates", 1, 1)
    background = Background.build(
        source, train, words, np.unique(found.entity).astype(np.int64),
        settings.topic_width, settings.topic_digits, settings.description_words,
    )  # fmt: skip
    progress("topics", 1, 1)
    pipeline = Pipeline(kb, background, Schema.of(evidence), finder)
    chunks, whole = _in_chunks(train)
    layout = pipeline.lay_out(chunks, whole.tolist())
    if not (layout.candidates.gold >= 0).any():
        raise ProblemsError(
            "no training mention has its gold among its candidates; check that the ids are those "
            f"of {kb.path}"
        )
    folds = assign_folds(train, settings.folds, settings.seed)[whole]
    featurizer, features = Featurizer.fit(
        pipeline.table(layout), folds, settings.seed, settings.bits, partial(progress, "features")
    )
    held = None
    if dev:
        laid = pipeline.lay_out(_in_chunks(dev)[0])
        held = Featured(laid, featurizer.features(pipeline.table(laid), reuse=True))
    progress("mentions", 0, 1)
    mentions = choose_mentions(kb, train, dev, settings.bits, settings.seed)
    progress("mentions", 1, 1)
    return Prepared(pipeline, featurizer, Featured(layout, features), held, mentions)


def trained_finder(
    kb: KnowledgeBase, train: Sequence[Document], settings: LinkerTraining
) -> CandidateFinder:
    """Return the candidate lookup with the names of training documents.

    Unless the settings say, similarly spelt names, and then names that contain the name, are
    searched if either brings the gold of at least FUZZY_GAIN of the annotated mentions.
    """
    chosen = settings.candidates
    if settings.fuzzy is not None:
        chosen = replace(chosen, fuzzy=settings.fuzzy)
    exact = CandidateFinder(kb, chosen)
    trained = TrainedNames.of(exact.annotated_names(train))
    best = CandidateFinder(kb, chosen, trained)
    if settings.fuzzy is None and trained.counts:
        recall = _gold_recall(kb, best, train)
        for more in ({"fuzzy": True}, {"containing": True}):
            tried = CandidateFinder(kb, replace(best.settings, **more), trained)
            found = _gold_recall(kb, tried, train)
            if found - recall >= FUZZY_GAIN:
                best, recall = tried, found
    return best


def _gold_recall(kb: KnowledgeBase, finder: CandidateFinder, train: Sequence[Document]) -> float:
    """Return the share of annotated mentions with their gold among the candidates."""
    found = finder.find(train, range(len(train)))
    mentions = [mention for document in train for mention in document.mentions]
    annotated = [(m, kb.number(o.gold)) for m, o in enumerate(mentions) if o.in_kb and o.gold]
    offsets, entity = found.offsets.tolist(), found.entity
    hits = [number in entity[offsets[m] : offsets[m + 1]] for m, number in annotated]
    return sum(hits) / max(len(hits), 1)


def fit_linker(
    prepared: Prepared,
    settings: LinkerTraining,
    *,
    callbacks: Sequence[Callback] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    origin: dict[str, Any] | None = None,
    progress: Progress = silent,
) -> LinkerModel:
    """Grow trees on prepared documents; only plan, trees and training may differ in the settings.

    callbacks  called after every tree
    progress   called when trees with a NIL candidate are begun, and while dev is linked
    """
    without = prepared.left_out(settings)
    counts = TrainingCounts.of(prepared.train.layout.candidates.documents)

    def grow() -> LinkerModel:
        problems = prepared.problems(without)
        return _grow(prepared, settings, problems, counts.entities_only, callbacks, checkpoint)

    def grow_with_nil() -> LinkerModel:
        progress("with NIL", 0, settings.training.n_trees)
        own = None if checkpoint is None else f"{os.fspath(checkpoint)}.nil"
        problems = prepared.problems_with_nil(without, counts)
        return _grow(prepared, settings, problems, counts, callbacks, own)

    dev = () if prepared.dev is None else prepared.dev.layout.candidates.documents
    model = choose_nil_rule(
        grow, grow_with_nil, prepared.pipeline.kb, prepared.train.layout.candidates.mentions, dev,
        settings.nil, settings.nil_precision, progress,
    )  # fmt: skip
    measured = prepared.mentions.measured
    detection = {} if measured is None else {"mention detection": measured}
    return replace(model, origin={**(origin or {}), **model.origin, **detection})


def _grow(
    prepared: Prepared,
    settings: LinkerTraining,
    problems: tuple[Problems, Problems | None],
    counts: TrainingCounts,
    callbacks: Sequence[Callback],
    checkpoint: str | os.PathLike[str] | None,
) -> LinkerModel:
    pipeline = prepared.pipeline
    system = StructuredGradientBoosting(settings.plan, settings.trees, settings.training)
    system.fit(*problems, checkpoint=checkpoint, callbacks=callbacks)
    finder = pipeline.finder
    return LinkerModel(
        pipeline.schema, prepared.left_out(settings), finder.settings, pipeline.background,
        prepared.featurizer, system.model, {}, training_counts=counts, trained_names=finder.trained,
        mention_tagger=prepared.mentions.tagger,
    )  # fmt: skip


def _with_nil(
    pipeline: Pipeline,
    featured: Featured,
    without: Collection[str],
    problems: Problems,
    lookup: CountLookup,
) -> Problems:
    rows = pipeline.nil_rows(*featured, without, lookup)
    outside = np.array([m.gold == NIL for m in featured.layout.candidates.mentions], np.bool_)
    return add_nil(problems, rows, outside)


def _in_chunks(documents: Sequence[Document]) -> tuple[list[Document], Longs]:
    """Split long documents; return the chunks and the document index of each."""
    for d in documents:
        check_document(d if d.sentences else replace(d, sentences=((0, len(d.tokens)),)))
    splits = [split_into_chunks(Chunk(d, (False,) * len(d.mentions))) for d in documents]
    whole = np.repeat(np.arange(len(splits)), [len(chunks) for chunks in splits])
    return [chunk.document for chunks in splits for chunk in chunks], whole.astype(np.int64)
