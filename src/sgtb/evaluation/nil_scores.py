"""NIL scores: precision and recall of links and of NIL.

A gold of NIL means "outside the knowledge base", whatever the reason. Mentions without annotation
are ignored. An answer of None or NIL counts as NIL.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sgtb.core.dtypes import Bools, Doubles
from sgtb.core.errors import ProblemsError
from sgtb.core.records import NIL, Document
from sgtb.evaluation.metrics import PrecisionRecall, share
from sgtb.evaluation.system_answers import SystemAnswers


@dataclass(frozen=True, slots=True)
class NilScores:
    """Links and NILs, each with precision, recall and F1.

    links  mentions answered with an entity, right if it is the gold; gold: those in the KB
    nil    mentions answered with NIL, right if they are outside; gold: those outside
    """

    links: PrecisionRecall
    nil: PrecisionRecall

    @property
    def accuracy(self) -> float:
        """The share of annotated mentions with the right answer, NIL included."""
        return share(self.links.right + self.nil.right, self.links.gold + self.nil.gold)


def nil_scores(documents: Sequence[Document], answers: SystemAnswers) -> NilScores:
    """Count right links and right NILs over all annotated mentions."""
    counts: Counter[tuple[bool, bool, bool]] = Counter()  # linked, in the KB, right
    for document, entities in answers.beside(documents):
        for mention, entity in zip(document.mentions, entities, strict=True):
            if mention.gold is None:
                continue
            linked = entity is not None and entity != NIL
            right = entity == mention.gold if linked else not mention.in_kb
            counts[linked, mention.in_kb, right] += 1

    def scores(link: bool) -> PrecisionRecall:
        return PrecisionRecall(
            right=sum(n for (linked, _, right), n in counts.items() if linked == link and right),
            predicted=sum(n for (linked, _, _), n in counts.items() if linked == link),
            gold=sum(n for (_, in_kb, _), n in counts.items() if in_kb == link),
        )

    return NilScores(scores(True), scores(False))


@dataclass(frozen=True, eq=False)
class NilCurve:
    """The effect of a threshold on the confidence of links, from linking all to linking nothing.

    threshold  f8[P]  ascending; names are linked where the confidence is at least that
    precision  f8[P]  of NIL; NaN where nothing is NIL
    recall     f8[P]  of NIL
    in_kb      f8[P]  the accuracy on mentions of the KB
    """

    threshold: Doubles
    precision: Doubles
    recall: Doubles
    in_kb: Doubles

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
