"""Types of any name: mapped to the coarse ones, or kept as own ones that features do not know."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from sgtb.core.errors import EntityListError, KnowledgeBaseError
from sgtb.kb import KnowledgeBase, update
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.list_build import build_list
from sgtb.kb.build.type_names import OwnTypes, coarse_type
from sgtb.kb.check import check
from sgtb.kb.entity import TYPES
from sgtb.kb.export import export_lines
from sgtb.linking.answers import LinkBuilder
from sgtb.linking.entities.entity_source import KNOWN_TYPES, KbSource
from tests.helpers.kb_worlds import build, write_lines
from tests.helpers.tampering import patched_row, state


@pytest.mark.parametrize(
    ("name", "coarse"),
    [
        ("PER", "PER"), ("person", "PER"), ("People", "PER"), ("HUMAN", "PER"),
        ("organisation", "ORG"), ("Organization", "ORG"), ("Company", "ORG"),
        ("GPE", "LOC"), ("Place", "LOC"), ("city", "LOC"), ("COUNTRY", "LOC"), ("loc", "LOC"),
        ("other", "MISC"), ("misc", "MISC"),
        ("Disease", "Disease"), ("", ""), ("cities of gold", "cities of gold"),
    ],
)  # fmt: skip
def test_common_names_of_types(name, coarse):
    assert coarse_type(name) == coarse


RECORDS = [
    {"id": "a", "name": "Asthma", "type": "Disease"},
    {"id": "b", "name": "Bonn", "type": "city"},
    {"id": "c", "name": "Codein", "type": " Chemical  compound "},
    {"id": "d", "name": "Diabetes", "type": "Disease"},
    {"id": "e", "name": "Else"},
]


@pytest.fixture
def place(tmp_path):
    return build(tmp_path, RECORDS)


def types(kb):
    return {id_: kb.entity(id_).type for id_ in kb.ids()}


def test_own_types_are_kept_as_text(place, tmp_path):
    expected = dict(
        zip("abcde", ["Disease", "LOC", "Chemical compound", "Disease", ""], strict=True)
    )
    with KnowledgeBase.open(place) as kb:
        assert types(kb) == expected
        assert kb.types_of(np.arange(5)) == list(expected.values())
        assert kb.type_of(2) == "Chemical compound"
        layout = SimpleNamespace(facts=SimpleNamespace(number=np.arange(5)))
        cards = LinkBuilder(kb, (), 0.0)._cards(layout, np.arange(5))
        assert [cards[row][2] for row in range(5)] == list(expected.values())
        exported = list(export_lines(kb))
    (tmp_path / "export.jsonl").write_text("\n".join(exported))
    build_list(tmp_path / "export.jsonl", tmp_path / "again")
    with KnowledgeBase.open(tmp_path / "again") as again:
        assert types(again) == expected
        assert list(export_lines(again)) == exported
    assert check(place).ok


def test_features_take_own_types_for_unknown_ones(place, tmp_path):
    with KnowledgeBase.open(place) as kb:
        assert [TYPES[type_] for type_ in kb.rows["type"]] == ["", "LOC", "", "", ""]
        assert KbSource(kb).rows(np.arange(5)).types == ["", "LOC", "", "", ""]
    own = build(tmp_path, [RECORDS[0]], "own")
    with KnowledgeBase.open(own) as kb:
        assert KNOWN_TYPES not in KbSource(kb).evidence


def test_types_are_added_and_changed(place, tmp_path):
    more = [{"id": "f", "name": "Flu", "type": "Disease"}, {"id": "g", "name": "G", "type": "Gene"}]
    update.add(place, EntityList(write_lines(tmp_path / "more.jsonl", more)))
    changes = [
        {"id": "a", "type": "Gene"}, {"id": "b", "type": "Protein"}, {"id": "c", "type": "Person"},
        {"id": "d", "popularity": 2}, {"id": "e", "type": "Drug"}, {"id": "g", "type": None},
    ]  # fmt: skip
    with KnowledgeBase.open(place) as kb:
        before = kb.info()["fingerprint"]
        path = write_lines(tmp_path / "changes.jsonl", changes)
        update.update(place, EntityList(path, partial=True))
        assert kb.refresh()
        assert types(kb) == dict(
            zip(
                "abcdefg", ["Gene", "Protein", "PER", "Disease", "Drug", "Disease", ""], strict=True
            )
        )
        assert kb.state.own_types == ("Disease", "Chemical compound", "Gene", "Protein", "Drug")
        assert kb.info()["fingerprint"] != before
    assert check(place).ok


def test_changes_to_different_own_types_have_different_fingerprints(tmp_path):
    found = set()
    for name in ("Gene", "Drug"):
        (tmp_path / name).mkdir()
        built = build(tmp_path / name, [{"id": "a", "name": "x", "type": name}])
        with KnowledgeBase.open(built) as kb:
            found.add(kb.info()["fingerprint"])
        path = write_lines(tmp_path / "change.jsonl", [{"id": "a", "type": f"{name} 2"}])
        update.update(built, EntityList(path, partial=True))
        with KnowledgeBase.open(built) as kb:
            found.add(kb.info()["fingerprint"])
    assert len(found) == 4


def test_the_state_is_as_before_without_own_types(tmp_path):
    """Earlier versions refuse a state with keys that they do not know."""
    with KnowledgeBase.open(build(tmp_path, [RECORDS[1], RECORDS[4]])) as kb:
        assert "own_types" not in json.loads(kb.state.pack())
        assert type(kb.state).unpack(kb.path, kb.state.pack()).own_types == ()


def test_too_many_types_are_refused(tmp_path, place):
    records = [{"id": f"Q{i}", "name": "x", "type": f"type {i}"} for i in range(1002)]
    path = write_lines(tmp_path / "many.jsonl", records)
    for action in (
        lambda: build_list(path, tmp_path / "many"),
        lambda: update.add(place, EntityList(path)),
    ):
        with pytest.raises(EntityListError, match=r"type 'type 100\d' is one too many; 1,000"):
            action()
    assert not (tmp_path / "many").exists()
    build_list(write_lines(tmp_path / "most.jsonl", records[:1000]), tmp_path / "most")
    own = OwnTypes()
    assert [own.number(name) for name in ("a", "PER", "b", "a", "")] == [1, 0, 2, 1, 0]


@pytest.mark.parametrize(("number", "field", "value"), [(0, "own_type", 3), (1, "own_type", 1)])
def test_a_type_that_is_not_stated_is_found(place, number, field, value):
    with patched_row(place, number) as row:
        row[field] = value
    assert any("own type" in problem for problem in check(place).problems)


def test_a_state_with_types_that_are_no_texts_is_damaged(place):
    with state(place) as fields:
        fields["own_types"] = [1]
    with pytest.raises(KnowledgeBaseError, match="state record cannot be read"):
        KnowledgeBase.open(place)
