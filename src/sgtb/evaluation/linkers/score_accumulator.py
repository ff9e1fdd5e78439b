"""A ledger: what a system answered, counted document by document.

Of a document twenty numbers are kept, of a mention some bytes: texts may be as many as they like.
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.core.records import NIL, Document
from sgtb.evaluation import (
    Accuracy,
    Answers,
    PrecisionRecall,
    bag_of_titles,
    candidate_recall,
    in_kb_accuracy,
    nil_scores,
)
from sgtb.evaluation.breakdown import By, Tally
from sgtb.evaluation.linkers.resolved_gold import Asked
from sgtb.linking.links import Link

Longs = npt.NDArray[np.int64]


class Row(NamedTuple):
    """What is counted of a document.

    correct, total   mentions of the knowledge base: answered with the gold, and all
    named_correct    mentions whose annotation names an entity, known or not
    named_total
    found            mentions of the knowledge base whose gold is among the candidates
    candidates       of mentions of the knowledge base, all together
    title_*          Bag-of-Title: right, said, gold
    link_*           entities named: right, said, gold
    nil_*            NIL: right, said, gold
    mentions         all, those without annotation included
    """

    correct: int
    total: int
    named_correct: int
    named_total: int
    found: int
    candidates: int
    title_right: int
    title_said: int
    title_gold: int
    link_right: int
    link_said: int
    link_gold: int
    nil_right: int
    nil_said: int
    nil_gold: int
    mentions: int


class Ledger:
    """Counts the answers of one system to one data set.

    seen  how often training meant each entity; None: nobody knows
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
        """Of every mistake the document's place and the mention's, one after the other."""

    def add(
        self,
        asked: Asked,
        links: Sequence[Link],
        entities: Sequence[str | None],
        titles: Mapping[str, str],
    ) -> None:
        """Count what was answered to a document; `links` bring the candidates."""
        inside = asked.inside
        documents = [inside]
        answers = Answers.of(documents, [entities])
        listed = [[other.entity for other in link.candidates] for link in links]
        correct = in_kb_accuracy(documents, answers)
        named = in_kb_accuracy([asked.annotated], answers)
        recall = candidate_recall(documents, [listed])
        title = bag_of_titles([asked.annotated], answers, title_of=titles)
        scores = nil_scores(documents, answers)
        n_candidates = sum(
            len(row) for mention, row in zip(inside.mentions, listed, strict=True) if mention.in_kb
        )
        self._rows.extend(
            Row(
                correct.correct, correct.total, named.correct, named.total,
                recall.found, n_candidates, title.tp, title.n_predicted, title.n_gold,
                *_counts(scores.links), *_counts(scores.nil), len(inside.mentions),
            )
        )  # fmt: skip
        for tally in self.tallies.values():
            tally.add(inside, entities, listed)
        self._note_mistakes(inside, entities)
        self.ids.append(inside.id)

    def trust(self, document: Document, links: Sequence[Link]) -> None:
        """Note how sure the links of a document are, for systems that say so."""
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
        rows = np.frombuffer(self._rows, np.int64).reshape(-1, len(Row._fields))
        return rows[:, Row._fields.index(name)].copy()

    def sum(self, name: str) -> int:
        """Return one of the counts over all documents."""
        return int(self.column(name).sum())

    def accuracy(self, part: str, total: str) -> Accuracy:
        """Return two counts as an accuracy."""
        return Accuracy(tuple(self.ids), self.column(part), self.column(total))

    def precision_recall(self, what: str) -> PrecisionRecall:
        """Return the three counts of titles, links or NIL."""
        return PrecisionRecall(*(self.sum(f"{what}_{part}") for part in ("right", "said", "gold")))

    def _note_mistakes(self, document: Document, entities: Sequence[str | None]) -> None:
        place = len(self.ids)
        for i, (mention, entity) in enumerate(zip(document.mentions, entities, strict=True)):
            if mention.gold is not None and (entity or NIL) != mention.gold:
                self.wrong.extend((place, i))


def best_link(link: Link) -> tuple[str, float] | None:
    """Return the entity that a mention would be linked to if it had to be, and how likely it is."""
    if link.entity is not None:
        return link.entity, link.confidence
    # What NIL was held against is the link that would have been made.
    others = [other for other in link.candidates if other.entity == link.runner_up]
    best = next(iter(others or link.candidates), None)
    return None if best is None else (best.entity, best.probability)


def _counts(score: PrecisionRecall) -> tuple[int, int, int]:
    return score.right, score.said, score.gold
