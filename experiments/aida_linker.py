"""The linker on AIDA-CoNLL, compared with the path of the experiment `aida`.

`python -m experiments aida` packs features of tables in memory. A linker reads a knowledge base and
a model file. Both should give the same decisions. A second run looks up candidates by name in the
knowledge base instead of using the lists of the documents.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from experiments import aida, aida_data
from experiments.aida import Watch, unwatched
from experiments.aida_data import AidaData, Packer, Say, silent
from experiments.entity_tables import TOP, listed_candidates
from experiments.folds import headline_folds
from experiments.linker_cache import LinkerCache
from experiments.name_table import NameTable
from sgtb.boosting.search.beam import PlanName
from sgtb.core.records import Document
from sgtb.evaluation import Accuracy, Recall, SystemAnswers, candidate_recall, in_kb_accuracy
from sgtb.evaluation.metrics import share
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.candidates.candidate_lookup import CandidateSettings
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.training.calibrator import NilSetting
from sgtb.linking.training.linker_training import LinkerTraining, train_linker
from sgtb.text.word_vectors import WordVectors

TESTED = ("dev", "test")

KNOWS = (
    "The knowledge base was built from PPRforNED, so it was made for these documents, test "
    "included: an entity has its title and every name under which a document of AIDA lists it as "
    "a candidate. Names carry no counts and no gold, but nearly every name of test is in it."
)
"""Must accompany the figures of candidates looked up by name."""


def with_lists(document: Document) -> Document:
    """Return a document whose linked mentions have the candidates that PPRforNED lists for them.

    The others have no candidates.
    """
    return replace(
        document,
        mentions=tuple(
            mention if mention.in_kb else replace(mention, candidates=())
            for mention in document.mentions
        ),
    )


def without_lists(document: Document) -> Document:
    """Return a document whose mentions are all looked up by name."""
    return replace(document, mentions=tuple(replace(m, candidates=None) for m in document.mentions))


class Way(NamedTuple):
    """How mentions get their candidates: preparation of documents, and the maximum number."""

    given: Callable[[Document], Document]
    top: int


WAYS: Mapping[str, Way] = {"listed": Way(with_lists, TOP), "by name": Way(without_lists, 100)}
"""From the lists of their document, or looked up. PPRforNED does not say how often a name means an
entity, so candidates cannot be cut to the likeliest 30: looked up, a mention has all of them."""


class Trial(NamedTuple):
    """What is trained; without a number of trees, as many as `python -m experiments aida` grows."""

    plan: PlanName
    seed: int
    n_trees: int | None = None


@dataclass(frozen=True)
class Tested:
    """The answers of a linker on a split, with accuracy and candidate recall."""

    answers: SystemAnswers
    accuracy: Accuracy
    recall: Recall
    seconds: float

    @property
    def on_recalled(self) -> float:
        """Accuracy on the mentions whose gold is among their candidates."""
        return share(self.accuracy.correct, self.recall.found)


@dataclass(frozen=True)
class LinkerRun:
    """A linker trained on AIDA-train with one way to get candidates, tested on dev and test."""

    n_trees: int
    tested: Mapping[str, Tested]


class Reproduced(NamedTuple):
    """The same plan and seed through the experiment `aida`: accuracy, and answers on test."""

    n_trees: int
    accuracy: Mapping[str, Accuracy]
    test: SystemAnswers


@dataclass(frozen=True)
class LinkerResult:
    """Linkers by the source of their candidates, and the run of the experiment `aida`.

    known_before  recall on test if names came from titles, train and dev alone
    """

    trial: Trial
    kb: Mapping[str, Any]
    runs: Mapping[str, LinkerRun]
    reproduced: Reproduced
    differing: int
    known_before: Recall
    seconds: float


def settings_of(way: str, trial: Trial, nil: NilSetting = "never") -> LinkerTraining:
    """Return the settings of the AIDA experiment for a linker.

    The paper's systems always link, and so do these, unless another NIL rule is given.
    """
    chosen = aida.estimator(*trial).get_params(deep=False)
    return LinkerTraining(
        chosen["plan"], chosen["trees"], chosen["training"], CandidateSettings(WAYS[way].top),
        folds=aida_data.FOLDS, seed=trial.seed, nil=nil,
    )  # fmt: skip


def kept_model(
    data: AidaData,
    cache: LinkerCache,
    kb: KnowledgeBase,
    way: str,
    trial: Trial,
    watch: Watch = unwatched,
    nil: NilSetting = "never",
) -> LinkerModel:
    """Return a cached model, or train it."""
    settings = settings_of(way, trial, nil)
    train = partial(_train, data, kb, way, settings, watch)
    return cache.model(f"candidates {way}", data, kb, settings, train)


def _train(
    data: AidaData, kb: KnowledgeBase, way: str, settings: LinkerTraining, watch: Watch
) -> LinkerModel:
    """Train on AIDA-train; dev chooses the number of trees."""
    train, dev = ([*map(WAYS[way].given, data.documents(split))] for split in ("train", "dev"))
    with watch(f"linker, candidates {way}") as callback:
        return train_linker(
            kb, train, dev, settings, words=WordVectors.glove(),
            assign_folds=partial(headline_folds, seed=settings.seed),
            callbacks=[] if callback is None else [callback],
            origin={"corpus": "AIDA-CoNLL, train", "candidates": way, "seed": settings.seed},
        )  # fmt: skip


def run_linker(
    data: AidaData,
    packer: Packer,
    cache: LinkerCache,
    kb: KnowledgeBase,
    trial: Trial,
    watch: Watch = unwatched,
    say: Say = silent,
) -> LinkerResult:
    """Train linkers, link dev and test, and run the experiment `aida` with the same plan."""
    begin = time.perf_counter()
    runs = {}
    for way in WAYS:
        model = kept_model(data, cache, kb, way, trial, watch)
        say(f"linking dev and test, candidates {way}")
        runs[way] = _run(data, kb, way, model)
    reproduced = _reproduced(data, packer, trial, watch)
    return LinkerResult(
        trial, kb.info(), runs, reproduced,
        _differing(data, runs["listed"].tested["test"].answers, reproduced.test),
        _known_before(data), time.perf_counter() - begin,
    )  # fmt: skip


def _run(data: AidaData, kb: KnowledgeBase, way: str, model: LinkerModel) -> LinkerRun:
    # All candidates are returned: recall is computed from them.
    linker = Linker(model, kb, LinkerSettings(candidates=WAYS[way].top))
    tested = {split: _tested(linker, data.documents(split), WAYS[way].given) for split in TESTED}
    return LinkerRun(model.forest.forest.n_trees, tested)


def _tested(
    linker: Linker, documents: tuple[Document, ...], given: Callable[[Document], Document]
) -> Tested:
    begin = time.perf_counter()
    linked = list(linker.pipe(map(given, documents)))
    seconds = time.perf_counter() - begin
    answers = SystemAnswers.of(documents, [[link.entity for link in one.links] for one in linked])
    candidates = [[[c.entity for c in link.candidates] for link in one.links] for one in linked]
    return Tested(
        answers, in_kb_accuracy(documents, answers), candidate_recall(documents, candidates),
        seconds,
    )  # fmt: skip


def _reproduced(data: AidaData, packer: Packer, trial: Trial, watch: Watch) -> Reproduced:
    plan, seed, _ = trial
    packed = packer.pack(seed)
    problems = {s: packed.problems(s, aida.left_out(plan)) for s in aida_data.SPLITS}
    system = aida.estimator(*trial)
    with watch(f"python -m experiments aida, {plan}, seed {seed}") as callback:
        system.fit(
            problems["train"], problems["dev"], callbacks=[] if callback is None else [callback]
        )
    answers = {split: data.answers(split, system.predict(problems[split])) for split in TESTED}
    accuracy = {split: in_kb_accuracy(data.documents(split), answers[split]) for split in TESTED}
    return Reproduced(system.model.forest.n_trees, accuracy, answers["test"])


def _differing(data: AidaData, some: SystemAnswers, others: SystemAnswers) -> int:
    """Count the linked mentions of test with different answers."""
    documents = data.documents("test")
    return sum(
        mention.in_kb and one != other
        for document, ones, rest in zip(documents, some.entities, others.entities, strict=True)
        for mention, one, other in zip(document.mentions, ones, rest, strict=True)
    )


def _known_before(data: AidaData) -> Recall:
    """Return the recall on test with names from titles, train and dev only."""
    seen = (document for split in ("train", "dev") for document in data.documents(split))
    names = NameTable.build(seen, data.entities)
    candidates = listed_candidates([*map(names.listed, data.documents("test"))], data.entities)
    return Recall(int((candidates.gold >= 0).sum()), len(candidates.mentions))
