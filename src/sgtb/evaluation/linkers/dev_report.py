"""DevReport: how a trained linker does on dev documents, for the page of a training."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sgtb.core.records import NIL, Document, Mention
from sgtb.evaluation.reliability import Calibration, calibration
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.nil_candidate import REASON_LABELS

WORST = 10  # documents listed
OTHER_MENTIONS = "other mentions"


@dataclass(frozen=True)
class WrongAnswer:
    """A wrong decision: the mention, the answer, and the annotated entity; "NIL" for none."""

    text: str
    answer: str
    gold: str
    confidence: float


@dataclass(frozen=True)
class DocumentScore:
    """A document with its wrong answers."""

    id: str
    right: int
    total: int
    wrong: tuple[WrongAnswer, ...]


@dataclass(frozen=True)
class DevReport:
    """Scores on dev."""

    right: int
    total: int
    calibration: Calibration
    # share of each feature group in the reasons of all links, largest first
    groups: tuple[tuple[str, float], ...]
    worst: tuple[DocumentScore, ...]  # documents with the most wrong answers


def dev_report(kb: KnowledgeBase, model: LinkerModel, documents: Sequence[Document]) -> DevReport:
    """Link the annotated mentions of documents with reasons, and score the answers."""
    linker = Linker(model, kb, LinkerSettings(reasons=True))
    confidence: list[float] = []
    right: list[bool] = []
    weights: Counter[str] = Counter()
    scores = []
    for document, linked in zip(documents, linker.pipe(documents), strict=True):
        both = zip(document.mentions, linked.links, strict=True)
        pairs = [(mention, link) for mention, link in both if mention.gold is not None]
        confidence += [link.confidence for _, link in pairs]
        right += [(link.entity or NIL) == mention.gold for mention, link in pairs]
        for reason in (reason for _, link in pairs for reason in link.reasons):
            name = REASON_LABELS.get(reason.name, reason.name)
            name = name if reason.kind == "features" else OTHER_MENTIONS
            weights[name] += abs(reason.value)  # type: ignore[assignment]  # a sum of floats
        wrong = tuple(
            WrongAnswer(
                link.text, link.title if link.entity else NIL, _title(kb, mention), link.confidence
            )
            for mention, link in pairs
            if (link.entity or NIL) != mention.gold
        )
        scores.append(DocumentScore(document.id, len(pairs) - len(wrong), len(pairs), wrong))
    total = sum(weights.values())
    groups = tuple((name, value / total) for name, value in weights.most_common()) if total else ()
    worst = sorted((s for s in scores if s.wrong), key=lambda s: (-len(s.wrong), s.right, s.id))
    found = calibration(np.array(confidence), np.array(right, np.bool_))
    return DevReport(sum(right), len(right), found, groups, tuple(worst[:WORST]))


def _title(kb: KnowledgeBase, mention: Mention) -> str:
    number = None if mention.gold in (None, NIL) else kb.number(str(mention.gold))
    return NIL if number is None else kb.title_of(number)
