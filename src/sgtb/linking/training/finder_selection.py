"""Selection of the candidate lookup on training documents."""

from collections.abc import Sequence
from dataclasses import replace

from sgtb.core.records import Document
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.candidates.candidate_lookup import CandidateFinder, CandidateSettings
from sgtb.linking.candidates.weak_names import TrainedNames

FUZZY_GAIN = 0.02
"""Gain in the recall of training mentions for which similarly spelt names are searched."""


def trained_finder(
    kb: KnowledgeBase, train: Sequence[Document], settings: CandidateSettings, fuzzy: bool | None
) -> CandidateFinder:
    """Return the candidate lookup with the names of training documents.

    Unless `fuzzy` says, similarly spelt names, and then names that contain the name, are
    searched if either brings the gold of at least FUZZY_GAIN of the annotated mentions.
    """
    chosen = settings if fuzzy is None else replace(settings, fuzzy=fuzzy)
    exact = CandidateFinder(kb, chosen)
    trained = TrainedNames.of(exact.annotated_names(train))
    best = CandidateFinder(kb, chosen, trained)
    if fuzzy is None and trained.counts:
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
