"""The WNED experiment: linkers trained on AIDA-CoNLL, tested on five sets from other domains.

Mentions are given; candidates are looked up by name, as `sgtb train` and `sgtb evaluate` do. Gold
titles that the knowledge base lacks are kept, and count as wrong where all gold counts.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.aida import Watch, unwatched
from experiments.aida_data import Say, silent
from experiments.kb_cache import DUMP
from sgtb.boosting.search.beam import PlanName
from sgtb.core.errors import KnowledgeBaseError, SettingsError
from sgtb.core.progress import Progress
from sgtb.core.records import Document, Mention
from sgtb.evaluation.linkers import Evaluation, EvaluationSettings, evaluate_linkers
from sgtb.evaluation.linkers.scores import SystemScores
from sgtb.evaluation.linkers.systems import baselines_of
from sgtb.evaluation.metrics import normal_title
from sgtb.formats.codecs.aida_conll import read_aida
from sgtb.formats.codecs.wned_corpus import read_wned
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.training.linker_training import (
    LinkerTraining,
    Prepared,
    fit_linker,
    prepare,
    prepare_refit,
)
from sgtb.linking.training.training_data import TrainingData, settings_for
from sgtb.text.word_vectors import WordVectors
from sgtb.wikipedia.build.build_settings import SPLITS
from sgtb.wikipedia.build.link_documents import held_out_of, read_link_documents

AIDA, WITH_LINKS = "AIDA", "AIDA and links"
AIDA_TEST = "AIDA test"
ALL_PAGES = 1_000_000
"""More pages than are held out."""
_INTERVAL_SAMPLES = 40
"""The minimum: the report has no intervals."""


@dataclass(frozen=True)
class Training:
    """Training and dev documents, with gold resolved.

    refit  whether the number of trees that dev chose is then grown on all documents
    """

    name: str
    train: TrainingData
    dev: TrainingData
    refit: bool = False

    @classmethod
    def of(
        cls, kb: KnowledgeBase, name: str, documents: Mapping[str, Sequence[Document]]
    ) -> "Training":
        """Resolve the gold of the splits train and dev."""
        train, dev = (TrainingData.of(kb, documents[split]) for split in ("train", "dev"))
        return cls(name, train, dev)

    def settings(self, plan: PlanName, seed: int) -> LinkerTraining:
        """Return the settings of `sgtb train` for these documents, without NIL as in the paper."""
        base = settings_for(self.train.n_known, len(self.train.documents))
        return replace(
            base, plan=replace(base.plan, name=plan), nil="never", seed=seed,
            training=replace(base.training, seed=seed),
        )  # fmt: skip


@dataclass(frozen=True)
class TrainingRun:
    """Linkers of all plans, trained with one seed, with baselines on all sets.

    n_trees  by plan
    """

    training: Training
    seed: int
    n_trees: Mapping[str, int]
    evaluation: Evaluation[SystemScores]


@dataclass(frozen=True)
class WnedResult:
    """All runs on one knowledge base.

    kb  numbers of its entities, names and links
    """

    kb: Mapping[str, int]
    runs: tuple[TrainingRun, ...]
    seconds: float


def run_wned(
    data: Path,
    kb: KnowledgeBase,
    plans: Sequence[PlanName],
    n_seeds: int,
    progress: Progress | None = None,
    watch: Watch = unwatched,
    say: Say = silent,
    kinds: Collection[str] = (AIDA, WITH_LINKS),
    refit: bool = False,
) -> WnedResult:
    """Train every plan with every seed on each kind of training documents, and test on all sets."""
    if n_seeds < 1:
        raise SettingsError(f"{n_seeds} seeds; it must be at least 1")
    begin = time.perf_counter()
    aida = read_aida_splits(data, kb)
    sets = gold_sets(data, kb, aida["test"])
    runs = [
        run_training(kb, replace(training, refit=refit), sets, plans, seed, progress, watch, say)
        for training in trainings(data, kb, aida, progress)
        if training.name in kinds
        for seed in range(n_seeds)
    ]
    info = kb.info()
    sizes = {key: info[key] for key in ("entities", "names", "links")}
    return WnedResult(sizes, tuple(runs), time.perf_counter() - begin)


def run_training(
    kb: KnowledgeBase,
    training: Training,
    sets: Mapping[str, Sequence[Document]],
    plans: Sequence[PlanName],
    seed: int,
    progress: Progress | None = None,
    watch: Watch = unwatched,
    say: Say = silent,
) -> TrainingRun:
    """Train all plans on the same features, and evaluate them."""
    say(f"{training.name}, seed {seed}: features of {training.train.n_mentions:,} mentions")
    prepared = prepared_for(kb, training, seed)
    wanted = {plan: training.settings(plan, seed) for plan in plans}
    models = _grow_all(prepared, training.name, wanted, watch)
    if training.refit:
        say(f"{training.name}, seed {seed}: features of these and of dev")
        again = prepare_refit(prepared, wanted[plans[0]], words=WordVectors.glove())
        fixed = {plan: wanted[plan].with_trees_of(models[plan]) for plan in plans}
        models = _grow_all(again, f"{training.name} and dev", fixed, watch)
    with ExitStack() as stack:
        linkers = {
            plan: stack.enter_context(
                Linker(model, KnowledgeBase.open(kb.path), LinkerSettings(nil=0.0))
            )
            for plan, model in models.items()
        }
        evaluation = evaluate_linkers(
            linkers, sets, EvaluationSettings(samples=_INTERVAL_SAMPLES),
            baselines=baselines_of(kb), progress=progress,
        )  # fmt: skip
    n_trees = {plan: model.forest.forest.n_trees for plan, model in models.items()}
    return TrainingRun(training, seed, n_trees, evaluation)


def prepared_for(kb: KnowledgeBase, training: Training, seed: int) -> Prepared:
    """Compute the features of training and dev documents, the same for all plans."""
    settings = training.settings("bsg", seed)
    train, dev = training.train.documents, training.dev.documents
    return prepare(kb, train, dev, settings, words=WordVectors.glove())


def _grow_all(
    prepared: Prepared, name: str, settings: Mapping[PlanName, LinkerTraining], watch: Watch
) -> dict[str, LinkerModel]:
    """Train every plan; dev documents, if any, choose the number of trees."""
    models: dict[str, LinkerModel] = {}
    for plan, own in settings.items():
        with watch(f"{name}, {plan}, seed {own.seed}") as callback:
            callbacks = () if callback is None else (callback,)
            models[plan] = fit_linker(prepared, own, callbacks=callbacks)
    return models


def trainings(
    data: Path,
    kb: KnowledgeBase,
    aida: Mapping[str, Sequence[Document]],
    progress: Progress | None = None,
) -> list[Training]:
    """Return AIDA's documents alone and, if the knowledge base held pages out, with their links."""
    found = [Training.of(kb, AIDA, aida)]
    try:
        held_out_of(kb)
    except KnowledgeBaseError:
        return found
    links = read_link_documents([data / DUMP], kb, ALL_PAGES, progress=progress).documents
    both: dict[str, Sequence[Document]] = {
        # Links are not tested here, so their test pages train, too.
        "train": [*aida["train"], *links["train"], *links["test"]],
        "dev": [*aida["dev"], *links["dev"]],
    }
    return [*found, Training.of(kb, WITH_LINKS, both)]


def gold_sets(
    data: Path, kb: KnowledgeBase, aida: Sequence[Document]
) -> dict[str, Sequence[Document]]:
    """Return the five sets and AIDA-test, with gold titles as the knowledge base writes them."""
    corpora = read_wned(data / "wned.tar.xz")
    sets: dict[str, Sequence[Document]] = {
        corpus.name: [*by_title(kb, corpus.documents)] for corpus in corpora
    }
    return {**sets, AIDA_TEST: aida}


def by_title(kb: KnowledgeBase, documents: Iterable[Document]) -> Iterable[Document]:
    """Yield documents whose gold is a title, unless its id is one of the knowledge base.

    AIDA's ids are numbers, and so are some titles: where ids are titles, they are not compared.
    """
    for document in documents:
        yield replace(document, mentions=tuple(_by_title(kb, m) for m in document.mentions))


def _by_title(kb: KnowledgeBase, mention: Mention) -> Mention:
    if not mention.in_kb or mention.gold is None:
        return mention
    number = kb.number(mention.gold)
    if number is not None and kb.title_of(number) != mention.gold:
        return mention
    title = normal_title(mention.title or mention.gold)
    return replace(mention, gold=title, title=title)


def read_aida_splits(data: Path, kb: KnowledgeBase) -> dict[str, list[Document]]:
    """Read AIDA-CoNLL by split, with gold titles as the knowledge base writes them."""
    documents = [*by_title(kb, read_aida(data / "aida"))]
    return {split: [d for d in documents if d.split == split] for split in SPLITS}
