"""Scores on the links of held-out pages: linkers compared with baselines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgtb.core.records import Document
from sgtb.evaluation import Accuracy, interval, paired_bootstrap
from sgtb.evaluation.linkers.linker_evaluation import ScoreAccumulator
from sgtb.evaluation.linkers.resolved_gold import ResolvedGold
from sgtb.evaluation.linkers.systems import Baseline, chosen_by_linker
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import LinkedDocument

BASELINES = ("prior", "in-links")
_KINDS = ("recalled", "ambiguous")
_SAMPLES = 10_000


@dataclass(frozen=True)
class LinkScores:
    """The accuracy of a system, by document."""

    recalled: Accuracy  # of the mentions that have their gold among their candidates
    ambiguous: Accuracy  # of those with two candidates or more


@dataclass(frozen=True)
class LinkTest:
    """The scores of systems on the links of held-out pages."""

    documents: int
    mentions: int  # links in the text
    known: int  # those that lead to an entity of the knowledge base
    systems: Mapping[str, LinkScores]


def score_links(
    kb: KnowledgeBase, models: Mapping[str, LinkerModel], documents: Sequence[Document]
) -> LinkTest:
    """Score baselines and linkers; every mention with candidates is linked."""
    systems: dict[str, LinkScores] = {}
    for name, model in models.items():
        linker = Linker(model, kb, LinkerSettings(candidates=model.candidates.top, nil=0.0))
        linked = list(linker.pipe(documents))
        if not systems:
            systems |= {
                baseline: _scores(documents, linked, map(Baseline(kb, baseline), linked))
                for baseline in BASELINES
            }
        systems[name] = _scores(documents, linked, map(chosen_by_linker, linked))
    return LinkTest(
        len(documents),
        sum(len(document.mentions) for document in documents),
        sum(1 for document in documents for _ in document.in_kb()),
        systems,
    )


def figures_of(test: LinkTest) -> dict[str, Any]:
    """Return the figures of a test; differences are to the better baseline."""
    best: dict[str, Accuracy] = {
        kind: max(
            (getattr(test.systems[name], kind) for name in BASELINES),
            key=lambda accuracy: accuracy.correct,
        )
        for kind in _KINDS
    }
    first = next(iter(test.systems.values()))
    return {
        "test": {
            "documents": test.documents, "mentions": test.mentions, "known": test.known,
            "recalled": first.recalled.total, "ambiguous": first.ambiguous.total,
        },
        "systems": {
            name: {
                kind: _figures(getattr(scores, kind), None if name in BASELINES else best[kind])
                for kind in _KINDS
            }
            for name, scores in test.systems.items()
        },
    }  # fmt: skip


def _figures(accuracy: Accuracy, beside: Accuracy | None) -> dict[str, Any]:
    if not accuracy.total:
        return {"right": 0, "accuracy": None, "interval": None, "gain": None}
    found, gain = interval(accuracy, _SAMPLES), None
    if beside is not None:
        more = paired_bootstrap(beside, accuracy, _SAMPLES)
        gain = _percents(more.value, more.low, more.high)
    return {
        "right": accuracy.correct,
        "accuracy": _percents(found.value)[0],
        "interval": _percents(found.low, found.high),
        "gain": gain,
    }


def _percents(*shares: float) -> list[float]:
    return [round(100 * share, 2) for share in shares]


def _scores(
    documents: Sequence[Document],
    linked: Sequence[LinkedDocument],
    answers: Iterable[Sequence[str | None]],
) -> LinkScores:
    counts = ScoreAccumulator(None)
    for document, found, entities in zip(documents, linked, answers, strict=True):
        counts.add(ResolvedGold(document, document), found.links, entities, {})
    right, found_gold = counts.column("known", "correct"), counts.column("candidates", "found")
    recalled = Accuracy(tuple(counts.ids), right, found_gold)  # no other can be right
    return LinkScores(recalled, counts.accuracy("ambiguous"))
