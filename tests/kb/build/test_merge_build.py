"""Merged knowledge bases: what is united, what the first one decides, what is refused."""

import json
import math

import pytest

from sgtb.core.errors import KnowledgeBaseError, SettingsError
from sgtb.kb import KnowledgeBase, update
from sgtb.kb.build.merge_build import merge_kbs
from sgtb.kb.check import check
from sgtb.kb.export import export_lines
from tests.helpers.kb_worlds import build

HEADER = {"kind": "kb", "sources": ["given", "anchors"], "dimensions": 2, "origin": {}}
ONE = [
    HEADER,
    {"id": "a", "name": "Orlan", "links": ["b"], "popularity": 5, "vector": [1, 0],
     "aliases": [{"name": "Orlan", "count": 2, "source": "anchors"}]},
    {"id": "b", "name": "Ohio", "aliases": [{"name": "Ohio"}], "type": "LOC"},
    {"kind": "pair", "a": "a", "b": "b", "count": 3},
    {"kind": "word", "word": "city", "vector": [0, 1]},
    {"kind": "name", "name": "orlan", "linked": 1, "pages": 4},
]  # fmt: skip
TWO = [
    {"id": "c", "name": "Dovel", "links": ["a", "b"], "description": "a river"},
    {"id": "a", "name": "City of Orlan", "description": "a city", "type": "LOC", "popularity": 9,
     "links": ["c"], "aliases": ["Orlan", {"name": "Orlan", "count": 3, "source": "anchors"},
                                 {"name": "Orlanum", "source": "old"}]},
    {"id": "b", "name": "Ohio", "vector": [0, 1]},
    {"kind": "pair", "a": "a", "b": "b", "count": 2},
    {"kind": "pair", "a": "c", "b": "b", "count": 1},
    {"kind": "word", "word": "city", "vector": [1, 0]},
    {"kind": "word", "word": "river", "vector": [1, 0]},
    {"kind": "name", "name": "orlan", "linked": 2, "pages": 2},
    {"kind": "name", "name": "dovel", "linked": 1, "pages": 1},
]  # fmt: skip


@pytest.fixture
def two(tmp_path):
    return [build(tmp_path, ONE, "one"), build(tmp_path, TWO, "two")]


def lines_of(path):
    with KnowledgeBase.open(path) as kb:
        return [json.loads(line) for line in export_lines(kb)]


def test_entities_of_one_id_are_united(two, tmp_path):
    report = merge_kbs(two, tmp_path / "out")
    assert (report.given, report.entities, report.united) == ((2, 3), 3, 2)
    assert (report.vectors, report.vectors_dropped) == (2, ())
    assert check(tmp_path / "out").ok
    with KnowledgeBase.open(tmp_path / "out") as kb:
        assert kb.sources == ("given", "anchors", "old")
        orlan = kb.entity("a")
        assert (orlan.title, orlan.description, orlan.type) == ("Orlan", "a city", "LOC")
        assert (orlan.popularity, orlan.links) == (5, ("b", "c"))
        assert {(a.name, a.source, a.count) for a in orlan.aliases} == {
            ("Orlan", "anchors", 5), ("Orlan", "given", 1), ("Orlanum", "old", 1),
            ("City of Orlan", "given", 1),
        }  # fmt: skip
        assert kb.entity("c").links == ("a", "b")
        assert (kb.cooccurrence("a", "b"), kb.cooccurrence("b", "c")) == (5, 1)
        assert (kb.link_probability("Orlan"), kb.link_probability("Dovel")) == (3 / 6, 1)
        assert math.isnan(kb.link_probability("Ohio"))
        assert kb.vector("a").tolist() == [1, 0]
        assert kb.vector("b").tolist() == [0, 1]
        assert kb.word_vector("city").tolist() == [0, 1]
        assert kb.word_vector("river").tolist() == [1, 0]


def test_the_first_knowledge_base_decides(two, tmp_path):
    merge_kbs(two[::-1], tmp_path / "out")
    with KnowledgeBase.open(tmp_path / "out") as kb:
        assert (kb.entity("a").title, kb.entity("a").popularity) == ("City of Orlan", 9)


def test_a_merge_is_deterministic_and_with_itself_changes_no_links(two, tmp_path):
    merge_kbs(two, tmp_path / "x")
    merge_kbs(two, tmp_path / "y")
    assert lines_of(tmp_path / "x") == lines_of(tmp_path / "y")
    merge_kbs([two[0]] * 2, tmp_path / "self")
    before = [line for line in lines_of(two[0]) if "id" in line]
    after = [line for line in lines_of(tmp_path / "self") if "id" in line]
    assert [line.get("links") for line in before] == [line.get("links") for line in after]


def test_merge_by_title(tmp_path):
    one = build(
        tmp_path, [{"id": "1", "name": "Orlan", "links": ["2"]}, {"id": "2", "name": "B"}], "1"
    )
    two = build(
        tmp_path, [{"id": "x", "name": "C"}, {"id": "y", "name": "Orlan", "links": ["x"]}], "2"
    )
    report = merge_kbs([one, two], tmp_path / "out", by="title")
    assert (report.entities, report.united) == (3, 1)
    with KnowledgeBase.open(tmp_path / "out") as kb:
        assert kb.entity("1").links == ("2", "x")
        assert kb.number("y") is None


def test_similar_titles_are_united(tmp_path):
    one = build(tmp_path, [{"id": "1", "name": "Real Orlan C.F."}, {"id": "2", "name": "Arm"}], "1")
    two = build(
        tmp_path,
        [{"id": "x", "name": "Real Orlan CF"}, {"id": "y", "name": "ARM"}],
        "2",
    )
    three = build(
        tmp_path,
        [{"id": "p", "name": "Real Orlan CF"}, {"id": "q", "name": "Real Orlan Cf"}],
        "3",
    )
    assert merge_kbs([one, two], tmp_path / "out", by="title").entities == 3
    with KnowledgeBase.open(tmp_path / "out") as kb:
        assert {a.name for a in kb.entity("1").aliases} == {"Real Orlan C.F.", "Real Orlan CF"}
    # Of two similar titles in one knowledge base, only an equal one is the same.
    assert merge_kbs([one, two, three], tmp_path / "out", by="title").entities == 5


def test_ambiguous_merges_are_refused(tmp_path):
    one = build(tmp_path, [{"id": "1", "name": "A"}, {"id": "2", "name": "A"}], "one")
    same_title = build(tmp_path, [{"id": "3", "name": "A"}], "title")
    same_id = build(tmp_path, [{"id": "1", "name": "B"}], "id")
    other = build(tmp_path, [{"id": "4", "name": "D"}], "other")
    with pytest.raises(KnowledgeBaseError, match="2 entities have the title 'A'"):
        merge_kbs([one, same_title], tmp_path / "out", by="title")
    with pytest.raises(KnowledgeBaseError, match=r"id '1' is that of 'A' and, in .*of 'B'"):
        merge_kbs([one, same_id], tmp_path / "out", by="title")
    assert merge_kbs([one, other], tmp_path / "out", by="title").entities == 3
    with pytest.raises(SettingsError, match="two"):
        merge_kbs([one], tmp_path / "out")
    with pytest.raises(SettingsError, match="by"):
        merge_kbs([one, other], tmp_path / "out", by="name")


def test_vectors_of_different_dimensions_are_left_out(tmp_path):
    one = build(tmp_path, [{"id": "1", "name": "A", "vector": [1, 0]}], "one")
    two = build(tmp_path, [{"id": "2", "name": "B", "vector": [1, 0, 0]}], "two")
    none = build(tmp_path, [{"id": "3", "name": "C"}], "none")
    report = merge_kbs([one, two], tmp_path / "out")
    assert (report.vectors, report.vectors_dropped) == (0, (2, 3))
    assert check(tmp_path / "out").ok
    assert merge_kbs([one, none], tmp_path / "out").vectors == 1


def test_removed_entities_stay_away(two, tmp_path):
    update.remove(two[1], ["b"])
    report = merge_kbs(two, tmp_path / "out")
    assert report.given == (2, 2)
    with KnowledgeBase.open(tmp_path / "out") as kb:
        assert (kb.entity("c").links, kb.entity("a").links) == (("a",), ("b", "c"))
        assert kb.cooccurrence("b", "c") == 0
    assert check(tmp_path / "out").ok


def test_an_error_leaves_the_old_one_and_inputs_may_be_replaced(two, tmp_path):
    before = lines_of(two[0])
    with pytest.raises(KnowledgeBaseError):
        merge_kbs([two[0], tmp_path / "missing"], two[0])
    assert lines_of(two[0]) == before
    merge_kbs(two, two[0])
    assert len([line for line in lines_of(two[0]) if "id" in line]) == 3
