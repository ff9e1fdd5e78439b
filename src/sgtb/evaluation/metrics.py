"""Metrics: accuracy, Bag-of-Title scores, candidate recall and ambiguity; scores of NIL.

Only mentions whose gold is an entity count, for NIL scores also those outside the knowledge base:
a gold of NIL, whatever the reason. An answer of None or NIL counts as NIL. Mentions without
annotation are ignored. A share of nothing is NaN.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sgtb.core.dtypes import Bools, Doubles, Longs
from sgtb.core.errors import ProblemsError
from sgtb.core.records import NIL, Document, Mention
from sgtb.evaluation.system_answers import Candidates, SystemAnswers, candidates_of


@dataclass(frozen=True, eq=False)
class Accuracy:
    """In-KB accuracy, kept by document."""

    documents: tuple[str, ...]  # the ids of the documents
    document_correct: Longs  # i8[D], how many in-KB mentions of each were answered with their gold
    document_total: Longs  # i8[D], how many in-KB mentions each has

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
    """Numbers of candidates."""

    mentions: int  # the in-KB mentions
    candidates: int  # all their candidates
    without: int  # the mentions that have none
    most: int  # the candidates of the mention with the most

    @property
    def mean(self) -> float:
        """The mean number of candidates of a mention."""
        return share(self.candidates, self.mentions)


def in_kb_accuracy(documents: Sequence[Document], answers: SystemAnswers) -> Accuracy:
    """Count the in-KB mentions answered with their gold; no answer is a wrong answer."""
    correct = np.zeros(len(documents), np.int64)
    total = np.zeros(len(documents), np.int64)
    for i, (document, entities) in enumerate(answers.beside(documents)):
        both = zip(document.mentions, entities, strict=True)
        right = [entity == mention.gold for mention, entity in both if mention.in_kb]
        correct[i], total[i] = sum(right), len(right)
    return Accuracy(answers.documents, correct, total)


def bag_of_titles(
    documents: Sequence[Document],
    answers: SystemAnswers,
    redirects: Mapping[str, str] | None = None,
    title_of: Mapping[str, str] | None = None,
) -> PrecisionRecall:
    """Compare, per document, the set of predicted titles with the set of gold titles.

    redirects  from title to title, followed on both sides, see `resolve`
    title_of   from entity id to title; an id that it lacks, or every id without it, is a title

    The gold title is the annotation's, or that of the gold id where the annotation has none.
    """
    redirects, title_of = redirects or {}, title_of or {}
    right = n_predicted = n_gold = 0
    for document, entities in answers.beside(documents):
        both = zip(document.mentions, entities, strict=True)
        known = [(m.gold or "", m.title, entity) for m, entity in both if m.in_kb]
        gold = {resolve(title or title_of.get(id_, id_), redirects) for id_, title, _ in known}
        said = {entity for *_, entity in known if entity is not None and entity != NIL}
        predicted = {resolve(title_of.get(id_, id_), redirects) for id_ in said}
        right += len(predicted & gold)
        n_predicted += len(predicted)
        n_gold += len(gold)
    return PrecisionRecall(right, n_predicted, n_gold)


def candidate_recall(documents: Sequence[Document], candidates: Candidates | None = None) -> Recall:
    """Count the in-KB mentions whose gold is among their own or the given candidates."""
    hits = [mention.gold in listed for mention, listed in _in_kb(documents, candidates)]
    return Recall(sum(hits), len(hits))


def ambiguity(documents: Sequence[Document], candidates: Candidates | None = None) -> Ambiguity:
    """Count the candidates, their own or the given, of in-KB mentions."""
    sizes = [len(listed) for _, listed in _in_kb(documents, candidates)]
    return Ambiguity(len(sizes), sum(sizes), sizes.count(0), max(sizes, default=0))


@dataclass(frozen=True, slots=True)
class NilScores:
    """Links and NILs, each with precision, recall and F1."""

    # mentions answered with an entity, right if it is the gold; gold: those in the KB
    links: PrecisionRecall
    # mentions answered with NIL, right if they are outside; gold: those outside
    nil: PrecisionRecall

    @property
    def accuracy(self) -> float:
        """The share of annotated mentions with the right answer, NIL included."""
        return share(self.links.right + self.nil.right, self.links.gold + self.nil.gold)


def nil_scores(documents: Sequence[Document], answers: SystemAnswers) -> NilScores:
    """Count right links and right NILs over all annotated mentions."""
    links, nil = Counter[str](), Counter[str]()
    for document, entities in answers.beside(documents):
        for mention, entity in zip(document.mentions, entities, strict=True):
            if mention.gold is None:
                continue
            linked = entity is not None and entity != NIL
            said, meant = links if linked else nil, links if mention.in_kb else nil
            said["predicted"] += 1
            meant["gold"] += 1
            said["right"] += entity == mention.gold if linked else not mention.in_kb
    return NilScores(
        *(PrecisionRecall(n["right"], n["predicted"], n["gold"]) for n in (links, nil))
    )


@dataclass(frozen=True, eq=False)
class NilCurve:
    """The effect of a threshold on the confidence of links, from linking all to linking nothing."""

    threshold: Doubles  # f8[P], ascending; names are linked where the confidence is at least that
    precision: Doubles  # f8[P], of NIL; NaN where nothing is NIL
    recall: Doubles  # f8[P], of NIL
    in_kb: Doubles  # f8[P], the accuracy on mentions of the KB

    @property
    def f1(self) -> Doubles:
        """The harmonic mean of precision and recall, point by point; 0 where nothing is right."""
        precision = np.nan_to_num(self.precision)
        both = precision + self.recall
        return np.divide(2 * precision * self.recall, both, out=np.zeros_like(both), where=both > 0)

    @property
    def best(self) -> int:
        """The point of the highest F1; ties go to the one with the most links."""
        return int(self.f1.argmax())

    @property
    def area(self) -> float:
        """The average precision, weighted by the recall that each point adds."""
        return float(np.sum(np.diff(self.recall, prepend=0) * np.nan_to_num(self.precision)))


def nil_curve(confidence: Doubles, right: Bools, outside: Bools) -> NilCurve:
    """Move a threshold over all confidences.

    confidence  per annotated mention, in the best link there is; -1 where there is no candidate
    right       whether that link is the gold
    outside     whether the mention is outside the knowledge base
    """
    n, n_outside = len(confidence), int(outside.sum())
    if len(right) != n or len(outside) != n:
        raise ProblemsError(
            f"{n} confidences, {len(right)} links and {len(outside)} golds: give one per mention"
        )
    if not n_outside:
        raise ProblemsError(
            f"none of the {n} mentions is outside the knowledge base: there is no NIL to find"
        )
    order = np.argsort(confidence, kind="stable")
    ordered = confidence[order]
    threshold = np.concatenate([[0.0], np.unique(ordered[ordered > 0]), [np.inf]])
    n_nil = np.searchsorted(ordered, threshold, "left")
    found = np.append(0, np.cumsum(outside[order]))[n_nil]
    lost = np.append(0, np.cumsum((right & ~outside)[order]))[n_nil]
    kept = int((right & ~outside).sum()) - lost
    precision = np.divide(found, n_nil, out=np.full(len(n_nil), np.nan), where=n_nil > 0)
    in_kb = kept / (n - n_outside) if n > n_outside else np.full(len(n_nil), np.nan)
    return NilCurve(threshold, precision, found / n_outside, in_kb)


def _in_kb(
    documents: Sequence[Document], candidates: Candidates | None
) -> Iterator[tuple[Mention, Sequence[str]]]:
    """Yield the in-KB mentions with their own or the given candidates."""
    for document, row in zip(documents, candidates_of(documents, candidates), strict=True):
        both = zip(document.mentions, row, strict=True)
        yield from ((mention, listed) for mention, listed in both if mention.in_kb)


def share(part: int, whole: int) -> float:
    """Return a part of a whole; NaN of nothing."""
    return part / whole if whole else math.nan


def normal_title(title: str) -> str:
    """Return a title with single spaces for underscores and white space, and a first capital."""
    spaced = " ".join(title.replace("_", " ").split())
    capital = spaced[:1].upper()
    # ß would become SS, and no page is called that.
    return capital + spaced[1:] if len(capital) == 1 else spaced


def resolve(title: str, redirects: Mapping[str, str]) -> str:
    """Follow redirects from a title to the last one, in normal form.

    `redirects` is looked up, never copied: it may be a table of millions. Its keys have a first
    capital, and spaces or underscores. Redirects that go round in a circle all lead to the title
    of the circle that sorts first, so that its titles still count as one.
    """
    path = [normal_title(title)]
    while True:
        keys = (path[-1], path[-1].replace(" ", "_"))
        target = next((redirects[key] for key in keys if key in redirects), None)
        if target is None:
            return path[-1]
        path.append(normal_title(target))
        if path[-1] in path[:-1]:
            return min(path[path.index(path[-1]) :])
