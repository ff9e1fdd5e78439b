"""Selection on training documents: of the candidate lookup, and of mention detection."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgtb.core.records import Document
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.candidates.candidate_lookup import CandidateFinder, CandidateSettings
from sgtb.linking.candidates.weak_names import TrainedNames
from sgtb.linking.mentions.mention_detection import NameFinder
from sgtb.linking.mentions.mention_tagger import MentionTagger, gold_tags
from sgtb.text.tokenization import segment, touched_tokens

FUZZY_GAIN = 0.02
"""Gain in the recall of training mentions for which similarly spelt names are searched."""
CLEARLY = 0.01  # F1 on dev that a tagger must gain
ENOUGH = 100  # mentions of dev that a comparison needs
COMPLETE = 0.5
"""Least share of annotated occurrences among those of names that are annotated in a document."""


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


# Mention detection: rules, or a tagger learned from documents.


@dataclass(frozen=True)
class MentionChoice:
    """A tagger, None: the rules are used; and what was measured, for the origin of the model."""

    tagger: MentionTagger | None = None
    measured: dict[str, Any] | None = None


RULES = MentionChoice(None, {"chosen": "rules", "reason": "incomplete annotation"})
"""The choice for documents that annotate only a part of the names."""


def choose_mentions(
    kb: KnowledgeBase,
    train: Sequence[Document],
    dev: Sequence[Document],
    bits: int,
    seed: int,
) -> MentionChoice:
    """Train a tagger; choose it if it finds the mentions of dev clearly better than the rules.

    Texts are tokenized as in linking. Documents in which most repetitions of annotated names are
    not annotated, such as pages with links, do not show what a mention is: the rules stay.
    """
    train, dev = [_as_text(d) for d in train], [_as_text(d) for d in dev]
    if not any(d.mentions for d in train) or sum(len(d.mentions) for d in dev) < ENOUGH:
        return MentionChoice()
    rules = NameFinder(kb)
    if _completeness(rules, train) < COMPLETE:
        return RULES
    clues = [rules.clues(rules.apply_rules(d.text, d.tokens, d.sentences)) for d in train]
    tags = [gold_tags(len(d.tokens), d.mentions) for d in train]
    tagger = MentionTagger.train(
        np.concatenate(clues), np.concatenate(tags), np.random.default_rng(seed), bits
    )
    by_rules, by_tagger = _f1(rules, dev), _f1(NameFinder(kb, tagger=tagger), dev)
    measured: dict[str, Any] = {"rules F1": round(by_rules, 6), "learned F1": round(by_tagger, 6)}
    if by_tagger < by_rules + CLEARLY:
        return MentionChoice(None, {"chosen": "rules", **measured})
    return MentionChoice(tagger, {"chosen": "learned", **measured})


def _f1(finder: NameFinder, documents: Sequence[Document]) -> float:
    """Return F1 of exact spans."""
    right = total = 0
    for document in documents:
        gold = {(m.start, m.end) for m in document.mentions}
        mentions = finder.find(document.text, document.tokens, document.sentences)
        found = {(m.start, m.end) for m in mentions}
        right += len(gold & found)
        total += len(gold) + len(found)
    return 2 * right / max(total, 1)


def _completeness(finder: NameFinder, documents: Sequence[Document]) -> float:
    """Return the share of annotated mentions among found ones with the text of an annotated one."""
    repeated = annotated = 0
    for document in documents:
        gold = {(m.start, m.end) for m in document.mentions}
        names = {m.text for m in document.mentions}
        for mention in finder.find(document.text, document.tokens, document.sentences):
            if mention.text in names:
                repeated += 1
                annotated += (mention.start, mention.end) in gold
    return annotated / repeated if repeated else 1.0


def _as_text(document: Document) -> Document:
    """Return a document with the tokens that linking gives its text."""
    tokens, sentences = segment(document.text)
    spans = [(m, *touched_tokens(tokens, m.start, m.end)) for m in document.mentions]
    mentions = tuple(replace(m, first=first, stop=stop) for m, first, stop in spans if first < stop)
    return replace(document, tokens=tokens, sentences=sentences, mentions=mentions)
