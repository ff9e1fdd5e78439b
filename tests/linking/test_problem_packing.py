"""Packing: candidates become problems, and pairs of entities features."""

import itertools

import numpy as np
import pytest

from sgtb.core.errors import SettingsError
from sgtb.linking.entities.entity_source import LINKS, WORD_VECTORS
from sgtb.linking.features.schema import SCHEMA, Schema
from sgtb.linking.problem_packing import pack, pair_table
from tests.helpers.linking_builders import document, documents, looked_up, number_of, small_setting


@pytest.fixture(scope="module")
def setting():
    return small_setting()


def features_of(candidates):
    """Features of the right width that tell the candidates apart."""
    n, width = candidates.n_candidates, len(SCHEMA.features)
    return np.arange(n * width, dtype=np.float32).reshape(n, width)


def test_the_features_of_pairs(setting):
    facts = setting.facts
    table = pair_table(facts)
    entities, names = setting.entities, SCHEMA.pairs
    assert table.n_rows == len(facts) == len(entities)
    assert table.n_features == len(names)
    linked = set(zip(entities.link_source, entities.link_target, strict=True))
    for a, b in itertools.product(range(0, 36, 3), range(36)):
        expected = {
            name: float(getattr(facts, name)[a].astype(np.float64) @ getattr(facts, name)[b])
            for name in names
            if name.endswith("_vector")
        }
        expected["linked"] = float((a, b) in linked or (b, a) in linked)
        expected["same"] = float(a == b)
        assert looked_up(table, a, b) == pytest.approx([expected[name] for name in names], abs=1e-6)
    town, team = number_of("Orlan", "town"), number_of("Orlan", "team")
    assert looked_up(table, team, town)[names.index("linked")] == 1


def test_pairs_of_some_entities_are_as_among_all(setting):
    everything, rows = pair_table(setting.facts), np.array([0, 3, 4, 9, 17, 30, 31])
    some = pair_table(setting.facts, rows=rows)
    assert some.n_rows == len(rows)
    for (i, a), (k, b) in itertools.product(enumerate(rows), repeat=2):
        assert looked_up(some, i, k) == looked_up(everything, a, b)
    assert pair_table(setting.facts, rows=rows[:0]).n_rows == 0


def test_pairs_have_only_features_for_which_there_is_evidence(setting):
    everything = pair_table(setting.facts)
    town, team = number_of("Orlan", "town"), number_of("Orlan", "team")
    full = dict(zip(SCHEMA.pairs, looked_up(everything, team, town), strict=True))
    for evidence in ((), (LINKS,), (WORD_VECTORS,), (LINKS, WORD_VECTORS)):
        schema = Schema.of(frozenset(evidence))
        table = pair_table(setting.facts, schema)
        assert table.n_features == len(schema.pairs)
        assert looked_up(table, team, town) == [full[name] for name in schema.pairs]
    assert pair_table(setting.facts, Schema.of(frozenset())).n_features == 1


def test_entities_are_numbered_by_document_in_the_order_of_their_ids(setting):
    candidates = setting.candidates(setting.train)
    problems = pack(candidates, features_of(candidates), pair_table(setting.facts))
    np.testing.assert_array_equal(problems.mention_offsets, candidates.mention_offsets)
    np.testing.assert_array_equal(problems.candidate_offsets, candidates.candidate_offsets)
    np.testing.assert_array_equal(problems.gold, candidates.gold)
    borders = candidates.candidate_offsets[candidates.mention_offsets]
    for d in range(len(candidates.documents)):
        own = candidates.entity[borders[d] : borders[d + 1]]
        distinct = sorted(set(own.tolist()))
        found = problems.entity[borders[d] : borders[d + 1]]
        assert found.tolist() == [distinct.index(e) for e in own]
        first, last = problems.entity_offsets[d : d + 2]
        assert problems.pairs.row[first:last].tolist() == distinct


def test_candidates_of_the_same_mentions_have_one_name(setting):
    candidates = setting.candidates(setting.train)
    problems = pack(candidates, features_of(candidates), pair_table(setting.facts))
    mention = np.repeat(np.arange(problems.n_mentions), np.diff(problems.candidate_offsets))
    borders = problems.candidate_offsets[problems.mention_offsets]
    equal = 0
    for d, (first, last) in enumerate(itertools.pairwise(borders)):
        names = problems.pairs.name[slice(*problems.entity_offsets[d : d + 2])]
        mentions = [frozenset() for _ in names]
        for m, entity in zip(mention[first:last], problems.entity[first:last], strict=True):
            mentions[entity] |= {m}
        for a, b in itertools.combinations(range(len(names)), 2):
            assert (names[a] == names[b]) == (mentions[a] == mentions[b])
            equal += names[a] == names[b]
    assert equal > 10


def test_groups_can_be_left_out(setting):
    candidates = setting.candidates(setting.dev)
    features, pairs = features_of(candidates), pair_table(setting.facts)
    assert pack(candidates, features, pairs).n_local == len(SCHEMA.columns_without(()))
    less = pack(candidates, features, pairs, ["name", "coherence"])
    np.testing.assert_array_equal(
        less.local, features[:, SCHEMA.columns_without(["name", "coherence"])]
    )
    with pytest.raises(SettingsError, match="'colour'"):
        pack(candidates, features, pairs, ["colour"])


def test_documents_without_mentions_and_mentions_without_candidates(setting):
    id = setting.entities.ids[0]
    texts = [document("1"), document("2", f"[Orlan|{id}||]"), *documents(1), document("4", "x")]
    candidates = setting.candidates(texts)
    problems = pack(candidates, features_of(candidates), pair_table(setting.facts))
    assert problems.n_documents == 4
    assert np.diff(problems.entity_offsets)[[0, 1, 3]].tolist() == [0, 0, 0]
    nothing = setting.candidates([])
    problems = pack(nothing, features_of(nothing), pair_table(setting.facts))
    assert (problems.n_documents, problems.n_mentions, problems.n_candidates) == (0, 0, 0)
