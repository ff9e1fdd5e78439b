"""Entity sources: a table and a knowledge base of the same entities say the same."""

import numpy as np
import pytest

from experiments.entity_tables import TableSource
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.update import add, remove
from sgtb.linking.entities import entity_source
from sgtb.linking.entities.entity_source import (
    DESCRIPTIONS,
    ENTITY_VECTORS,
    KNOWN_TYPES,
    LINKS,
    NAME_PRIORS,
    POPULARITY,
    KbSource,
)
from tests.helpers.kb_worlds import build, write_lines
from tests.helpers.linking_builders import both_ways, entity_table, kb_of, world

_LOC = {"GPE": "LOC"}


@pytest.fixture(scope="module")
def table():
    return both_ways(world())


@pytest.fixture(scope="module")
def kb(tmp_path_factory, table):
    with KnowledgeBase.open(kb_of(tmp_path_factory.mktemp("kb"), table)) as kb:
        yield kb


@pytest.mark.parametrize("numbers", [range(36), [0], [3, 4, 17, 35], [20, 2], []])
def test_both_say_the_same(table, kb, numbers):
    asked = np.array(numbers, np.int64)
    a, b = TableSource(table).rows(asked), KbSource(kb).rows(asked)
    assert a.titles.strings() == b.titles.strings() == [table.titles[i] for i in asked]
    assert a.descriptions.strings() == b.descriptions.strings() == [""] * len(asked)
    assert [_LOC.get(t, t) for t in a.types] == b.types
    for name in ("in_links", "out_links", "popularity", "degree", "vectors"):
        first, second = getattr(a, name), getattr(b, name)
        assert (first.dtype, first.shape) == (second.dtype, second.shape), name
        np.testing.assert_array_equal(first, second, err_msg=name)
    assert a.linked.data.dtype == b.linked.data.dtype == np.int32
    for i, number in enumerate(asked):
        expected = sorted(table.link_target[table.link_source == number].tolist())
        assert a.linked.row(i).tolist() == b.linked.row(i).tolist() == expected
    np.testing.assert_array_equal(a.degree, np.diff(a.linked.indptr))


def test_parts_are_those_of_whole_rows(table, kb):
    asked = np.array([7, 1, 30])
    for source in (TableSource(table), KbSource(kb)):
        rows = source.rows(asked)
        assert source.size == len(table)
        assert source.titles(asked).strings() == rows.titles.strings()
        np.testing.assert_array_equal(source.degrees(asked), rows.degree)
        assert source.least_popularity() == np.nanmin(table.popularity) == 0


def test_links_of_a_table_count_either_way_and_once():
    source = TableSource(entity_table(["A", "B", "C"], [(0, 1), (1, 0), (2, 1)]))
    rows = source.rows(np.arange(3))
    assert [rows.linked.row(i).tolist() for i in range(3)] == [[1], [0, 2], [1]]
    assert rows.degree.tolist() == [1, 2, 1]


def test_a_knowledge_base_counts_links_in_or_out_whichever_are_more(tmp_path):
    one_way = entity_table(["A", "B", "C"], [(0, 1), (2, 1), (0, 2)], in_links=[5, 6, 7])
    with KnowledgeBase.open(kb_of(tmp_path, one_way)) as kb:
        rows = KbSource(kb).rows(np.arange(3))
    assert [rows.linked.row(i).tolist() for i in range(3)] == [[1, 2], [], [1]]
    assert rows.degree.tolist() == [2, 2, 1]
    assert rows.in_links.tolist() == [5, 6, 7], "as stated"


def test_counts_that_nobody_states_are_those_of_links(tmp_path):
    records = [
        {"id": "a", "name": "A", "links": ["b", "c"]},
        {"id": "b", "name": "B", "links": ["c"]},
        {"id": "c", "name": "C", "in_links": 9, "out_links": 4},
    ]
    with KnowledgeBase.open(build(tmp_path, records)) as kb:
        rows = KbSource(kb).rows(np.arange(3))
    assert rows.in_links.tolist() == [0, 1, 9]
    assert rows.out_links.tolist() == [2, 1, 4]
    assert np.isnan(rows.popularity).all()


def test_what_else_a_knowledge_base_knows(tmp_path):
    records = [
        {"id": "a", "name": "A", "description": "a letter", "vector": [0.0, 2.0]},
        {"id": "b", "name": "B (letter)", "type": "MISC", "popularity": 2.5},
    ]
    with KnowledgeBase.open(build(tmp_path, records)) as kb:
        rows = KbSource(kb).rows(np.arange(2))
    assert rows.titles.strings() == ["A", "B (letter)"]
    assert rows.descriptions.strings() == ["a letter", ""]
    assert rows.types == ["", "MISC"]
    assert rows.vectors.tolist() == [[0, 1], [0, 0]]
    assert (rows.popularity[1], rows.vectors.dtype) == (2.5, np.float32)


def table_with(**columns):
    links = columns.pop("links", ())
    return TableSource(entity_table(["A", "B"], links, **columns)).evidence


def test_evidence_of_a_table():
    assert table_with() == frozenset()
    assert table_with(links=[(0, 1)]) == {LINKS}
    assert table_with(types=["", "PER"]) == {KNOWN_TYPES}
    assert table_with(popularity=[np.nan, 0.0]) == {POPULARITY}


@pytest.mark.parametrize(
    ("own", "evidence"),
    [
        ({}, set()),
        ({"links": ["b"]}, {LINKS}),
        ({"description": "a letter"}, {DESCRIPTIONS}),
        ({"type": "ORG"}, {KNOWN_TYPES}),
        ({"popularity": 0}, {POPULARITY}),
        ({"vector": [1.0]}, {ENTITY_VECTORS}),
        ({"in_links": 5}, set()),
    ],
)
def test_evidence_of_a_knowledge_base(tmp_path, own, evidence):
    records = [{"id": "a", "name": "A", **own}, {"id": "b", "name": "B"}]
    with KnowledgeBase.open(build(tmp_path, records)) as kb:
        assert KbSource(kb).evidence == {NAME_PRIORS, *evidence}


def test_evidence_is_looked_for_among_the_first_entities_only(tmp_path, monkeypatch):
    monkeypatch.setattr(entity_source, "_EXAMINED", 2)
    records = [{"id": f"e{i}", "name": f"E{i}"} for i in range(4)]
    records[3]["type"] = "PER"
    records[2]["popularity"] = -1.0
    with KnowledgeBase.open(build(tmp_path, records)) as kb:
        assert KbSource(kb).evidence == {NAME_PRIORS}
        assert KbSource(kb).least_popularity() == 0


def test_numbers_of_removed_entities_stay_taken(tmp_path):
    place = build(tmp_path, [{"id": f"e{i}", "name": f"E{i}"} for i in range(3)])
    remove(place, ["e1"])
    more = write_lines(tmp_path / "more.jsonl", [{"id": "e9", "name": "E9", "links": ["e0"]}])
    add(place, EntityList(more))
    with KnowledgeBase.open(place) as kb:
        source = KbSource(kb)
        assert (len(kb), source.size) == (3, 4)
        rows = source.rows(np.array([0, 3]))
    assert rows.titles.strings() == ["E0", "E9"]
    assert rows.linked.row(1).tolist() == [0]
