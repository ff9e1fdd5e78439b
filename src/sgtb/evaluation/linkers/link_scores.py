"""Scores on the links of held-out pages: linkers beside baselines, where they have to choose."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgtb.core.records import Document
from sgtb.evaluation import Accuracy, interval, paired_bootstrap
from sgtb.evaluation.linkers.systems import Baseline, decided
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import LinkedDocument

BASELINES = ("prior", "in-links")
_SAMPLES = 10_000


@dataclass(frozen=True)
class LinkScores:
    """What a system gets right, by document.

    recalled   of the mentions that have their gold among their candidates
    ambiguous  of those with two candidates or more
    """

    recalled: Accuracy
    ambiguous: Accuracy


@dataclass(frozen=True)
class LinkTest:
    """What systems make of the links of held-out pages.

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


def ask_links(
    kb: KnowledgeBase, models: Mapping[str, LinkerModel], documents: Sequence[Document]
) -> LinkTest:
    """Ask baselines and linkers, which always have to choose where there are candidates."""
    systems: dict[str, LinkScores] = {}
    for name, model in models.items():
        linker = Linker(model, kb, LinkerSettings(candidates=model.candidates.top, nil=0.0))
        linked = list(linker.pipe(documents))
        if not systems:
            systems |= {
                baseline: _scores(documents, linked, map(Baseline(kb, baseline), linked))
                for baseline in BASELINES
            }
        systems[name] = _scores(documents, linked, map(decided, linked))
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
    rows = []
    for document, found, entities in zip(documents, linked, answers, strict=True):
        row = [0, 0, 0, 0]
        for mention, link, entity in zip(document.mentions, found.links, entities, strict=True):
            if not mention.in_kb or all(c.entity != mention.gold for c in link.candidates):
                continue
            several, right = len(link.candidates) > 1, entity == mention.gold
            row = [row[0] + right, row[1] + 1, row[2] + (right and several), row[3] + several]
        rows.append(row)
    table = np.array(rows, np.int64).reshape(-1, 4)
    ids = tuple(document.id for document in documents)
    return LinkScores(Accuracy(ids, *table[:, :2].T), Accuracy(ids, *table[:, 2:].T))


def _joined(some: Sequence[Accuracy]) -> Accuracy:
    return Accuracy(
        tuple(id_ for one in some for id_ in one.documents),
        np.concatenate([one.document_correct for one in some]),
        np.concatenate([one.document_total for one in some]),
    )
