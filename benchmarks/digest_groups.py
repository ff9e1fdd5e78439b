"""Groups of digests: what is digested, corpus by corpus. `benchmarks.digests` runs them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from unittest.mock import patch

from benchmarks.digest import digest_lines, digest_of
from benchmarks.digest_links import Digests, Options, feature_digests, link_digests, model_bytes
from benchmarks.dump_repeated import data_folder
from experiments import starter
from experiments.aida_data import SPLITS, AidaData
from experiments.aida_linker import WAYS, Trial, settings_of
from experiments.folds import headline_folds
from experiments.name_table import NameTable
from experiments.starter_data import read_contrast, read_starter
from sgtb.boosting import PLANS
from sgtb.boosting.search.beam import PlanName
from sgtb.core.records import Document
from sgtb.formats.codecs.wned_corpus import read_wned
from sgtb.kb.build.list_build import build_list
from sgtb.kb.build.pprforned_build import build_pprforned
from sgtb.kb.export import export_lines
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import Linkable
from sgtb.linking.training.calibrator import NilSetting
from sgtb.linking.training.linker_training import LinkerTraining, Prepared, fit_linker, prepare
from sgtb.starter import ENTITIES, KB, MODEL
from sgtb.text.word_vectors import WordVectors
from sgtb.wikipedia.build.dump_build import WikiSettings, build_wiki
from sgtb.wikipedia.dump.chunk_pages import ChunkPages
from sgtb.wikipedia.dump.dump_reader import map_chunks, open_dump
from sgtb.wikipedia.wikitext.markup import extract

TREES = 40
"""Trees of the models trained on AIDA: enough for two checks on dev, few enough for minutes."""
HELD = ("dev", "test")
NILS: tuple[NilSetting, ...] = ("never", "candidate")
BUILT_FROM = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
"""The dump of which a knowledge base is built."""


class Subjects:
    """Data and models of the groups, computed on first use and shared by the groups of a run."""

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self.options, self.say = options, say
        self._prepared: dict[str, Prepared] = {}
        self._models: dict[tuple[str, PlanName, NilSetting], LinkerModel] = {}

    @cached_property
    def aida(self) -> AidaData:
        """AIDA-CoNLL with the candidates of PPRforNED."""
        return AidaData.read(data_folder(), self.say)

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base of PPRforNED."""
        self.say("building the knowledge base of PPRforNED")
        place = self.options.folder / "pprforned"
        build_pprforned(data_folder() / "pprforned" / "pprforned.tar.xz", place)
        return KnowledgeBase.open(place)

    def prepared(self, way: str) -> Prepared:
        """Return the features of AIDA's train and dev, with listed candidates or by name."""
        if way not in self._prepared:
            self.say(f"features of AIDA, candidates {way}")
            self._prepared[way] = prepare(
                self.kb, self.given(way, "train"), self.given(way, "dev"),
                self._settings(way, "bsg", "never"), words=WordVectors.glove(),
                assign_folds=headline_folds,
            )  # fmt: skip
        return self._prepared[way]

    def model(self, way: str, plan: PlanName, nil: NilSetting) -> LinkerModel:
        """Return a linker trained on AIDA."""
        key = way, plan, nil
        if key not in self._models:
            prepared = self.prepared(way)
            self.say(f"training {plan}, candidates {way}, NIL {nil}")
            origin = {"candidates": way}
            self._models[key] = fit_linker(prepared, self._settings(*key), origin=origin)
        return self._models[key]

    def given(self, way: str, split: str) -> list[Document]:
        """Return the documents of a split as input of a linker."""
        return [*map(WAYS[way].given, self.aida.documents(split))]

    def _settings(self, way: str, plan: PlanName, nil: NilSetting) -> LinkerTraining:
        return self.with_options(settings_of(way, Trial(plan, 0, TREES), nil))

    def with_options(self, settings: LinkerTraining) -> LinkerTraining:
        """Return settings with the number of threads and the cache of this run."""
        options = self.options
        training = replace(settings.training, threads=options.threads, incremental=options.cache)
        return replace(settings, training=training)


def dumps(subjects: Subjects) -> Digests:
    """Text, links and bold ranges of every page of every dump."""
    for path in sorted((data_folder() / "dumps").iterdir()):
        subjects.say(path.name)
        dump = open_dump(path)
        pages: list[str] = []
        dropped: list[tuple[int, str, str, int]] = []
        work = partial(_pages, hidden=dump.site.hidden)
        for outcome in map_chunks([dump], work, subjects.options.threads):
            pages += outcome.result
            dropped += [(one.line, one.title, one.reason, one.bytes) for one in outcome.dropped]
        yield f"{path.name}/{len(pages)} pages", digest_of(pages, dropped)


def _pages(chunk: ChunkPages, hidden: frozenset[str]) -> list[str]:
    return [
        digest_of(page.title, page.id, page.redirect, extract(page.text, hidden))
        for page in chunk.pages
    ]


def wiki_kb(subjects: Subjects) -> Digests:
    """A knowledge base built from a dump."""
    place, settings = subjects.options.folder / "wiki", WikiSettings(subjects.options.threads)
    build_wiki([data_folder() / "dumps" / BUILT_FROM], place, settings)
    with KnowledgeBase.open(place) as kb:
        yield "export", digest_lines(export_lines(kb))


def starter_group(subjects: Subjects) -> Digests:
    """The starter: its knowledge base and model, rebuilt, and the answers of the shipped ones."""
    options = subjects.options
    place = options.folder / "starter"
    build_list(ENTITIES, place)
    with KnowledgeBase.open(place) as kb:
        yield "kb", digest_lines(export_lines(kb))
        for plan in starter.PLANS:
            subjects.say(f"training {plan}")
            with patch.object(starter, "SETTINGS", subjects.with_options(starter.SETTINGS)):
                model = starter.train_starter(kb, plan)
            yield f"model, {plan}", digest_of(model_bytes(model, options.folder))
    subjects.say("linking")
    documents = [document for split in read_starter().values() for document in split]
    documents += [document for pair in read_contrast() for document in (pair.one, pair.two)]
    texts = [document.text for document in documents]
    shipped = LinkerModel.load(MODEL)
    with KnowledgeBase.open(KB) as kb:
        for name, given in (("spans", documents), ("text", texts)):
            yield from feature_digests(name, shipped, kb, given)
            yield from link_digests(name, shipped, kb, given, options)


def aida_listed(subjects: Subjects) -> Digests:
    """AIDA with the candidates of PPRforNED: a model for each plan; dev and test."""
    yield from _train_features(subjects, "listed")
    for plan in PLANS:
        yield from _aida(subjects, "listed", plan, "never")


def aida_names(subjects: Subjects) -> Digests:
    """AIDA with candidates looked up by name, and NIL; dev and test."""
    yield from _train_features(subjects, "by name")
    for nil in NILS:
        yield from _aida(subjects, "by name", "bsg", nil)


def _train_features(subjects: Subjects, way: str) -> Digests:
    train = subjects.prepared(way).train
    candidates = train.layout.candidates
    arrays = candidates.candidate_offsets, candidates.entity, candidates.gold, candidates.prior
    yield "train/candidates", digest_of(*arrays)
    yield "train/features", digest_of(train.features)


def _aida(subjects: Subjects, way: str, plan: PlanName, nil: NilSetting) -> Digests:
    name = f"{plan}, NIL {nil}" if way == "by name" else plan
    model = subjects.model(way, plan, nil)
    yield f"{name}/model", digest_of(model_bytes(model, subjects.options.folder))
    for split in HELD:
        subjects.say(f"linking {split}, {name}")
        documents = subjects.given(way, split)
        if plan in ("local", "bsg"):  # the features of the other plans are those of bsg
            yield from feature_digests(f"{name}/{split}", model, subjects.kb, documents)
        yield from link_digests(f"{name}/{split}", model, subjects.kb, documents, subjects.options)


def text(subjects: Subjects) -> Digests:
    """The texts of AIDA's dev and test, without spans."""
    model = subjects.model("by name", "bsg", "candidate")
    for split in HELD:
        texts = [document.text for document in subjects.aida.documents(split)]
        yield from _all(split, subjects, model, texts)


def wned(subjects: Subjects) -> Digests:
    """The five sets of WNED, with listed candidates and by name."""
    models = {
        "listed": subjects.model("listed", "bsg", "never"),
        "by name": subjects.model("by name", "bsg", "candidate"),
    }
    aida = subjects.aida
    names = NameTable.build((d for s in SPLITS for d in aida.documents(s)), aida.entities)
    for corpus in read_wned(data_folder() / "wned.tar.xz"):
        for way, model in models.items():
            subjects.say(f"linking {corpus.name}, candidates {way}")
            documents = [WAYS[way].given(names.listed(d)) for d in corpus.documents]
            yield from _all(f"{corpus.name}, {way}", subjects, model, documents)


def _all(
    name: str, subjects: Subjects, model: LinkerModel, documents: Sequence[Linkable]
) -> Digests:
    yield from feature_digests(name, model, subjects.kb, documents)
    yield from link_digests(name, model, subjects.kb, documents, subjects.options)


GROUPS: Mapping[str, Callable[[Subjects], Digests]] = {
    "dumps": dumps,
    "wiki-kb": wiki_kb,
    "starter": starter_group,
    "aida-listed": aida_listed,
    "aida-names": aida_names,
    "text": text,
    "wned": wned,
}


def run(names: Collection[str], subjects: Subjects) -> Digests:
    """Run groups; their names begin the names of their digests."""
    for group in names:
        for name, digest in GROUPS[group](subjects):
            yield f"{group}/{name}", digest
