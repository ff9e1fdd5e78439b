"""Names and what they may stand for, gathered from lists and titles, never from gold."""

from dataclasses import replace

from experiments.name_table import NameTable
from sgtb.core.entities import EntityTable
from sgtb.core.records import NIL
from tests.helpers.linking_builders import document, entity_table

TITLES = (
    "Orlan", "Orlan Rovers", "Vessa", "Vessa F.C.", "Anna Meck", "Anna Meck (poet)", "Bay of Tor",
)  # fmt: skip
ORLAN, ROVERS, MECK, POET, BAY = "e100", "e101", "e104", "e105", "e106"
LISTED = document("a", f"[Orlan|{ORLAN}||{ORLAN},{ROVERS}] met [Meck|{MECK}||{MECK},{POET}]")


def entities() -> EntityTable:
    return entity_table(TITLES)


def test_names_come_from_lists_and_titles() -> None:
    table = NameTable.build([LISTED], entities())
    assert table.ids["orlan"] == {ORLAN, ROVERS}
    assert table.ids["meck"] == {MECK, POET}
    assert table.ids["anna meck"] == {MECK, POET}
    assert table.ids["anna meck poet"] == {POET}
    assert NameTable.build([], entities()).ids["orlan"] == {ORLAN}


def test_golds_change_no_names() -> None:
    other = replace(LISTED, mentions=tuple(replace(m, gold=BAY) for m in LISTED.mentions))
    assert NameTable.build([other], entities()) == NameTable.build([LISTED], entities())


def test_a_name_of_punctuation_stands_for_nothing() -> None:
    listed = document("a", f"[...|{ORLAN}||{ORLAN},{ROVERS}] met [!?|{MECK}||{MECK}]")
    table = NameTable.build([listed], entities())
    assert "" not in table.ids
    assert [m.candidates for m in table.listed(listed).mentions] == [(), ()]


def test_only_a_name_without_candidates_takes_those_of_the_longest_around_it() -> None:
    known = NameTable.build([], entities()).ids
    table = NameTable({**known, "old bay of tor": frozenset([ORLAN]), "tor": frozenset([ROVERS])})
    asked = document(
        "a", *(f"[{name}|{NIL}]" for name in ("Tor", "Bay of Tor", "Bay", "Old Bay of Tor", "To"))
    )
    found = {m.text: m.candidates for m in table.listed(asked).mentions}
    assert found["Tor"] == (ROVERS,), "has its own"
    assert found["Bay of Tor"] == (BAY,)
    assert found["Bay"] == (ORLAN,), "the longest"
    assert found["To"] == (), "whole words only"
