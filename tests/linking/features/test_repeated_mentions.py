"""Repeats: what a mention has in common with one before it, and what tells them apart."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.entity_tables import listed_candidates
from sgtb.linking.features.contexts import Contexts, Repeats
from tests.helpers.linking_builders import document, documents, entity_table, lexicon_of, world


def sides_of(texts, entities):
    candidates = listed_candidates(texts, entities)
    return candidates, Contexts.build(candidates, lexicon_of(texts, entities))


def test_what_is_told_once_is_said_again():
    candidates, contexts = sides_of(documents(12), world())
    repeats = Repeats.of(candidates, contexts)
    once = repeats.once
    assert 0 < len(once.mentions) < len(candidates.mentions)
    assert once.entity[repeats.place].tolist() == candidates.entity.tolist()
    assert np.array_equal(once.prior[repeats.place], candidates.prior, equal_nan=True)
    assert sorted(repeats.mentions.data.tolist()) == list(range(len(candidates.mentions)))
    for r, mention in enumerate(once.mentions):
        own = repeats.mentions.row(r).tolist()
        assert mention is candidates.mentions[own[0]]
        assert own == sorted(own)
        document_of = np.searchsorted(candidates.mention_offsets, own, side="right")
        assert set(document_of) == {np.searchsorted(once.mention_offsets, r, side="right")}
        assert {contexts.names[m] for m in own} == {repeats.names[r]}
        assert {contexts.full_names[m] for m in own} == {repeats.full_names[r]}


@pytest.mark.parametrize(
    ("first", "second", "n"),
    [
        ("[Orlan|e100||e100,e101]", "[Orlan|e100||e100,e101]", 1),
        ("[Orlan|e100||e100,e101]", "[ORLAN|e100||e100,e101]", 1),
        ("[Orlan|e100||e100,e101]", "[Orlan|e100||e100]", 2),
        ("[Orlan|e100||e100,e101]", "[Orla|e100||e100,e101]", 2),
    ],
)
def test_names_and_candidates_make_a_repeat(first, second, n):
    entities = entity_table(["Orlan", "Orlan (city)"])
    candidates, contexts = sides_of(
        [document("1", f"{first} won .", f"So did {second} .")], entities
    )
    assert len(Repeats.of(candidates, contexts).once.mentions) == n


def test_documents_do_not_repeat_each_other():
    entities = entity_table(["Orlan"])
    texts = [document(str(i), "[Orlan|e100||e100] won .") for i in range(2)]
    candidates, contexts = sides_of(texts, entities)
    assert Repeats.of(candidates, contexts).once.mention_offsets.tolist() == [0, 1, 2]


def test_another_prior_is_no_repeat():
    entities = entity_table(["Orlan"])
    text = document("1", "[Orlan|e100||e100] met [Orlan|e100||e100] .")
    candidates, contexts = sides_of([text], entities)
    changed = replace(candidates, prior=np.array([0.5, 0.25], np.float32))
    assert len(Repeats.of(candidates, contexts).once.mentions) == 1
    assert len(Repeats.of(changed, contexts).once.mentions) == 2


def test_lists_of_one_name_may_take_turns():
    entities = entity_table(["Orlan", "Orlan (city)"])
    lists = ["e100", "e100,e101", "e100", "e101", "e100,e101", "e100"]
    text = document("1", *(f"[Orlan|e100||{ids}] won ." for ids in lists))
    repeats = Repeats.of(*sides_of([text, text], entities))
    groups = [repeats.mentions.row(r).tolist() for r in range(len(repeats.once.mentions))]
    assert groups == [[0, 2, 5], [1, 4], [3], [6, 8, 11], [7, 10], [9]]
    assert repeats.once.mention_offsets.tolist() == [0, 3, 6]


def test_nothing_is_repeated_where_nothing_is():
    entities = entity_table(["Orlan"])
    repeats = Repeats.of(*sides_of([document("1", "Nobody won .")], entities))
    assert repeats.once.mention_offsets.tolist() == [0, 0]
    assert repeats.mentions.indptr.tolist() == [0]
    assert len(repeats.place) == 0
