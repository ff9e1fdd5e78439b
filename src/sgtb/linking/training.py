"""Training a linker: documents with gold, a knowledge base, and out comes a LinkerModel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sgtb.errors import ProblemsError, SettingsError
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.learn.dtypes import Ints
from sgtb.learn.estimator import StructuredGradientBoosting
from sgtb.learn.grower import TreeSettings
from sgtb.learn.plan import SearchPlan, whole_number
from sgtb.learn.trainer import Callback, TrainingSettings
from sgtb.linking.background import TOPIC_WIDTH, Background
from sgtb.linking.candidates import CandidateFinder, CandidateSettings
from sgtb.linking.entity_source import NAME_PRIORS, WORD_VECTORS, KbSource
from sgtb.linking.features import Featurizer
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.ranker import BITS
from sgtb.linking.schema import BEYOND_THE_MENTION, GROUPS, Schema
from sgtb.linking.workbench import Workbench
from sgtb.records import Document
from sgtb.text.word_vectors import WordVectors

Deal = Callable[[Sequence[Document], int, int], Ints]
"""Given documents, a number of folds and a seed: the fold of each document."""


@dataclass(frozen=True)
class LinkerTraining:
    """How a linker is trained.

    folds         training documents are dealt into so many, to make the learned features
    bits          clues are hashed to so many: less makes a smaller model
    topic_width   dimensions of the entities' topic vectors
    topic_digits  decimals that topics are rounded to, so that they are equal on other machines;
                  None: not rounded
    without       feature groups left out beside those that the plan or the evidence leaves out
    """

    plan: SearchPlan = field(default_factory=lambda: SearchPlan("bsg"))
    trees: TreeSettings = field(default_factory=TreeSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    candidates: CandidateSettings = field(default_factory=CandidateSettings)
    folds: int = 8
    bits: int = BITS
    topic_width: int = TOPIC_WIDTH
    topic_digits: int | None = None
    without: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("folds", 2, 100), ("bits", 4, 24), ("topic_width", 1, 1000), ("seed", 0, 2**31),
        ):  # fmt: skip
            whole_number(name, getattr(self, name), low, high)
        if self.topic_digits is not None:
            whole_number("topic_digits", self.topic_digits, 1, 15)
        unknown = [group for group in self.without if group not in GROUPS]
        if unknown:
            raise SettingsError(
                f"without names {unknown[0]!r}, which is no feature group; there are "
                f"{', '.join(GROUPS)}"
            )


def deal_at_random(documents: Sequence[Document], n_folds: int, seed: int) -> Ints:
    """Return folds of equal size."""
    if len(documents) < n_folds:
        raise SettingsError(
            f"{len(documents)} documents cannot be dealt into {n_folds} folds; ask for fewer"
        )
    return (np.random.default_rng(seed).permutation(len(documents)) % n_folds).astype(np.int32)


def train_linker(
    kb: KnowledgeBase,
    train: Sequence[Document],
    dev: Sequence[Document] = (),
    settings: LinkerTraining | None = None,
    *,
    words: WordVectors | None = None,
    deal: Deal = deal_at_random,
    callbacks: Sequence[Callback] = (),
    origin: dict[str, Any] | None = None,
) -> LinkerModel:
    """Train on documents; with dev documents, keep the number of trees that does best there."""
    settings = settings or LinkerTraining()
    finder, source = CandidateFinder(kb, settings.candidates), KbSource(kb)
    met = finder.find(train)
    evidence = source.evidence
    if np.isnan(met.prior).all():  # the documents brought their candidates along
        evidence -= {NAME_PRIORS}
    if words is not None:
        evidence |= {WORD_VECTORS}
    schema = Schema.of(evidence)
    background = Background.build(
        source, train, words, np.unique(met.entity).astype(np.int64),
        settings.topic_width, settings.topic_digits,
    )  # fmt: skip
    bench = Workbench(kb, background, schema, finder)
    local = BEYOND_THE_MENTION if not settings.plan.uses_history else ()
    without = tuple(g for g in schema.groups if g in {*local, *settings.without})
    layout = bench.lay_out(train)
    if not (layout.choices.gold >= 0).any():
        raise ProblemsError(
            "no training mention has its gold among its candidates: are the ids those of "
            f"{kb.path}?"
        )
    folds = deal(train, settings.folds, settings.seed)
    featurizer, features = Featurizer.fit(bench.table(layout), folds, settings.seed, settings.bits)
    problems = bench.pack(layout, features, without)
    dev_problems = None
    if dev:
        held = bench.lay_out(dev)
        dev_problems = bench.pack(held, featurizer.features(bench.table(held)), without)
    system = StructuredGradientBoosting(settings.plan, settings.trees, settings.training)
    system.fit(problems, dev_problems, callbacks=callbacks)
    return LinkerModel(
        schema, without, settings.candidates, background, featurizer, system.model, origin or {}
    )
