"""Links of a dump as training data: linkers beside baselines, on pages held out.

Some pages of a dump are held out of its knowledge base. A linker learns from the links of some of
these, and is asked about the links of others. Baselines get the same candidates and learn nothing.
Other turns hold out other pages, so that in the end every page has been asked about once.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sgtb.errors import SettingsError
from sgtb.evaluation import Accuracy, interval, paired_bootstrap
from sgtb.judging.choosers import Baseline, decided
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.learn.plan import PlanName
from sgtb.linking.linker import Linker, LinkerSettings
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import LinkedDocument
from sgtb.linking.training import fit_linker, prepare
from sgtb.linking.training_data import TrainingData, settings_for
from sgtb.records import Document
from sgtb.reproduce.aida import Watch, unwatched
from sgtb.stages import Progress, silent
from sgtb.wiki_kb.build import build_wiki
from sgtb.wiki_kb.hold_out import SPLITS, HoldOut
from sgtb.wiki_kb.link_documents import MOST_PAGES, read_link_documents
from sgtb.wiki_kb.settings import WikiSettings

BASELINES = ("prior", "in-links")
PLANS: tuple[PlanName, ...] = ("local", "bsg")
SHARE = 0.4
RED_LINKS = 1
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


@dataclass(frozen=True)
class LinksResult:
    """All turns together.

    held_out  pages held out in a turn, by what for; of the first turn
    """

    settings: Mapping[str, Any]
    held_out: Mapping[str, int]
    test: LinkTest
    seconds: float


def run_links(
    dumps: Sequence[Path],
    *,
    plans: Sequence[PlanName] = PLANS,
    turns: int | None = None,
    share: float = SHARE,
    red_links: int = RED_LINKS,
    most: int = MOST_PAGES,
    progress: Progress | None = None,
    watch: Watch = unwatched,
) -> LinksResult:
    """Build, train and test once for each turn.

    turns  None: until every page has been tested with
    """
    begin = time.perf_counter()
    step = share * SPLITS["test"]
    whole = int(1 / step + 1e-9) if step else 0
    turns = whole if turns is None else turns
    if not 1 <= turns <= whole:
        raise SettingsError(
            f"{turns} turns; where {share:.0%} of the pages are held out there are 1 to {whole}"
        )
    tests: list[LinkTest] = []
    held_out: dict[str, int] = {}
    for turn in range(turns):
        settings = WikiSettings(red_links=red_links, hold_out=HoldOut(share, turn * step))
        with TemporaryDirectory() as folder:
            build_wiki(dumps, Path(folder) / "kb", settings, progress)
            with KnowledgeBase.open(Path(folder) / "kb") as kb:
                read = read_link_documents(dumps, kb, most, progress=progress)
                held_out = held_out or dict(read.held_out.items())
                train, dev = (
                    TrainingData.of(kb, read.documents[split]) for split in ("train", "dev")
                )
                models = train_plans(kb, train, dev, plans, progress, watch)
                tests.append(ask_links(kb, models, read.documents["test"]))
    return LinksResult(
        {"hold_out": share, "turns": turns, "red_links": red_links},
        {split: held_out[split] for split in ("train", "dev", "test")},
        LinkTest.joined(tests),
        time.perf_counter() - begin,
    )


def train_plans(
    kb: KnowledgeBase,
    train: TrainingData,
    dev: TrainingData,
    plans: Sequence[PlanName],
    progress: Progress | None = None,
    watch: Watch = unwatched,
) -> dict[str, LinkerModel]:
    """Train some plans on the same features."""
    # Who is asked about known entities only need not learn to tell when there is none.
    settings = replace(settings_for(train.n_known, len(train.documents)), nil="never")
    prepared = prepare(kb, train.documents, dev.documents, settings, say=progress or silent)
    models: dict[str, LinkerModel] = {}
    for plan in plans:
        own = replace(settings, plan=replace(settings.plan, name=plan))
        with watch(plan) as callback:
            callbacks = () if callback is None else (callback,)
            models[plan] = fit_linker(prepared, own, callbacks=callbacks)
    return models


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


def as_json(result: LinksResult) -> dict[str, Any]:
    """Return all figures, shares in percent."""
    return {
        **result.settings,
        "held_out": dict(result.held_out),
        **figures_of(result.test),
        "seconds": round(result.seconds, 1),
    }


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
