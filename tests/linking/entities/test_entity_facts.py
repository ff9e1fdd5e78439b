"""Facts of entities: what titles say, what links say, and what is missing."""

import math

import numpy as np
import pytest

from experiments.entity_tables import TableSource, table_facts
from sgtb.kb import KnowledgeBase
from sgtb.linking.entities import entity_facts as facts_module
from sgtb.linking.entities.background import Background, Lexicon
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.entity_source import KbSource
from sgtb.text.word_vectors import WordVectors
from tests.helpers.linking_builders import (
    arrays_of,
    assert_same_arrays,
    clue_rows,
    document,
    entity_table,
    kb_of,
    lexicon_of,
    relabelled,
    small_setting,
    string_number,
)

TITLES = (
    "Orlan",
    "Orlan national football team",
    "Anna Meck (tennis player)",
    "Vessa F.C.",
    "Vessa, Norvia",
    "1994 Vessa Open",
    "University of Tarn",
    "O'Brien's (band)",
    "The Quill (The film)",
    "fc Brask",
)


def facts_of(entities, texts=()):
    return table_facts(entities, lexicon_of(texts, entities))


def row(matrix, r):
    first, last = matrix.indptr[r : r + 2]
    columns, values = matrix.indices[first:last], matrix.data[first:last]
    return dict(zip(columns.tolist(), values.tolist(), strict=True))


def words(facts, lexicon, matrix, r):
    return {lexicon.words[w]: value for w, value in row(matrix, r).items()}


PLAIN = facts_of(entity_table(TITLES))


@pytest.mark.parametrize(
    ("title", "kinds"),
    [
        ("Orlan", set()),
        ("Orlan national football team", {"national", "football", "team"}),
        ("Anna Meck (tennis player)", {"tennis", "player"}),
        ("Vessa F.C.", {"fc"}),
        ("University of Tarn", set()),
        ("O'Brien's (band)", {"band"}),
        ("The Quill (The film)", {"film"}),
        ("fc Brask", {"fc"}),
    ],
)
def test_the_words_of_a_title_that_tell_a_kind(title, kinds):
    r = TITLES.index(title)
    assert PLAIN.kind_words.row(r).tolist() == [string_number(kind) for kind in sorted(kinds)]
    hashes = clue_rows([[f"kind:{kind}" for kind in sorted(kinds)]]).data
    assert PLAIN.kind_clues.row(r).tolist() == hashes.tolist()


def test_a_comma_and_a_year_are_kinds_of_their_own():
    place, edition = (
        PLAIN.kind_words.row(TITLES.index(t)).tolist() for t in ("Vessa, Norvia", "1994 Vessa Open")
    )
    kinds = facts_module._PLACE, facts_module._EDITION
    assert [place, edition] == [[string_number(kind)] for kind in kinds]
    # Not words that a title could have.
    assert kinds[0] != kinds[1]
    assert all(" " in kind for kind in kinds)


def test_names_with_and_without_brackets():
    r = TITLES.index("Anna Meck (tennis player)")
    assert PLAIN.fingerprints.whole[r] == string_number("anna meck")
    assert PLAIN.fingerprints.words.row(r).tolist() == [string_number(w) for w in ("anna", "meck")]
    assert PLAIN.whole_title[r] == string_number("anna meck tennis player")
    r = TITLES.index("O'Brien's (band)")
    found = PLAIN.fingerprints.whole[r], PLAIN.whole_title[r]
    assert found == (string_number("obrien"), string_number("obrien band"))


def test_shapes_of_titles():
    shape = dict(zip(TITLES, PLAIN.shape.tolist(), strict=True))
    assert shape["Orlan"] == [0, 0, 0, 1]
    assert shape["Anna Meck (tennis player)"] == [1, 0, 0, 4]
    assert shape["Vessa, Norvia"] == [0, 1, 0, 2]
    assert shape["1994 Vessa Open"] == [0, 0, 1, 3]


def test_types_and_counts():
    facts = facts_of(
        entity_table(
            ["A", "B", "C", "D"], types=["PER", "ORG", "GPE", ""], in_links=[0, 1, 9, 99],
            out_links=[3, 0, 0, 7],
        )
    )  # fmt: skip
    assert facts.type.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_allclose(facts.log_in_links, np.log([1, 2, 10, 100]), rtol=1e-6)
    np.testing.assert_allclose(facts.log_out_links, np.log([4, 1, 1, 8]), rtol=1e-6)


def test_a_missing_popularity_is_the_least_known():
    known = facts_of(entity_table(["A", "B", "C"], popularity=[np.nan, 4.5, 2.5]))
    assert known.popularity.tolist() == [2.5, 4.5, 2.5]
    unknown = facts_of(entity_table(["A", "B"]))
    assert unknown.popularity.tolist() == [0, 0]


# Red Fox – Blue Fox – Green Owl: the one in the middle is linked with both, once or twice.
CHAIN = entity_table(["Red Fox", "Blue Fox", "Green Owl"], [(0, 1), (1, 0), (2, 1)])
TEXTS = [document("1", "The red owl ."), document("2", "A red fox .")]


def test_links_go_both_ways_and_count_once():
    facts = facts_of(CHAIN, TEXTS)
    assert [row(facts.links, r) for r in range(3)] == [{1: 1}, {0: 1, 2: 1}, {1: 1}]
    np.testing.assert_allclose(facts.log_degree, np.log([2, 3, 2]), rtol=1e-6)


def test_descriptions_by_hand():
    lexicon = lexicon_of(TEXTS, CHAIN)
    facts = table_facts(CHAIN, lexicon)
    # The weight of a word is log(4 / (1 + titles with it)) or log(3 / (1 + texts with it)), the
    # lower of both. A neighbour with n links gives 1 / log(2 + n) for each of its words.
    weight = {"red": 0, "blue": math.log(2), "fox": math.log(4 / 3), "green": math.log(2)}
    weight["owl"] = math.log(3 / 2)

    def expected(**shares):
        raw = {w: math.log1p(s) * weight[w] for w, s in shares.items()}
        length = math.hypot(*raw.values())
        return pytest.approx({w: value / length for w, value in raw.items()}, rel=1e-5)

    one, two = 1 / math.log(3), 1 / math.log(4)
    found = [words(facts, lexicon, facts.description, r) for r in range(3)]
    assert found[0] == expected(blue=two, fox=two)
    assert found[1] == expected(red=one, fox=one, green=one, owl=one)
    assert found[2] == expected(blue=two, fox=two)


def test_vectors_of_words_by_hand():
    vectors = WordVectors("three", {"red": 0, "fox": 1, "owl": 2}, np.eye(3, dtype=np.float32))
    lexicon = Lexicon.build(TEXTS, CHAIN.titles, vectors)
    facts = table_facts(CHAIN, lexicon)
    red, fox = math.log(4 / 2), math.log(4 / 3)  # by how few titles have the word
    length = math.hypot(red, fox)
    expected = [[red / length, fox / length, 0], [0, 1, 0], [0, 0, 1]]
    np.testing.assert_allclose(facts.title_vector, expected, rtol=1e-6)
    assert facts.kind_vector.tolist() == facts.bracket_vector.tolist() == np.zeros((3, 3)).tolist()


def vectors_of(facts):
    return {name: value for name, value in vars(facts).items() if name.endswith("_vector")}


def test_all_vectors_have_unit_norm_or_are_zero():
    for name, vectors in vectors_of(small_setting().facts).items():
        length = np.linalg.norm(vectors.astype(np.float64), axis=1)
        assert ((abs(length - 1) < 1e-4) | (length == 0)).all(), name
        assert length.any() or name == "entity_vector", name


def test_entities_with_the_same_neighbours_are_close():
    facts = small_setting().facts
    close = facts.topic_vector @ facts.topic_vector.T
    shared = small_setting().facts.description
    same_words = np.zeros((shared.n_rows, shared.n_columns))
    same_words[shared.rows, shared.indices] = shared.data
    alike = same_words @ same_words.T
    assert close[alike > 0.5].mean() > close[alike < 0.1].mean() + 0.2


def test_a_world_without_links():
    facts = facts_of(entity_table(["Orlan", "Vessa (town)"]))
    assert facts.log_degree.tolist() == [0, 0]
    for vectors in vectors_of(facts).values():
        assert len(vectors) == 2
        assert np.isfinite(vectors).all()
    assert not facts.description.data.size


def test_facts_are_the_same_every_time_and_have_seen_no_label():
    first, again = small_setting(), small_setting()
    blind = small_setting([relabelled(text) for text in first.train])
    assert_same_arrays(first.facts, again.facts)
    assert_same_arrays(first.facts, blind.facts)


def test_a_place_is_a_place_by_either_name():
    facts = facts_of(entity_table(["A", "B", "C"], types=["GPE", "LOC", "MISC"]))
    assert facts.type.tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    assert facts.type_clue[0] == facts.type_clue[1] != facts.type_clue[2]
    assert facts.type_clue[0] == clue_rows([["type:GPE"]]).data[0]


def test_facts_of_some_entities_are_those_they_have_among_all():
    setting = small_setting()
    source = TableSource(setting.entities)
    background = Background.of(setting.lexicon, source, np.arange(len(setting.entities)))
    some = np.array([1, 2, 8, 30])
    part = EntityFacts.describe(source, background, some)
    assert part.number.tolist() == some.tolist()
    assert len(part) == 4
    for name, array in arrays_of(part).items():
        if "." not in name:
            assert array.tobytes() == arrays_of(setting.facts)[name][some].tobytes(), name
    for name in ("kind_words", "kind_clues", "linked"):
        for r, number in enumerate(some):
            found = getattr(part, name).row(r).tolist()
            assert found == getattr(setting.facts, name).row(number).tolist(), name
    for name in ("title_words", "description"):
        for r, number in enumerate(some):
            assert row(getattr(part, name), r) == row(getattr(setting.facts, name), number), name
    # Of links only those within are left.
    every = setting.facts.links
    for r, number in enumerate(some):
        among = {int(np.flatnonzero(some == n)[0]): 1.0 for n in row(every, number) if n in some}
        assert row(part.links, r) == among
    assert part.links.indices.size


def test_facts_of_no_entity():
    setting = small_setting()
    source = TableSource(setting.entities)
    background = Background.of(setting.lexicon, source, np.arange(len(setting.entities)))
    nothing = EntityFacts.describe(source, background, np.zeros(0, np.int64))
    assert len(nothing) == nothing.links.n_rows == 0
    for name, array in arrays_of(nothing).items():
        full = arrays_of(setting.facts)[name]
        assert (array.dtype, array.shape[1:]) == (full.dtype, full.shape[1:]), name


def test_an_entity_linked_to_from_one_side_only_is_linked_either_way(tmp_path):
    one_way = entity_table(["Red Fox", "Blue Fox", "Green Owl"], [(0, 1), (1, 0), (2, 1)])
    with KnowledgeBase.open(kb_of(tmp_path, one_way)) as kb:
        source = KbSource(kb)
        background = Background.build(source, TEXTS)
        facts = EntityFacts.describe(source, background, np.arange(3))
    assert [facts.linked.row(r).tolist() for r in range(3)] == [[1], [0], [1]]
    assert [row(facts.links, r) for r in range(3)] == [{1: 1}, {0: 1, 2: 1}, {1: 1}]


def test_an_entity_is_described_by_its_own_words_too(tmp_path):
    entities = entity_table(["Orlan", "Vessa", "Tarn"], [(0, 1)])
    own = ["", "a harbour of the vikings", ""]
    texts = [document("1", "vikings sail"), document("2", "rain"), document("3", "more rain")]
    with KnowledgeBase.open(kb_of(tmp_path, entities, description=own)) as kb:
        source = KbSource(kb)
        background = Background.build(source, texts)
        facts = EntityFacts.describe(source, background, np.arange(3))
    lexicon = background.lexicon
    # "harbour" is in no text and no title: the lexicon does not have it.
    assert words(facts, lexicon, facts.description, 0) == {"vessa": 1}
    assert words(facts, lexicon, facts.description, 1) == {"vikings": 1}
    assert words(facts, lexicon, facts.description, 2) == {}


def test_vectors_of_entities_are_those_of_the_knowledge_base(tmp_path):
    entities = entity_table(["Orlan", "Vessa", "Tarn"])
    vectors = [[3.0, 4.0], None, [0.0, -2.0]]
    with KnowledgeBase.open(kb_of(tmp_path, entities, vector=vectors)) as kb:
        source = KbSource(kb)
        background = Background.build(source, TEXTS)
        facts = EntityFacts.describe(source, background, np.array([0, 1, 2]))
    np.testing.assert_allclose(facts.entity_vector, [[0.6, 0.8], [0, 0], [0, -1]], atol=1e-3)
