"""Tables and featurizers: widths, cross-fitting, and documents of unusual sizes."""

import re
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.entity_tables import listed_candidates, table_facts
from sgtb.core.errors import ProblemsError
from sgtb.core.sparse_matrix import group_of, group_sum, relative, share
from sgtb.linking.entities.entity_source import (
    DESCRIPTIONS,
    ENTITY_VECTORS,
    KNOWN_TYPES,
    LINKS,
    NAME_PRIORS,
    POPULARITY,
    WORD_VECTORS,
)
from sgtb.linking.features import feature_matrix
from sgtb.linking.features.feature_matrix import Featurizer, Table
from sgtb.linking.features.ranker import TAGS
from sgtb.linking.features.schema import COLLECTIVE, COMPUTED, LEARNED, SCHEMA, Schema
from sgtb.linking.problem_packing import pack, pair_table
from sgtb.linking.training.topic_folds import topic_folds
from sgtb.native import fill_columns
from tests.helpers.linking_builders import (
    KINDS,
    document,
    documents,
    entity_table,
    lexicon_of,
    named,
    small_setting,
)

EVIDENCE = (
    LINKS, DESCRIPTIONS, KNOWN_TYPES, POPULARITY, ENTITY_VECTORS, NAME_PRIORS, WORD_VECTORS,
)  # fmt: skip


class Trained:
    """A featurizer trained on the small world's documents."""

    def __init__(self):
        self.setting = small_setting()
        self.table = self.setting.table(self.setting.train)
        self.folds = topic_folds(self.setting.train, 3)
        self.featurizer, self.features = Featurizer.fit(self.table, self.folds, 0)


@pytest.fixture(scope="module")
def trained():
    return Trained()


def column(features, name):
    return features[:, SCHEMA.names.index(name)]


def test_the_table_is_as_wide_as_the_schema(trained):
    fixed = len(SCHEMA.fixed)
    assert trained.table.fixed.shape == (trained.table.candidates.n_candidates, fixed)
    assert trained.features.shape == (trained.table.candidates.n_candidates, len(SCHEMA.features))
    assert trained.features.dtype == np.float32
    assert np.isfinite(trained.features).all()
    dev = trained.featurizer.features(trained.setting.table(trained.setting.dev))
    assert dev.shape[1] == len(SCHEMA.features)
    np.testing.assert_array_equal(trained.features[:, :fixed], trained.table.fixed)


def test_a_table_may_be_completed_in_place(trained):
    table = trained.setting.table(trained.setting.dev)
    expected = trained.featurizer.features(table)
    assert not np.shares_memory(expected, table.columns)
    found = trained.featurizer.features(table, reuse=True)
    assert found is table.columns
    np.testing.assert_array_equal(found, expected)


def test_a_column_stands_where_the_schema_says(trained):
    candidates, facts = trained.table.candidates, trained.table.facts
    features = trained.features
    np.testing.assert_array_equal(
        column(features, "log_in_links"), facts.log_in_links[candidates.entity]
    )
    np.testing.assert_array_equal(
        column(features, "title_comma"), facts.shape[candidates.entity, 1]
    )
    np.testing.assert_array_equal(
        column(features, "entity_place"), facts.type[candidates.entity, 2]
    )
    sizes = np.diff(candidates.candidate_offsets)
    np.testing.assert_array_equal(column(features, "candidates"), np.repeat(sizes, sizes))
    for name in SCHEMA.names:
        base = name.removesuffix("_below_best")
        if base != name and base in SCHEMA.names:
            best = np.maximum.reduceat(column(features, base), candidates.candidate_offsets[:-1])
            expected = column(features, base) - np.repeat(best, sizes)
            np.testing.assert_allclose(column(features, name), expected, atol=1e-5, err_msg=name)


def test_local_columns_are_those_of_groups_within_the_mention(trained):
    own = SCHEMA.features[: len(SCHEMA.fixed)]
    places = [i for i, feature in enumerate(own) if feature.group not in COLLECTIVE]
    by_name = {"name prior", "match"}
    assert {feature.group for feature in own} == {group.key for group in COMPUTED} - by_name
    np.testing.assert_array_equal(trained.table.local, trained.table.fixed[:, places])


def test_learned_columns_are_probabilities_where_they_say_so(trained):
    offsets = trained.table.candidates.candidate_offsets
    for prefix in ("mention", "name"):
        tags = [column(trained.features, f"{prefix}_{tag.lower()}") for tag in TAGS]
        np.testing.assert_allclose(np.sum(tags, axis=0), 1, rtol=1e-5)
    for name in (c.name for g in LEARNED for c in g.columns if c.name.endswith("_probability")):
        np.testing.assert_allclose(
            group_sum(column(trained.features, name), offsets)[np.diff(offsets) > 0], 1, rtol=1e-5
        )


def test_mentions_of_one_name_share_their_mean_type(trained):
    text = documents(1)[0]
    table = trained.setting.table([text])
    features = trained.featurizer.features(table)
    first = table.candidates.candidate_offsets[:-1]
    own, mean = column(features, "mention_per")[first], column(features, "name_per")[first]
    names = np.array(table.contexts.names)
    assert len(set(names)) < len(names)
    for name in set(names):
        np.testing.assert_allclose(mean[names == name], own[names == name].mean(), rtol=1e-5)


def test_the_same_seed_gives_the_same_bytes(trained):
    again = Featurizer.fit(trained.setting.table(trained.setting.train), trained.folds, 0)[1]
    assert again.tobytes() == trained.features.tobytes()
    other = Featurizer.fit(trained.table, trained.folds, 1)[1]
    assert other.tobytes() != trained.features.tobytes()


def test_cross_fitting_needs_two_folds_and_one_number_each(trained):
    n = len(trained.setting.train)
    for folds in (np.zeros(n, np.int32), np.arange(n - 1, dtype=np.int32)):
        with pytest.raises(ProblemsError, match=f"{n} documents needs {n} fold numbers"):
            Featurizer.fit(trained.table, folds, 0)


def test_fold_numbers_may_have_gaps(trained):
    gaps = Featurizer.fit(trained.table, np.where(trained.folds == 0, 7, 3).astype(np.int32), 0)[1]
    assert np.isfinite(gaps).all()


def test_new_documents_do_not_see_each_other(trained):
    setting = trained.setting
    together = trained.featurizer.features(setting.table(setting.dev))
    alone = [trained.featurizer.features(setting.table([text])) for text in setting.dev]
    assert together.tobytes() == np.concatenate(alone).tobytes()


def test_unusual_documents(trained):
    setting = trained.setting
    id = setting.entities.ids[0]
    usual = documents(1)[0]
    texts = [
        document("1"),
        document("2", "no names"),
        document("3", f"[Orlan|{id}||] and [Vessa|{id}||]"),
        usual,
        document("5", f"[Orlan|{id}||{id}]"),
    ]
    table = setting.table(texts)
    features = trained.featurizer.features(table)
    assert np.isfinite(features).all()
    expected = trained.featurizer.features(setting.table([usual]))
    assert features[:-1].tobytes() == expected.tobytes()
    assert pack(table.candidates, features, pair_table(setting.facts)).n_documents == 5


def test_unusual_documents_in_training(trained):
    setting = trained.setting
    id = setting.entities.ids[0]
    odd = [document("e1"), document("e2", f"TENNIS - [ORLAN|{id}|PER|] ."), document("e3", "Rain")]
    texts = [*setting.train, *odd]
    _, features = Featurizer.fit(setting.table(texts), topic_folds(texts, 3), 0)
    assert len(features) == len(trained.features)
    assert np.isfinite(features).all()


def test_an_empty_split(trained):
    table = trained.setting.table([])
    features = trained.featurizer.features(table)
    assert features.shape == (0, len(SCHEMA.features))
    assert len(pack(table.candidates, features, pair_table(trained.setting.facts))) == 0


def untyped(kind):
    return [
        document(
            f"u{i}", re.sub(r"\|[A-Z]+\|", "||", named("Orlan", kind)), f"1996-08-{10 + i}"
        )
        for i in range(4)
    ]  # fmt: skip


def test_untyped_mentions_of_untyped_entities_teach_the_ranker_only(trained):
    table = trained.setting.table(untyped("open"))
    assert [mention.type for mention in table.candidates.mentions] == [None] * 4
    _, features = Featurizer.fit(table, np.array([0, 1, 0, 1], np.int32), 0)
    np.testing.assert_allclose(column(features, "mention_per"), 1 / len(TAGS))
    assert column(features, "rank_score").any()
    assert len(features) == 4 * len(KINDS)


def test_untyped_mentions_teach_the_tagger_the_type_of_what_they_mean(trained):
    table = trained.setting.table(untyped("player"))
    _, features = Featurizer.fit(table, np.array([0, 1, 0, 1], np.int32), 0)
    assert (column(features, "mention_per") > 0.5).all()


def test_tags_are_annotated_types_else_those_of_the_gold(trained):
    def tag(kind, type_):
        listed = named("Orlan", kind)
        text = document("1", re.sub(r"\|[A-Z]+\|", f"|{type_}|", listed))
        (place,) = trained.setting.table([text]).tags
        return TAGS[place] if place >= 0 else None

    assert tag("town", "ORG") == "ORG"
    assert (tag("town", ""), tag("club", ""), tag("player", "")) == ("LOC", "ORG", "PER")
    assert tag("open", "") is None
    assert tag("open", "nonsense") is None
    unlisted = document("1", "[Orlan|no entity||e100]", "[Vessa||PER|e100]")
    assert trained.setting.table([unlisted]).tags.tolist() == [-1]


@pytest.mark.parametrize(
    "evidence",
    [
        (), (LINKS,), (KNOWN_TYPES,), (POPULARITY, NAME_PRIORS), (WORD_VECTORS, DESCRIPTIONS),
        (LINKS, KNOWN_TYPES, POPULARITY, WORD_VECTORS),
    ],
)  # fmt: skip
def test_with_less_evidence_the_same_columns_are_fewer(trained, evidence):
    setting, schema = trained.setting, Schema.of(frozenset(evidence))
    candidates = setting.candidates(setting.train)
    full = Schema.of(frozenset(EVIDENCE))
    every = Table.build(candidates, setting.facts, setting.lexicon, full)
    table = Table.build(candidates, setting.facts, setting.lexicon, schema)
    places = [full.names.index(name) for name in schema.names[: len(schema.fixed)]]
    assert table.fixed.tobytes() == np.ascontiguousarray(every.fixed[:, places]).tobytes()
    featurizer, features = Featurizer.fit(table, trained.folds, 0, bits=10)
    assert features.shape == (candidates.n_candidates, len(schema.features))
    assert np.isfinite(features).all()
    dev = Table.build(setting.candidates(setting.dev), setting.facts, setting.lexicon, schema)
    assert featurizer.features(dev).shape[1] == len(schema.features)
    probability = features[:, schema.names.index("rank_probability")]
    np.testing.assert_allclose(group_sum(probability, candidates.candidate_offsets), 1, rtol=1e-5)
    assert ("types_agree" in schema.names) == (KNOWN_TYPES in evidence)


def test_a_thousand_mentions_of_thirty_candidates_take_linear_memory():
    """A table of all pairs of candidates would take 900 million entries."""
    rng = np.random.default_rng(0)
    words = "red blue green fox owl elk".split()
    titles = [f"{rng.choice(words).title()} {rng.choice(words).title()}" for _ in range(30)]
    links = [tuple(rng.choice(30, 2, replace=False)) for _ in range(60)]
    entities = entity_table(titles, links, in_links=rng.integers(0, 99, 30))
    listed = ",".join(entities.ids)
    lines = [
        " ".join(f"the [Name{(20 * i + k) % 400}|e100|PER|{listed}] of" for k in range(20))
        for i in range(50)
    ]
    text = document("long", *lines)
    lexicon = lexicon_of([text, document("2", "red fox")], entities)
    facts = table_facts(entities, lexicon)
    Table.build(listed_candidates([document("2", "[Fox|e100||e100]")], entities), facts, lexicon)
    tracemalloc.start()
    try:
        table = Table.build(listed_candidates([text], entities), facts, lexicon)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert table.fixed.shape[0] == 30_000
    assert np.isfinite(table.fixed).all()
    assert peak < 150 * 2**20, f"{peak / 2**20:.0f} MB"


@pytest.mark.parametrize("columns", [[], [2], [1, 2, 3], [0, 2, 4], [4, 0]])
def test_columns_are_those_of_the_twin(columns):
    rng = np.random.default_rng(0)
    offsets, columns = np.array([0, 0, 3, 4], np.int32), np.array(columns, np.int64)
    tables = [rng.standard_normal((6, 5)).astype(np.float32) for _ in range(2)]
    rows = [rng.integers(0, 6, 4) for _ in tables]
    parts = [
        SimpleNamespace(values=table, rows=own, columns=columns, below_best=below)
        for table, own, below in zip(tables, rows, (False, True), strict=True)
    ]
    out = np.zeros((4, 2 * len(columns)), np.float32)
    fill_columns(offsets, parts, out)
    plain, other = (table[own][:, columns] for table, own in zip(tables, rows, strict=True))
    below = [relative(column, offsets).astype(np.float32) for column in other.T]
    expected = np.concatenate([plain.T, *(column[None] for column in below)]).T
    np.testing.assert_array_equal(out, expected)


def test_learned_columns_are_those_of_the_twin():
    """Of three documents, the first without mentions; two mentions of the second share a name."""
    rng = np.random.default_rng(2)
    offsets, entity = np.array([0, 3, 3, 7, 9], np.int32), rng.integers(0, 5, 9).astype(np.int32)
    fixed, types = (rng.random(shape).astype(np.float32) for shape in ((9, 4), (5, 3)))
    tags, own = rng.random((4, len(TAGS))), rng.standard_normal((2, 9))
    same_name = tags[[0, 2]].mean(axis=0)
    by_name = np.stack([same_name, tags[1], same_name, tags[3]])
    below = np.stack([relative(score, offsets) for score in own])
    of = group_of(offsets)
    agree = (tags[of, :3] * types[entity]).sum(axis=1)
    ranks = [(own[s], below[s], share(np.exp(below[s]), offsets)) for s in range(2)]
    everything = np.stack([*tags[of].T, *by_name[of].T, agree, *ranks[0], *ranks[1]], axis=1)
    learned = (0, 2, *range(2 * len(TAGS), 2 * len(TAGS) + 7))
    table = SimpleNamespace(
        candidates=SimpleNamespace(
            mention_offsets=np.array([0, 0, 3, 4]), candidate_offsets=offsets, entity=entity
        ),
        contexts=SimpleNamespace(name_numbers=np.array([0, 1, 0, 0])),
        facts=SimpleNamespace(type=types),
        schema=SimpleNamespace(fixed=range(4), learned=learned),
        columns=np.concatenate([fixed, np.empty((9, len(learned)), np.float32)], axis=1),
    )
    out = feature_matrix._joined(table, (tags, *own))
    np.testing.assert_array_equal(out[:, :4], fixed)
    np.testing.assert_allclose(out[:, 4:], everything[:, learned], rtol=1e-6)
