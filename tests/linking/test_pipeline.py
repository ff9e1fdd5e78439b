"""The workbench: what a model learns from and what it is asked about are the same arrays.

Every test runs on a small invented world, and on a sample of the real corpus where it is present.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from experiments.entity_tables import listed_candidates, table_facts
from sgtb.boosting import (
    Problems,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
    TreeSettings,
)
from sgtb.boosting.data.pairs import TablePairs
from sgtb.core.records import Document, Mention
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.update import add
from sgtb.linking.candidates.candidate_lookup import CandidateFinder
from sgtb.linking.entities.background import Background, Lexicon
from sgtb.linking.entities.entity_source import NAME_PRIORS, WORD_VECTORS, KbSource
from sgtb.linking.features.feature_matrix import Featurizer, Table
from sgtb.linking.features.schema import SCHEMA, Schema
from sgtb.linking.linker import Linker
from sgtb.linking.mentions.chunks import chunk_from_document
from sgtb.linking.pipeline import Pipeline
from sgtb.linking.problem_packing import Layout, pack, pair_table
from sgtb.linking.training.linker_training import LinkerTraining, fit_linker, prepare
from tests.helpers.kb_worlds import write_lines
from tests.helpers.linking_builders import (
    PLACES,
    Setting,
    arrays_of,
    assert_same_arrays,
    both_ways,
    document,
    kb_of,
    looked_up,
    narrow_topics,
    relabelled,
    restricted,
    small_setting,
    with_mentions,
)
from tests.helpers.naive_pairs import dense_pairs


def without_candidates(text: Document) -> Document:
    return with_mentions(text, lambda mention: replace(mention, candidates=None))


def blind(text: Document) -> Document:
    """The document as a linker sees it: without gold, types and titles."""
    return chunk_from_document(text).document


@dataclass(frozen=True, repr=False)
class Bench:
    """A workbench, documents with gold, and models trained on some of them."""

    setting: Setting
    pipeline: Pipeline
    train: tuple[Document, ...]
    dev: tuple[Document, ...]
    featurizer: Featurizer

    def packed(self, texts: Sequence[Document]) -> tuple[Layout, Problems]:
        layout = self.pipeline.lay_out(texts)
        features = self.featurizer.features(self.pipeline.table(layout))
        return layout, self.pipeline.pack(layout, features)


def pipeline_of(setting: Setting, kb: KnowledgeBase, by_name: bool) -> Bench:
    train, dev = (
        tuple(map(without_candidates, texts)) if by_name else texts
        for texts in (setting.train, setting.dev)
    )
    source = KbSource(kb)
    evidence = source.evidence | {WORD_VECTORS}
    background = Background.build(source, train, setting.words, topic_width=16)
    schema = Schema.of(evidence if by_name else evidence - {NAME_PRIORS})
    pipeline = Pipeline(kb, background, schema, CandidateFinder(kb))
    table = pipeline.table(pipeline.lay_out(train))
    folds = np.arange(len(train), dtype=np.int32) % 3
    return Bench(setting, pipeline, train, dev, Featurizer.fit(table, folds, 0, bits=12)[0])


def small_kb(folder, setting):
    names = [[place] for place in PLACES for _ in range(len(setting.entities) // len(PLACES))]
    vectors = np.random.default_rng(3).standard_normal((len(setting.entities), 4)).tolist()
    return kb_of(folder, setting.entities, aliases=names, vector=vectors)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Documents bring their candidates along."""
    setting = small_setting()
    with KnowledgeBase.open(small_kb(tmp_path_factory.mktemp("kb"), setting)) as kb:
        yield pipeline_of(setting, kb, False)


@pytest.fixture(scope="module")
def by_name(given):
    """Candidates are looked up in the knowledge base."""
    return pipeline_of(given.setting, given.pipeline.kb, True)


@pytest.fixture(params=["given", "by_name"])
def small(request):
    return request.getfixturevalue(request.param)


def few_of(setting: Setting, n: int = 8) -> Setting:
    """Some documents of each split, and the entities they bring along."""
    few = {split: texts[:n] for split, texts in setting.documents.items()}
    every = [m for texts in few.values() for text in texts for m in text.mentions]
    ids = {id_ for mention in every for id_ in mention.candidates or ()}
    known = ids.intersection(setting.entities.ids)

    def change(mention: Mention) -> Mention:
        listed = mention.candidates
        return replace(mention, candidates=listed and tuple(c for c in listed if c in known))

    texts = {split: tuple(with_mentions(t, change) for t in own) for split, own in few.items()}
    return replace(setting, documents=texts, entities=restricted(setting.entities, known))


@pytest.fixture(scope="module")
def real(sample, tmp_path_factory):
    setting = few_of(sample)
    with KnowledgeBase.open(kb_of(tmp_path_factory.mktemp("kb"), setting.entities)) as kb:
        yield pipeline_of(setting, kb, False)


@pytest.fixture(params=["given", "by_name", "real"])
def worked(request):
    return request.getfixturevalue(request.param)


def pairs_of(problems: Problems, d: int) -> list[list[float]]:
    """The pair features of the first entities of a document."""
    first, last = problems.entity_offsets[d : d + 2]
    rows = problems.pairs.row[first:last].tolist()[:12]
    return [looked_up(problems.pairs.table, a, b) for a, b in itertools.product(rows, rows)]


def pair_block(problems: Problems, d: int) -> np.ndarray:
    """All pair features of a document: entities × entities × features."""
    pairs, offsets = problems.pairs, problems.entity_offsets
    if isinstance(pairs, TablePairs):
        pairs = dense_pairs(pairs, offsets)
    sizes = np.diff(offsets)
    ends = np.cumsum([0, *(sizes**2 * pairs.n_features)])
    return pairs.block[ends[d] : ends[d + 1]].reshape(sizes[d], sizes[d], pairs.n_features)


def assert_same_problems(a: Problems, b: Problems) -> None:
    """The same documents, whoever else is in the tables in which pairs are looked up."""
    flat = [{k: v for k, v in arrays_of(one).items() if "." not in k} for one in (a, b)]
    assert flat[0].keys() == flat[1].keys() >= {"local", "entity", "gold"}
    for name, array in flat[0].items():
        assert array.tobytes() == flat[1][name].tobytes(), name
    for d in range(a.n_documents):
        assert pairs_of(a, d) == pairs_of(b, d)


def assert_no_gold(problems: Problems) -> None:
    assert (problems.gold == -1).all()


def test_a_document_is_the_same_with_gold_and_without(worked):
    layout, problems = worked.packed(worked.dev)
    seen, asked = worked.packed([blind(text) for text in worked.dev])
    assert (problems.gold >= 0).mean() > 0.5
    assert_no_gold(asked)
    assert_same_problems(replace(problems, gold=asked.gold), asked)
    assert layout.found == seen.found
    assert_same_arrays(layout.facts, seen.facts)


def test_a_document_is_the_same_with_other_labels(worked):
    problems = worked.packed(worked.dev)[1]
    other = worked.packed([relabelled(text) for text in worked.dev])[1]
    assert_same_problems(problems, replace(other, gold=problems.gold))


def test_a_document_is_the_same_alone_and_with_others(worked):
    """Also after others, whose facts are remembered."""
    texts = (*worked.dev, *worked.train[:4])
    together = worked.packed(texts)[1]
    alone = [worked.packed([text])[1] for text in texts]
    for d, problems in enumerate(alone):
        assert pairs_of(problems, 0) == pairs_of(together, d)
    for name in ("local", "gold", "entity"):
        joined = np.concatenate([getattr(problems, name) for problems in alone])
        assert joined.tobytes() == getattr(together, name).tobytes(), name
    backwards = worked.packed(texts[::-1])[1]
    at = backwards.candidate_offsets[backwards.mention_offsets]
    chunks = [backwards.local[a:b] for a, b in itertools.pairwise(at)][::-1]
    assert np.concatenate(chunks).tobytes() == together.local.tobytes()


def test_a_document_is_the_same_in_a_fresh_workbench(worked):
    """Nothing hangs on what was asked before."""
    pipeline = worked.pipeline
    fresh = Pipeline(
        pipeline.kb, pipeline.background, pipeline.schema, CandidateFinder(pipeline.kb)
    )
    other = replace(worked, pipeline=fresh)
    for text in worked.dev[::-1]:
        assert_same_problems(worked.packed([text])[1], other.packed([text])[1])
    pipeline.forget()
    assert_same_problems(worked.packed(worked.dev)[1], other.packed(worked.dev)[1])


def test_features_that_need_no_training_are_the_same_in_training(worked):
    layout = worked.pipeline.lay_out(worked.train)
    table = worked.pipeline.table(layout)
    folds = np.arange(len(worked.train), dtype=np.int32) % 3
    fitted = Featurizer.fit(table, folds, 0, bits=12)[1]
    later = worked.packed([blind(text) for text in worked.train])[1].local
    packed = np.array(worked.pipeline.schema.columns_without(()))
    fitted, fixed = fitted[:, packed], packed < len(worked.pipeline.schema.fixed)
    assert fitted[:, fixed].tobytes() == later[:, fixed].tobytes()
    assert (fitted[:, ~fixed] != later[:, ~fixed]).any(), "those of training are cross-fitted"


def test_layouts_know_what_was_asked_and_what_was_found(small):
    pipeline = small.pipeline
    texts = [
        document("1", "[Nobody] saw [Orlan|e100] and [Orlan|||]"),
        document("2"),
        document("3", "[Vessa|NIL] and [Tarn|e555] and [Meck||PER|e130,e131]"),
    ]
    layout = pipeline.lay_out(texts)
    candidates = layout.candidates
    assert layout.found == ("nothing", "exact", "given", "exact", "exact", "given")
    assert [m.text for m in candidates.mentions] == ["Orlan", "Vessa", "Tarn", "Meck"]
    assert candidates.mention_offsets.tolist() == [0, 1, 1, 4]
    assert np.diff(candidates.candidate_offsets).tolist() == [6, 6, 6, 2]
    assert candidates.gold[1:].tolist() == [-1, -1, -1]
    numbers = layout.facts.number[candidates.entity]
    assert pipeline.kb.id_of(int(numbers[candidates.gold[0]])) == "e100"
    assert np.isnan(candidates.prior[-2:]).all()
    assert candidates.prior[:-2].reshape(3, 6).sum(axis=1) == pytest.approx(1)
    assert (np.diff(layout.facts.number) > 0).all()
    types = candidates.entity.dtype, candidates.mention_offsets.dtype, candidates.prior.dtype
    assert types == (np.int32, np.int32, np.float32)


@pytest.mark.parametrize("texts", [[], [document("1")], [document("1", "[Nobody] and [Nothing]")]])
def test_nothing_to_decide(small, texts):
    layout, problems = small.packed(texts)
    assert (problems.n_documents, problems.n_mentions) == (len(texts), 0)
    assert len(layout.facts) == 0
    assert problems.n_local == len(small.pipeline.schema.columns_without(()))
    assert problems.n_pair == len(small.pipeline.schema.pairs)


def test_groups_can_be_left_out(small):
    layout = small.pipeline.lay_out(small.dev)
    features = small.featurizer.features(small.pipeline.table(layout))
    less = small.pipeline.pack(layout, features, ["name", "coherence"])
    kept = small.pipeline.schema.columns_without(["name", "coherence"])
    np.testing.assert_array_equal(less.local, features[:, kept])


def test_the_table_has_what_the_schema_says(small):
    schema = small.pipeline.schema
    assert ("name_prior" in schema.names) == (small.dev[0].mentions[0].candidates is None)
    assert "entity_vector" in schema.pairs
    layout, problems = small.packed(small.dev)
    packed = [schema.names[column] for column in schema.columns_without(())]
    assert problems.n_local == len(packed)
    if "name_prior" in packed:
        column = problems.local[:, packed.index("name_prior")]
        assert column.tobytes() == layout.candidates.prior.tobytes()


def test_what_is_new_is_seen_after_forgetting(tmp_path):
    setting = small_setting()
    place = small_kb(tmp_path, setting)
    with KnowledgeBase.open(place) as kb:
        worked = pipeline_of(setting, kb, True)
        text = document("1", "[Orlan] and [Zembla]")
        assert worked.pipeline.lay_out([text]).found == ("exact", "nothing")
        new = [{"id": "new", "name": "Zembla", "aliases": ["Orlan"], "links": ["e100"]}]
        add(place, EntityList(write_lines(tmp_path / "new.jsonl", new)))
        assert kb.refresh()
        worked.pipeline.forget()
        layout, problems = worked.packed([text])
        assert layout.found == ("exact", "exact")
        assert np.diff(problems.candidate_offsets).tolist() == [7, 1]
        assert kb.id_of(int(layout.facts.number[-1])) == "new"


# A table in memory and a knowledge base on disk.


def fed_by_table(setting: Setting, texts: Sequence[Document]):
    """Features without a knowledge base, by the path of the AIDA experiment."""
    candidates = listed_candidates(texts, setting.entities)
    return Table.build(candidates, setting.facts, setting.lexicon)


def assert_fed_alike(setting: Setting, kb: KnowledgeBase) -> None:
    background = Background.build(KbSource(kb), setting.train, setting.words)
    pipeline = Pipeline(kb, background, SCHEMA, CandidateFinder(kb))
    here, there = (
        [fed_by_table(setting, texts), pipeline.table(pipeline.lay_out(texts))]
        for texts in (setting.train, setting.dev)
    )
    for own, other in (here, there):
        assert own.fixed.tobytes() == other.fixed.tobytes()
        assert_same_arrays(own.crosses, other.crosses)
        assert own.candidates.gold.tobytes() == other.candidates.gold.tobytes()
    folds = np.arange(len(setting.train), dtype=np.int32) % 3
    fitted = [Featurizer.fit(table, folds, 0, bits=12) for table in here]
    assert fitted[0][1].tobytes() == fitted[1][1].tobytes()
    features = [models.features(table) for (models, _), table in zip(fitted, there, strict=True)]
    assert_same_problems(
        pack(there[0].candidates, features[0], pair_table(setting.facts)),
        pipeline.pack(pipeline.lay_out(setting.dev), features[1]),
    )


def asked_only(text: Document) -> Document:
    """Leave out what only one of both paths asks: annotated as NIL, or without candidates."""
    kept = tuple(mention for mention in text.mentions if mention.in_kb and mention.candidates)
    return replace(text, mentions=kept)


def with_links_both_ways(setting: Setting) -> Setting:
    """A few of the documents, and all that is counted in them."""
    few = few_of(setting, 12)
    entities = both_ways(few.entities)
    texts = {split: tuple(map(asked_only, own)) for split, own in few.documents.items()}
    lexicon = Lexicon.build(texts["train"], entities.titles, setting.words)
    facts = table_facts(entities, lexicon)
    return Setting(texts, entities, setting.words, lexicon, facts)


def test_a_knowledge_base_gives_the_features_of_a_table(tmp_path):
    setting = with_links_both_ways(small_setting())
    with KnowledgeBase.open(kb_of(tmp_path, setting.entities)) as kb:
        assert_fed_alike(setting, kb)


def test_a_knowledge_base_gives_the_features_of_a_table_on_real_documents(
    sample, tmp_path, monkeypatch
):
    narrow_topics(monkeypatch, 16)
    setting = with_links_both_ways(sample)
    with KnowledgeBase.open(kb_of(tmp_path, setting.entities)) as kb:
        assert_fed_alike(setting, kb)


# The real thing: what training hands to the learner, and what a loaded linker does.

QUICK = LinkerTraining(
    SearchPlan("bsg", 2), TreeSettings(min_leaf=5), TrainingSettings(4, 2), folds=3, bits=10,
    topic_width=8, nil="never",
)  # fmt: skip


def test_a_linker_asks_what_training_would_have_packed(worked, tmp_path):
    """The dev problems of training, and those of a linker that was saved and loaded."""
    packed = []
    fit = StructuredGradientBoosting.fit

    def spy(self, train, dev=None, **options):
        packed.append((train, dev))
        return fit(self, train, dev, **options)

    kb = worked.pipeline.kb
    prepared = prepare(kb, worked.train, worked.dev, QUICK, words=worked.setting.words)
    fit_linker(prepared, QUICK, fit=spy).save(tmp_path / "model")
    (_, dev), (_, nothing) = packed  # the second forest is that of the confidence
    assert nothing is None
    linker = Linker(tmp_path / "model", kb)
    chunks = [linker.to_chunk(text) for text in worked.dev]
    layout, short, asked = linker.pipeline.pack(chunks)
    assert (dev.gold >= 0).any()
    assert_no_gold(asked)
    assert layout.candidates.n_candidates == dev.n_candidates
    assert asked.local.tobytes() == dev.local[short.rows].tobytes()
    for d, chunk in enumerate(chunks):
        _, own, alone = linker.pipeline.pack([chunk])
        first, last = dev.candidate_offsets[dev.mention_offsets[[d, d + 1]]]
        assert alone.local.tobytes() == dev.local[first:last][own.rows].tobytes()
        kept = own.rows[np.unique(alone.entity, return_index=True)[1]]
        numbers = dev.entity[first:last][kept]
        whole = pair_block(dev, d)
        assert pair_block(alone, 0).tobytes() == whole[np.ix_(numbers, numbers)].tobytes()
