"""Metrics: accuracy, Bag-of-Title scores, candidate recall and ambiguity.

Only mentions whose gold is an entity count. Those outside the knowledge base (NIL) and those
without annotation are ignored. A share of nothing is NaN.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sgtb.core.dtypes import Longs
from sgtb.core.errors import ProblemsError
from sgtb.core.records import NIL, Document, Mention
from sgtb.evaluation.page_titles import resolve
from sgtb.evaluation.system_answers import Candidates, SystemAnswers, candidates_of


@dataclass(frozen=True, eq=False)
class Accuracy:
    """In-KB accuracy, kept by document.

    documents         the ids of the documents
    document_correct  i8[D]  how many in-KB mentions of each were answered with their gold
    document_total    i8[D]  how many in-KB mentions each has
    """

    documents: tuple[str, ...]
    document_correct: Longs
    document_total: Longs

    def __post_init__(self) -> None:
        sizes = (len(self.documents),)
        if self.document_correct.shape != sizes or self.document_total.shape != sizes:
            raise ProblemsError(
                f"{len(self.documents)} documents, but counts of the shapes "
                f"{self.document_correct.shape} and {self.document_total.shape}"
            )
        wrong = (self.document_correct < 0) | (self.document_correct > self.document_total)
        if wrong.any():
            i = int(wrong.argmax())
            raise ProblemsError(
                f"document {self.documents[i]}: {self.document_correct[i]} correct of "
                f"{self.document_total[i]}"
            )

    @property
    def correct(self) -> int:
        """The number of mentions answered with their gold."""
        return int(self.document_correct.sum())

    @property
    def total(self) -> int:
        """The number of in-KB mentions."""
        return int(self.document_total.sum())

    @property
    def micro(self) -> float:
        """The share of correct mentions among all."""
        return share(self.correct, self.total)

    @property
    def macro(self) -> float:
        """The mean of the documents' own accuracies, over those that have an in-KB mention."""
        counted = self.document_total > 0
        if not counted.any():
            return math.nan
        return float(np.mean(self.document_correct[counted] / self.document_total[counted]))


@dataclass(frozen=True, slots=True)
class PrecisionRecall:
    """Numbers of right predictions, of all predictions, and of what should be predicted."""

    right: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """The share of right ones among the predicted."""
        return share(self.right, self.predicted)

    @property
    def recall(self) -> float:
        """The share of right ones among the gold."""
        return share(self.right, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return share(2 * self.right, self.predicted + self.gold)


@dataclass(frozen=True, slots=True)
class Recall:
    """How many mentions have their gold among their candidates: a bound on accuracy."""

    found: int
    total: int

    @property
    def share(self) -> float:
        """The share of mentions whose gold can be chosen."""
        return share(self.found, self.total)


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """Numbers of candidates.

    mentions    the in-KB mentions
    candidates  all their candidates
    without     the mentions that have none
    most        the candidates of the mention with the most
    """

    mentions: int
    candidates: int
    without: int
    most: int

    @property
    def mean(self) -> float:
        """The mean number of candidates of a mention."""
        return share(self.candidates, self.mentions)


def in_kb_accuracy(documents: Sequence[Document], answers: SystemAnswers) -> Accuracy:
    """Count the in-KB mentions answered with their gold; no answer is a wrong answer."""
    correct = np.zeros(len(documents), np.int64)
    total = np.zeros(len(documents), np.int64)
    for i, (document, entities) in enumerate(answers.beside(documents)):
        for mention, entity in zip(document.mentions, entities, strict=True):
            if mention.in_kb:
                total[i] += 1
                correct[i] += entity == mention.gold
    return Accuracy(answers.documents, correct, total)


def bag_of_titles(
    documents: Sequence[Document],
    answers: SystemAnswers,
    redirects: Mapping[str, str] | None = None,
    title_of: Mapping[str, str] | None = None,
) -> PrecisionRecall:
    """Compare, per document, the set of predicted titles with the set of gold titles.

    redirects  from title to title, followed on both sides, see `page_titles.resolve`
    title_of   from entity id to title; an id that it lacks, or every id without it, is a title

    The gold title is the annotation's, or that of the gold id where the annotation has none.
    """
    redirects = {} if redirects is None else redirects
    title_of = {} if title_of is None else title_of
    right = n_predicted = n_gold = 0
    for document, entities in answers.beside(documents):
        predicted, gold = set(), set()
        for mention, entity in zip(document.mentions, entities, strict=True):
            if not mention.in_kb:
                continue
            gold.add(resolve(_gold_title(mention, title_of), redirects))
            if entity is not None and entity != NIL:
                predicted.add(resolve(title_of.get(entity, entity), redirects))
        right += len(predicted & gold)
        n_predicted += len(predicted)
        n_gold += len(gold)
    return PrecisionRecall(right, n_predicted, n_gold)


def candidate_recall(documents: Sequence[Document], candidates: Candidates | None = None) -> Recall:
    """Count the in-KB mentions whose gold is among their own or the given candidates."""
    found = total = 0
    for document, row in zip(documents, candidates_of(documents, candidates), strict=True):
        for mention, listed in zip(document.mentions, row, strict=True):
            if mention.in_kb:
                total += 1
                found += mention.gold in listed
    return Recall(found, total)


def ambiguity(documents: Sequence[Document], candidates: Candidates | None = None) -> Ambiguity:
    """Count the candidates, their own or the given, of in-KB mentions."""
    sizes = [
        len(listed)
        for document, row in zip(documents, candidates_of(documents, candidates), strict=True)
        for mention, listed in zip(document.mentions, row, strict=True)
        if mention.in_kb
    ]
    return Ambiguity(len(sizes), sum(sizes), sizes.count(0), max(sizes, default=0))


def share(part: int, whole: int) -> float:
    """Return a part of a whole; NaN of nothing."""
    return part / whole if whole else math.nan


def _gold_title(mention: Mention, title_of: Mapping[str, str]) -> str:
    if mention.title:
        return mention.title
    assert mention.gold is not None  # callers pass in-KB mentions only
    return title_of.get(mention.gold, mention.gold)
