"""Selection between the rules of mention detection and a tagger learned from documents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sgtb.core.records import Document
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.mentions.mention_detection import NameFinder
from sgtb.linking.mentions.mention_tagger import MentionTagger, gold_tags
from sgtb.text.tokenization import segment, touched_tokens

CLEARLY = 0.01
"""F1 on dev that a tagger must gain."""
ENOUGH = 100
"""Mentions of dev that a comparison needs."""
COMPLETE = 0.5
"""Least share of annotated occurrences among those of names that are annotated in a document."""


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
    found = _counts(rules, dev).f1, _counts(NameFinder(kb, tagger=tagger), dev).f1
    learned = found[1] >= found[0] + CLEARLY
    measured = {
        "chosen": "learned" if learned else "rules",
        "rules F1": round(found[0], 6),
        "learned F1": round(found[1], 6),
    }
    return MentionChoice(tagger if learned else None, measured)


class MentionCounts(NamedTuple):
    """Numbers of annotated mentions, of found ones, and of those that are both."""

    gold: int
    found: int
    right: int

    @property
    def f1(self) -> float:
        """F1 of exact spans."""
        return 2 * self.right / max(self.gold + self.found, 1)


def _counts(finder: NameFinder, documents: Sequence[Document]) -> MentionCounts:
    counts = np.zeros(3, np.int64)
    for document in documents:
        gold = {(m.start, m.end) for m in document.mentions}
        mentions = finder.find(document.text, document.tokens, document.sentences)
        found = {(m.start, m.end) for m in mentions}
        counts += len(gold), len(found), len(gold & found)
    return MentionCounts(*counts.tolist())


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
    mentions = []
    for mention in document.mentions:
        first, stop = touched_tokens(tokens, mention.start, mention.end)
        if first < stop:
            mentions.append(replace(mention, first=first, stop=stop))
    return replace(document, tokens=tokens, sentences=sentences, mentions=tuple(mentions))
