"""Data of the linker benchmark: AIDA's test documents, and models trained on its train."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.linker_speed import Subject
from experiments.aida_data import AidaData
from experiments.aida_linker import WAYS, Trial, kept_model
from experiments.entity_tables import listed_candidates
from experiments.linker_cache import LinkerCache
from sgtb.core.records import Document

TRIAL = Trial("bsg", 0)
_OTHERS = 3


@dataclass(frozen=True)
class AidaSubjects:
    """Linkers to measure: with gold spans and listed candidates, and from plain text."""

    spans: Subject
    texts: Subject
    documents: tuple[Document, ...]
    n_trees: int
    trained_on: int


def aida_subjects(
    data: AidaData, cache: Path, train: int | None, test: int | None, say: Callable[[str], None]
) -> AidaSubjects:
    """Return linkers with the models of `python -m experiments linker`, trained if not cached.

    train  documents trained on, without dev; None: all, and dev chooses the number of trees
    test   documents to be linked; None: all
    """
    if train is not None:
        data = fewer_documents(data, train)
    kept = LinkerCache(cache, say)
    with kept.kb(data) as kb:
        models = {way: kept_model(data, kept, kb, way, TRIAL) for way in WAYS}
        place = kb.path
    documents, others = data.documents("test")[:test], data.documents("train")[:_OTHERS]
    spans, texts = (
        Subject(models[way], place, [*map(given, documents)], [*map(given, others)])
        for way, given in (("listed", WAYS["listed"].given), ("by name", lambda one: one.text))
    )
    n_trees = models["listed"].forest.forest.n_trees
    return AidaSubjects(spans, texts, documents, n_trees, len(data.documents("train")))


def fewer_documents(data: AidaData, train: int) -> AidaData:
    """Return AIDA with fewer training documents and without dev."""
    fewer = {"train": data.documents("train")[:train], "dev": ()}
    candidates = {split: listed_candidates(texts, data.entities) for split, texts in fewer.items()}
    return replace(
        data,
        candidates={**data.candidates, **candidates},
        fingerprint=f"{data.fingerprint}, {train} documents",
    )
