"""The background: counted words and topics, fixed by training and good for entities to come."""

import numpy as np
import pytest

from experiments.entity_tables import TableSource
from sgtb.core.sparse_matrix import unit
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.update import add
from sgtb.linking.entities import background as background_module
from sgtb.linking.entities.background import TOPIC_WIDTH, Background, Lexicon, descriptions
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.entity_source import KbSource
from sgtb.text.normalization import normal_words
from tests.helpers.kb_worlds import write_lines
from tests.helpers.linking_builders import (
    assert_same_arrays,
    documents,
    entity_table,
    kb_of,
    small_setting,
    world,
)


@pytest.fixture(scope="module")
def setting():
    return small_setting()


def described_by(source, background, numbers=None):
    asked = np.arange(source.size) if numbers is None else np.array(numbers)
    return descriptions(source.rows(asked), source, background.lexicon)


def test_building_is_counting_words_and_finding_topics(setting):
    source = TableSource(setting.entities)
    built = Background.build(source, setting.train, setting.words)
    lexicon = Lexicon.build(setting.train, setting.entities.titles, setting.words)
    assert built.lexicon.words == lexicon.words
    assert_same_arrays(built, Background.of(lexicon, source, np.arange(source.size)))
    assert built.least_popularity == np.nanmin(setting.entities.popularity)
    n = len(built.topic_words)
    assert built.topics.shape == (n, min(TOPIC_WIDTH, n, source.size))
    assert (np.diff(built.topic_words) > 0).all()


def test_topic_vectors_are_descriptions_times_topics(setting):
    source = TableSource(setting.entities)
    built = Background.build(source, setting.train, topic_width=5)
    rows = described_by(source, built)
    dense = np.zeros((rows.n_rows, rows.n_columns))
    dense[rows.rows, rows.indices] = rows.data
    expected = unit(dense[:, built.topic_words] @ built.topics)
    found = built.topic_vectors(rows)
    assert (found.shape, found.dtype) == ((36, 5), np.float32)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found.any(axis=1).all()


def test_topics_keep_the_strongest_directions_of_the_descriptions(setting):
    source = TableSource(setting.entities)
    built = Background.build(source, setting.train, topic_width=4)
    rows = described_by(source, built)
    dense = np.zeros((rows.n_rows, rows.n_columns))
    dense[rows.rows, rows.indices] = rows.data
    # Some directions of this world are equally strong: which of them is left to chance.
    strength = np.linalg.svd(dense, compute_uv=False)
    kept = ((dense[:, built.topic_words] @ built.topics) ** 2).sum(axis=0)
    np.testing.assert_allclose(kept, strength[:4] ** 2, rtol=1e-6)
    np.testing.assert_allclose(built.topics.T @ built.topics, np.eye(4), atol=1e-9)


def test_an_entity_outside_of_training_folds_in(setting):
    """Its vector is its own words' part of the topics; nobody else's changes."""
    source = TableSource(setting.entities)
    some = np.setdiff1d(np.arange(source.size), [3, 20])
    built = Background.of(setting.lexicon, source, some, 12)
    known = EntityFacts.describe(source, built, some)
    together = EntityFacts.describe(source, built, np.arange(source.size))
    assert together.topic_vector[some].tobytes() == known.topic_vector.tobytes()
    for stranger in (3, 20):
        vector = together.topic_vector[stranger].astype(np.float64)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)
        # It is close to those whose descriptions are like its own, as if it had been there.
        everyone = Background.of(setting.lexicon, source, np.arange(source.size), 12)
        whole = EntityFacts.describe(source, everyone, np.arange(source.size)).topic_vector
        others = np.delete(np.arange(source.size), stranger)
        close, usual = vector @ together.topic_vector[others].T, whole[stranger] @ whole[others].T
        assert np.corrcoef(close, usual)[0, 1] > 0.9


def test_an_entity_added_later_folds_in_too(tmp_path):
    with KnowledgeBase.open(kb_of(tmp_path, world())) as kb:
        source = KbSource(kb)
        built = Background.build(source, documents(4))
        before = EntityFacts.describe(source, built, np.arange(36))
        new = [
            {"id": "twin", "name": "Nowhere", "links": [kb.id_of(n) for n in kb.links(0).tolist()]},
            {"id": "mute", "name": "Unheard of"},
            {"id": "alien", "name": "Zzyzx", "description": "qwerty uiop"},
        ]
        add(tmp_path / "kb", EntityList(write_lines(tmp_path / "new.jsonl", new)))
        kb.refresh()
        after = EntityFacts.describe(source, built, np.arange(39))
    # Degrees of those it links to have grown by one, in the descriptions of all.
    np.testing.assert_allclose(after.topic_vector[:36], before.topic_vector, atol=0.2)
    np.testing.assert_allclose(after.topic_vector[36], after.topic_vector[0], atol=1e-6)
    assert not after.topic_vector[37:].any()


def test_words_that_no_topic_is_told_by_say_nothing(setting):
    source = TableSource(setting.entities)
    built = Background.of(setting.lexicon, source, np.array([0, 1]), 3)
    rows = described_by(source, built)
    in_topics = np.isin(rows.indices, built.topic_words)
    assert in_topics.any()
    assert not in_topics.all()
    found = built.topic_vectors(rows)
    silent = [r for r in range(36) if not in_topics[rows.rows == r].any()]
    assert not found[silent].any()


@pytest.fixture
def large(monkeypatch):
    """Everything is a large knowledge base."""
    monkeypatch.setattr(background_module, "ALL_TITLES", 3)


def test_in_a_large_knowledge_base_those_met_and_their_neighbours_are_counted(large):
    chain = entity_table(
        ["Red", "Blue", "Green", "Grey", "Black", "White"],
        [(0, 1), (1, 0), (1, 2), (2, 1), (3, 4), (4, 3)],
    )
    source, texts = TableSource(chain), documents(2)
    built = Background.build(source, texts, entities=np.array([0]))
    assert built.lexicon.n_titles == 2
    titled = {w for w, n in zip(built.lexicon.words, built.lexicon.titles_with, strict=True) if n}
    assert titled == {"red", "blue"}
    assert {built.lexicon.words[w] for w in built.topic_words} == {"blue"}
    several = Background.build(source, texts, entities=np.array([1, 4]))
    assert several.lexicon.n_titles == 5
    words = {several.lexicon.words[w] for w in several.topic_words}
    assert words == {"red", "green", "grey"}


def test_in_a_large_knowledge_base_everyone_else_folds_in(large, setting):
    source = TableSource(setting.entities)
    some = np.arange(0, 36, 2)
    built = Background.build(source, setting.train, setting.words, some)
    facts = EntityFacts.describe(source, built, np.arange(36))
    assert facts.topic_vector[1::2].any(axis=1).mean() > 0.9
    known = {word for title in setting.entities.titles for word in normal_words(title)}
    assert set(built.lexicon.words) - set(setting.words.row) <= known | {
        word for text in setting.train for token in text.tokens for word in normal_words(token.text)
    }


def test_in_a_small_knowledge_base_it_does_not_matter_who_was_met(setting):
    source = TableSource(setting.entities)
    some = Background.build(source, setting.train, setting.words, np.array([1, 2]))
    assert_same_arrays(some, Background.build(source, setting.train, setting.words))


def test_without_met_entities_all_are_taken(large, setting):
    source = TableSource(setting.entities)
    built = Background.build(source, setting.train, setting.words)
    assert built.lexicon.n_titles == source.size


def test_without_links_there_are_no_topics():
    source = TableSource(entity_table(["Red", "Blue"]))
    built = Background.build(source, documents(2))
    assert built.topics.shape == (0, 0)
    assert built.topic_vectors(described_by(source, built)).shape == (2, 0)
    assert built.lexicon.vectors.shape[1] == 0
    assert built.least_popularity == 0


def test_entities_without_links_and_descriptions_have_no_topics():
    source = TableSource(entity_table(["Red", "Blue"]))
    built = Background.build(source, documents(2), digits=6)
    assert built.topics.shape[0] == len(built.topic_words) == 0
    facts = EntityFacts.describe(source, built, np.arange(2))
    assert not facts.topic_vector.any()
