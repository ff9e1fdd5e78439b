"""The AIDA experiment in small: an invented world in AIDA's place, few folds and few trees."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments import aida, aida_data
from experiments.aida_data import AidaData
from experiments.entity_tables import listed_candidates
from sgtb.boosting import SearchPlan, StructuredGradientBoosting, TrainingSettings, TreeSettings
from sgtb.boosting.search.beam import PlanName
from sgtb.text.word_vectors import WordVectors
from tests.helpers.linking_builders import Setting, document, narrow_topics

FINGERPRINT = "0123456789abcdef" * 4


def aida_of(setting: Setting, fingerprint: str = FINGERPRINT) -> AidaData:
    candidates = {
        split: listed_candidates(texts, setting.entities)
        for split, texts in setting.documents.items()
    }
    return AidaData(Path("invented"), setting.entities, candidates, fingerprint)


def with_oddities(setting: Setting) -> Setting:
    """Add documents without mentions, and one whose mention has no candidates."""
    id = setting.entities.ids[0]
    odd = {
        split: (
            *texts,
            document(f"{split} 1", "No names .", split=split),
            document(f"{split} 2", f"[Orlan|{id}|LOC|] alone .", split=split),
        )
        for split, texts in setting.documents.items()
    }
    return replace(setting, documents=odd)


def small_system(plan: PlanName, seed: int, n_trees: int = 6) -> StructuredGradientBoosting:
    training = TrainingSettings(n_trees, max(1, n_trees // 2), patience=None, seed=seed)
    trees = TreeSettings(learning_rate=0.3, depth=3, min_leaf=5, feature_share=0.5)
    return StructuredGradientBoosting(SearchPlan(plan, 2), trees, training)


def make_small(patch: pytest.MonkeyPatch, words: WordVectors) -> None:
    """Put small things in the place of large ones."""
    patch.setattr(WordVectors, "glove", lambda: words)
    patch.setattr(aida_data, "FOLDS", 3)
    patch.setattr(aida, "estimator", small_system)
    narrow_topics(patch, 16)
