"""Hidden entities: the lists and priors of a knowledge base without them."""

import numpy as np

from sgtb.kb import KnowledgeBase
from sgtb.kb.update import remove
from sgtb.linking.candidates.candidate_table import NOTHING, are_hidden, candidate_lists, runs

K = 50


def test_lists_are_those_of_a_knowledge_base_without_them(own_place, starter_kb):
    """The twin removes the entities from a copy of the knowledge base."""
    names = sorted({*starter_kb.names()})
    gone = [*starter_kb.ids()][::4]
    numbers = frozenset(starter_kb.number(id_) for id_ in gone)
    hidden = candidate_lists(starter_kb, names, K, numbers)
    remove(own_place, gone)
    with KnowledgeBase.open(own_place) as smaller:
        removed = smaller.candidate_lists(names, K)
    np.testing.assert_array_equal(hidden.offsets, removed.offsets)
    np.testing.assert_array_equal(hidden.prior, removed.prior)
    owner = np.repeat(np.arange(len(names)), np.diff(hidden.offsets))
    # Of equal priors, the order is by popularity, in which removed links have a share.
    one, other = (np.lexsort((x.entity, -x.prior, owner)) for x in (hidden, removed))
    np.testing.assert_array_equal(hidden.entity[one], removed.entity[other])
    np.testing.assert_array_equal(hidden.variant[one], removed.variant[other])


def test_nothing_hidden_changes_nothing(starter_kb):
    names = [*starter_kb.names()][:100]
    lists, same = (
        starter_kb.candidate_lists(names, K),
        candidate_lists(starter_kb, names, K, NOTHING),
    )
    assert all(np.array_equal(a, b) for a, b in zip(lists, same, strict=True))
    assert not are_hidden(lists.entity, NOTHING).any()


def test_runs_of_equal_sets():
    a, b = frozenset([1]), frozenset([2])
    assert [*runs([a, a, b, a])] == [(0, 2), (2, 3), (3, 4)]
    assert [*runs([])] == []
