"""Scores on the links of held-out pages: linkers compared with baselines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgtb.core.records import Document
from sgtb.evaluation import Accuracy, interval, paired_bootstrap
from sgtb.evaluation.linkers.systems import Baseline, chosen_by_linker
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import LinkedDocument

BASELINES = ("prior", "in-links")
_SAMPLES = 10_000


@dataclass(frozen=True)
class LinkScores:
    """The accuracy of a system, by document.

    recalled   of the mentions that have their gold among their candidates
    ambiguous  of those with two candidates or more
    """

    recalled: Accuracy
    ambiguous: Accuracy


@dataclass(frozen=True)
class LinkTest:
    """The scores of systems on the links of held-out pages.

    mentions  links in the text
    known     those that lead to an entity of the knowledge base
    """

    documents: int
    mentions: int
    known: int
    systems: Mapping[str, LinkScores]

    @classmethod
    def joined(cls, tests: Sequence["LinkTest"]) -> "LinkTest":
        """Return several tests of different pages as one."""
        return cls(
            sum(test.documents for test in tests),
            sum(test.mentions for test in tests),
            sum(test.known for test in tests),
            {
                name: LinkScores(
                    _joined([test.systems[name].recalled for test in tests]),
                    _joined([test.systems[name].ambiguous for test in tests]),
                )
                for name in tests[0].systems
            },
        )


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
    systems: dict[str, Any] = {}
    for name, scores in test.systems.items():
        systems[name] = {
            kind: _figures(
                getattr(scores, kind), None if name in BASELINES else _baseline(test, kind)
            )
            for kind in ("recalled", "ambiguous")
        }
    return {
        "test": {
            "documents": test.documents, "mentions": test.mentions, "known": test.known,
            "recalled": _any(test).recalled.total, "ambiguous": _any(test).ambiguous.total,
        },
        "systems": systems,
    }  # fmt: skip


def _any(test: LinkTest) -> LinkScores:
    return next(iter(test.systems.values()))


def _baseline(test: LinkTest, kind: str) -> Accuracy:
    """Return the better baseline."""
    found: list[Accuracy] = [getattr(test.systems[name], kind) for name in BASELINES]
    return max(found, key=lambda accuracy: accuracy.correct)


def _figures(accuracy: Accuracy, beside: Accuracy | None) -> dict[str, Any]:
    if not accuracy.total:
        return {"right": 0, "accuracy": None, "interval": None, "gain": None}
    found = interval(accuracy, _SAMPLES)
    gain = None
    if beside is not None:
        more = paired_bootstrap(beside, accuracy, _SAMPLES)
        gain = [_percent(more.value), _percent(more.low), _percent(more.high)]
    return {
        "right": accuracy.correct,
        "accuracy": _percent(found.value),
        "interval": [_percent(found.low), _percent(found.high)],
        "gain": gain,
    }


def _percent(share: float) -> float:
    return round(100 * share, 2)


def _scores(
    documents: Sequence[Document],
    linked: Sequence[LinkedDocument],
    answers: Iterable[Sequence[str | None]],
) -> LinkScores:
    n = len(documents)
    total, right, ambiguous_total, ambiguous_right = np.zeros((4, n), np.int64)
    for d, (document, found, entities) in enumerate(zip(documents, linked, answers, strict=True)):
        for mention, link, entity in zip(document.mentions, found.links, entities, strict=True):
            if not mention.in_kb or all(c.entity != mention.gold for c in link.candidates):
                continue
            several, correct = len(link.candidates) > 1, entity == mention.gold
            total[d] += 1
            right[d] += correct
            ambiguous_total[d] += several
            ambiguous_right[d] += several and correct
    ids = tuple(document.id for document in documents)
    return LinkScores(Accuracy(ids, right, total), Accuracy(ids, ambiguous_right, ambiguous_total))


def _joined(some: Sequence[Accuracy]) -> Accuracy:
    return Accuracy(
        tuple(id_ for one in some for id_ in one.documents),
        np.concatenate([one.document_correct for one in some]),
        np.concatenate([one.document_total for one in some]),
    )
