"""ScoreAccumulator: the answers of a system, counted document by document.

It keeps few numbers per document and some bytes per mention, so that data sets of any size fit.
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Longs
from sgtb.core.records import NIL, Document
from sgtb.evaluation import (
    Accuracy,
    PrecisionRecall,
    SystemAnswers,
    ambiguity,
    bag_of_titles,
    candidate_recall,
    in_kb_accuracy,
    nil_scores,
)
from sgtb.evaluation.breakdown import By, Tally
from sgtb.evaluation.linkers.resolved_gold import ResolvedGold
from sgtb.linking.links import Link


class DocumentCounts(NamedTuple):
    """The counts of a document.

    correct, total   mentions of the knowledge base: answered with the gold, and all
    named_correct    mentions whose annotation names an entity, known or not
    named_total
    found            mentions of the knowledge base whose gold is among the candidates
    ambiguous_*      of these, the ones with several candidates: answered with the gold, and all
    candidates       of mentions of the knowledge base, all together
    title_*          Bag-of-Title: right, predicted, gold
    link_*           entities named: right, predicted, gold
    nil_*            NIL: right, predicted, gold
    mentions         all, those without annotation included
    """

    correct: int
    total: int
    named_correct: int
    named_total: int
    found: int
    ambiguous_correct: int
    ambiguous_total: int
    candidates: int
    title_right: int
    title_predicted: int
    title_gold: int
    link_right: int
    link_predicted: int
    link_gold: int
    nil_right: int
    nil_predicted: int
    nil_gold: int
    mentions: int


class ScoreAccumulator:
    """Counts the answers of one system to one data set.

    seen  mentions of each entity in training; None: unknown
    """

    def __init__(self, seen: Mapping[str, int] | None) -> None:
        self.ids: list[str] = []
        self._rows = array("q")
        kinds: list[By] = ["type", "ambiguity", "length", "words"]
        self.tallies: dict[By, Tally] = {by: Tally(by) for by in kinds}
        if seen is not None:
            self.tallies["frequency"] = Tally("frequency", seen)
        self.confidence, self.right = array("d"), array("b")
        self.link_confidence, self.link_right, self.outside = array("d"), array("b"), array("b")
        self.wrong = array("q")
        """Positions of document and mention of every mistake, alternating."""

    def add(
        self,
        resolved: ResolvedGold,
        links: Sequence[Link],
        entities: Sequence[str | None],
        titles: Mapping[str, str],
    ) -> None:
        """Count the answers to a document; `links` have the candidates."""
        known = resolved.known
        documents = [known]
        answers = SystemAnswers.of(documents, [entities])
        listed = [[other.entity for other in link.candidates] for link in links]
        accuracy = in_kb_accuracy(documents, answers)
        named = in_kb_accuracy([resolved.annotated], answers)
        title = bag_of_titles([resolved.annotated], answers, title_of=titles)
        scores = nil_scores(documents, answers)
        ambiguous = _ambiguous(known, listed, entities)
        self._rows.extend(
            DocumentCounts(
                correct=accuracy.correct,
                total=accuracy.total,
                named_correct=named.correct,
                named_total=named.total,
                found=candidate_recall(documents, [listed]).found,
                ambiguous_correct=sum(ambiguous),
                ambiguous_total=len(ambiguous),
                candidates=ambiguity(documents, [listed]).candidates,
                title_right=title.right,
                title_predicted=title.predicted,
                title_gold=title.gold,
                link_right=scores.links.right,
                link_predicted=scores.links.predicted,
                link_gold=scores.links.gold,
                nil_right=scores.nil.right,
                nil_predicted=scores.nil.predicted,
                nil_gold=scores.nil.gold,
                mentions=len(known.mentions),
            )
        )
        for tally in self.tallies.values():
            tally.add(known, entities, listed)
        self._add_mistakes(known, entities)
        self.ids.append(known.id)

    def add_confidences(self, document: Document, links: Sequence[Link]) -> None:
        """Add the confidences of a document's links."""
        for mention, link in zip(document.mentions, links, strict=True):
            if mention.gold is None:
                continue
            if link.candidates:  # without any, there was nothing to decide
                self.confidence.append(link.confidence)
                self.right.append((link.entity or NIL) == mention.gold)
            best = best_link(link)
            self.link_confidence.append(-1.0 if best is None else best[1])
            self.link_right.append(best is not None and best[0] == mention.gold)
            self.outside.append(not mention.in_kb)

    def column(self, name: str) -> Longs:
        """Return one of the counts, by document."""
        rows = np.frombuffer(self._rows, np.int64).reshape(-1, len(DocumentCounts._fields))
        return rows[:, DocumentCounts._fields.index(name)].copy()

    def sum(self, name: str) -> int:
        """Return one of the counts over all documents."""
        return int(self.column(name).sum())

    def accuracy(self, part: str, total: str) -> Accuracy:
        """Return two counts as an accuracy."""
        return Accuracy(tuple(self.ids), self.column(part), self.column(total))

    def precision_recall(self, what: str) -> PrecisionRecall:
        """Return the three counts of titles, links or NIL."""
        return PrecisionRecall(
            *(self.sum(f"{what}_{part}") for part in ("right", "predicted", "gold"))
        )

    def _add_mistakes(self, document: Document, entities: Sequence[str | None]) -> None:
        place = len(self.ids)
        for i, (mention, entity) in enumerate(zip(document.mentions, entities, strict=True)):
            if mention.gold is not None and (entity or NIL) != mention.gold:
                self.wrong.extend((place, i))


def _ambiguous(
    document: Document, candidates: Sequence[Sequence[str]], entities: Sequence[str | None]
) -> list[bool]:
    """Return whether mentions with their gold among several candidates are answered right."""
    return [
        entity == mention.gold
        for mention, listed, entity in zip(document.mentions, candidates, entities, strict=True)
        if mention.in_kb and len(listed) > 1 and mention.gold in listed
    ]


def best_link(link: Link) -> tuple[str, float] | None:
    """Return the most likely entity other than NIL, with its probability."""
    if link.entity is not None:
        return link.entity, link.confidence
    # The runner-up of NIL is the link that would have been made.
    others = [other for other in link.candidates if other.entity == link.runner_up]
    best = next(iter(others or link.candidates), None)
    return None if best is None else (best.entity, best.probability)
