"""CandidateTable: what is kept of a list of candidates, and in what order."""

import itertools
import re

import pytest

from experiments.entity_tables import TOP, listed_candidates
from sgtb.core.errors import ProblemsError
from sgtb.core.records import NIL
from tests.helpers.linking_builders import document, entity_table

ENTITIES = entity_table(list("ABCDEF"), in_links=[5, 9, 5, 1, 5, 9])


def chosen(candidates, mention=0):
    first, last = candidates.candidate_offsets[mention : mention + 2]
    return [ENTITIES.ids[e] for e in candidates.entity[first:last]]


def test_most_in_links_come_first_then_the_lower_id():
    text = document("1", "[x|e103||e104,e103,e102,e105,e101,e100]")
    candidates = listed_candidates([text], ENTITIES)
    assert chosen(candidates) == ["e101", "e105", "e100", "e102", "e104", "e103"]
    assert candidates.gold.tolist() == [5]


@pytest.mark.parametrize("order", list(itertools.permutations(["e100", "e101", "e102", "e103"])))
def test_the_order_of_the_list_has_no_say(order):
    text = document("1", f"[x|{order[0]}||{','.join(order)}]")
    candidates = listed_candidates([text], ENTITIES, top=3)
    assert chosen(candidates) == ["e101", "e100", "e102"]
    # The gold is not kept for being the gold.
    assert candidates.gold.tolist() == [{"e101": 0, "e100": 1, "e102": 2, "e103": -1}[order[0]]]


def test_the_cut_is_at_thirty_as_in_the_paper():
    many = entity_table([f"T{i}" for i in range(40)], in_links=range(40))
    text = document("1", f"[x|e100||{','.join(many.ids)}]")
    candidates = listed_candidates([text], many)
    assert TOP == 30
    assert candidates.entity.tolist() == list(range(39, 9, -1))
    assert candidates.gold.tolist() == [-1]


def test_a_candidate_listed_twice_counts_once():
    assert chosen(listed_candidates([document("1", "[x|e100||e100,e102,e100]")], ENTITIES)) == [
        "e100",
        "e102",
    ]


def test_offsets_and_the_mentions_asked_about():
    texts = [
        document("1", f"[a|e100||e100,e101] [b|{NIL}||e101] [c||]"),
        document("2", "nothing here"),
        document("3", "[d|e103||] [e|e999||e102,e103]"),
    ]
    candidates = listed_candidates(texts, ENTITIES)
    assert [mention.text for mention in candidates.mentions] == ["a", "d", "e"]
    assert candidates.mention_offsets.tolist() == [0, 1, 1, 3]
    assert candidates.candidate_offsets.tolist() == [0, 2, 2, 4]
    assert candidates.gold.tolist() == [1, -1, -1]  # d has no candidates, e's gold is none of them
    assert candidates.n_candidates == 4
    assert candidates.documents == tuple(texts)
    everyone = listed_candidates(texts[:1], ENTITIES, wanted=lambda m: m.candidates is not None)
    assert [mention.text for mention in everyone.mentions] == ["a", "b"]


def test_no_documents_are_fine():
    candidates = listed_candidates([], ENTITIES)
    assert candidates.mention_offsets.tolist() == [0]
    assert candidates.candidate_offsets.tolist() == [0]
    assert candidates.n_candidates == 0


def test_an_unknown_candidate_is_named_with_its_document():
    text = document("77", "[Orlan|e100||e100,e555]")
    with pytest.raises(ProblemsError, match=re.escape("document 77: candidate 'e555' of 'Orlan'")):
        listed_candidates([text], ENTITIES)


def test_a_mention_without_a_list_is_named_with_its_document():
    with pytest.raises(ProblemsError, match="document 78: 'Orlan' at 3 lists no candidates"):
        listed_candidates([document("78", "In [Orlan|e100]")], ENTITIES)
