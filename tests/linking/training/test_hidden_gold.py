"""Hidden gold: drawn by document, NIL wherever it is meant, and seen as by a smaller one."""

from dataclasses import replace

import numpy as np
import pytest

from sgtb.core.records import NIL
from sgtb.kb import KnowledgeBase
from sgtb.kb.update import remove
from sgtb.linking.candidates.candidate_lookup import CandidateFinder, CandidateSettings
from sgtb.linking.candidates.weak_names import TrainedNames
from sgtb.linking.training.gold import hide_gold


def test_all_mentions_of_a_hidden_entity_are_nil(starter_kb, starter):
    documents = starter["train"]
    found = hide_gold(starter_kb, documents, 0.3, (0,))
    n_hidden = n_entities = 0
    for before, after, hidden in zip(documents, *found, strict=True):
        golds = {m.gold for m in before.mentions}
        ids = {starter_kb.id_of(number) for number in hidden}
        assert ids <= golds
        assert [NIL if m.gold in ids else m.gold for m in before.mentions] == [
            m.gold for m in after.mentions
        ]
        n_hidden, n_entities = n_hidden + len(ids), n_entities + len(golds)
    assert 0.25 < n_hidden / n_entities < 0.37


def test_draws_depend_on_the_seed_alone(starter_kb, starter):
    documents = starter["dev"]
    one, again, other = (hide_gold(starter_kb, documents, 0.3, (seed,)) for seed in (0, 0, 1))
    assert one == again != other
    nothing = hide_gold(starter_kb, documents, 0.0, (0,))
    assert nothing[0] == [*documents]
    assert not any(nothing[1])


@pytest.mark.parametrize("fuzzy", [False, True])
def test_candidates_are_those_of_a_knowledge_base_without_them(
    own_place, starter_kb, starter, fuzzy
):
    """The twin removes the entities from a copy of the knowledge base."""
    documents = starter["dev"]
    golds = sorted({m.gold for d in documents for m in d.mentions})
    gone = golds[::5]
    settings = CandidateSettings(fuzzy=fuzzy)
    trained = TrainedNames.of([("the gone", gone[0]), ("the gone", golds[1])])
    numbers = frozenset(starter_kb.number(id_) for id_ in gone)
    finder = CandidateFinder(starter_kb, settings, trained)
    hidden = finder.find(documents, None, [numbers] * len(documents))
    remove(own_place, gone)
    with KnowledgeBase.open(own_place) as smaller:
        removed = CandidateFinder(smaller, settings, trained).find(documents)
    if not fuzzy:  # the index of similar names is searched to another depth after an update
        np.testing.assert_array_equal(hidden.offsets, removed.offsets)
        assert hidden.found == removed.found
        order, other = (
            np.lexsort((x.entity, np.repeat(np.arange(len(x.found)), np.diff(x.offsets))))
            for x in (hidden, removed)
        )
        np.testing.assert_array_equal(hidden.entity[order], removed.entity[other])
        np.testing.assert_array_equal(hidden.match[order], removed.match[other])
    assert not np.isin(hidden.entity, sorted(numbers)).any()
    whole = finder.find(documents)
    assert np.isin(whole.entity, sorted(numbers)).any()


def test_every_document_hides_its_own(starter_kb, starter):
    documents = starter["dev"][:20]
    hidden = hide_gold(starter_kb, documents, 0.5, (0,))
    finder = CandidateFinder(starter_kb)
    together = finder.find(hidden[0], range(20), hidden[1])
    apart = [
        finder.find([document], [0], [entities]) for document, entities in zip(*hidden, strict=True)
    ]
    np.testing.assert_array_equal(together.entity, np.concatenate([one.entity for one in apart]))
    np.testing.assert_array_equal(
        np.diff(together.offsets), np.concatenate([np.diff(one.offsets) for one in apart])
    )
    assert together.found == tuple(how for one in apart for how in one.found)


def test_given_candidates_are_hidden_too(starter_kb, starter):
    document = starter["dev"][0]
    first = document.mentions[0]
    given = replace(document, mentions=(replace(first, candidates=(first.gold, "Paris")),))
    number = starter_kb.number(first.gold)
    found = CandidateFinder(starter_kb).find([given], None, [{number}])
    assert found.entity.tolist() == [starter_kb.number("Paris")]
