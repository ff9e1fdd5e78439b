"""Links of a dump as training data: linkers and baselines on held-out pages.

Some pages of a dump are held out of its knowledge base. A linker is trained on the links of some of
them and tested on the links of others. Baselines get the same candidates. Each turn is a fold with
other held-out pages; all turns together test every page once.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from experiments.aida import Watch, unwatched
from sgtb.boosting.search.beam import PlanName
from sgtb.core.errors import SettingsError
from sgtb.core.progress import Progress, silent
from sgtb.evaluation import Accuracy
from sgtb.evaluation.linkers.link_scores import LinkScores, LinkTest, figures_of, score_links
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.training.linker_training import fit_linker, prepare
from sgtb.linking.training.training_data import TrainingData, settings_for
from sgtb.wikipedia.build.build_settings import SPLITS, HoldOut, WikiSettings
from sgtb.wikipedia.build.dump_build import build_wiki
from sgtb.wikipedia.build.link_documents import MAX_PAGES, read_link_documents

PLANS: tuple[PlanName, ...] = ("local", "bsg")
SHARE = 0.4
RED_LINKS = 1


@dataclass(frozen=True)
class LinksResult:
    """All turns together.

    held_out  pages held out in the first turn, by purpose
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
    most: int = MAX_PAGES,
    progress: Progress | None = None,
    watch: Watch = unwatched,
) -> LinksResult:
    """Build, train and test once for each turn.

    turns  None: until every page was tested
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
                tests.append(score_links(kb, models, read.documents["test"]))
    return LinksResult(
        {"hold_out": share, "turns": turns, "red_links": red_links},
        {split: held_out[split] for split in ("train", "dev", "test")},
        joined_tests(tests),
        time.perf_counter() - begin,
    )


def joined_tests(tests: Sequence[LinkTest]) -> LinkTest:
    """Return several tests of different pages as one."""
    systems = {
        name: LinkScores(
            _joined([test.systems[name].recalled for test in tests]),
            _joined([test.systems[name].ambiguous for test in tests]),
        )
        for name in tests[0].systems
    }
    return LinkTest(
        documents=sum(test.documents for test in tests),
        mentions=sum(test.mentions for test in tests),
        known=sum(test.known for test in tests),
        systems=systems,
    )


def _joined(some: Sequence[Accuracy]) -> Accuracy:
    return Accuracy(
        tuple(id_ for one in some for id_ in one.documents),
        np.concatenate([one.document_correct for one in some]),
        np.concatenate([one.document_total for one in some]),
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
    # Only mentions of known entities are tested: no NIL rule is needed.
    settings = replace(settings_for(train.n_known, len(train.documents)), nil="never")
    prepared = prepare(kb, train.documents, dev.documents, settings, progress=progress or silent)
    models: dict[str, LinkerModel] = {}
    for plan in plans:
        own = replace(settings, plan=replace(settings.plan, name=plan))
        with watch(plan) as callback:
            callbacks = () if callback is None else (callback,)
            models[plan] = fit_linker(prepared, own, callbacks=callbacks)
    return models


def as_json(result: LinksResult) -> dict[str, Any]:
    """Return all figures, shares in percent."""
    return {
        **result.settings,
        "held_out": dict(result.held_out),
        **figures_of(result.test),
        "seconds": round(result.seconds, 1),
    }
