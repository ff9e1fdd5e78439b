"""The store of facts: whatever was asked before, the facts are those made directly."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from experiments.entity_tables import TableSource
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.update import update
from sgtb.linking.entities.background import Background
from sgtb.linking.entities.entity_facts import EntityFacts, FactStore
from sgtb.linking.entities.entity_source import KbSource
from tests.helpers.kb_worlds import write_lines
from tests.helpers.linking_builders import (
    assert_same_arrays,
    documents,
    kb_of,
    small_setting,
    world,
)


class Counted(TableSource):
    """A source that knows whom it was asked about."""

    def __init__(self, table):
        super().__init__(table)
        self.asked = []

    def rows(self, numbers):
        self.asked += numbers.tolist()
        return super().rows(numbers)


class Side:
    """A store, and the facts made without it."""

    def __init__(self, room=1 << 16):
        setting = small_setting()
        self.source = Counted(setting.entities)
        everyone = np.arange(len(setting.entities))
        self.background = Background.of(setting.lexicon, self.source, everyone)
        self.source.asked.clear()
        self.store = FactStore(self.source, self.background, room)

    def direct(self, numbers):
        plain = TableSource(world())
        return EntityFacts.describe(plain, self.background, np.array(numbers, np.int64))

    def check(self, numbers):
        found = self.store.facts(np.array(numbers, np.int64))
        assert_same_arrays(found, self.direct(numbers))
        assert_same_arrays(found.links, self.direct(numbers).links)


ORDERS = [
    [[0, 1, 2], [0, 1, 2]],
    [[30, 35], [0, 30], [1, 35]],
    [[], [4], [], [4, 5]],
    [[5], [3], [1], [1, 3, 5]],
    [list(range(36)), [7], [0, 35]],
    [[2, 9, 20], [9], [3, 9, 21], list(range(36))],
]


@pytest.mark.parametrize("order", ORDERS)
def test_in_any_order_of_asking(order):
    side = Side()
    for numbers in order:
        side.check(numbers)


@pytest.mark.parametrize("order", ORDERS)
def test_what_was_made_is_not_made_again(order):
    side = Side()
    for numbers in order:
        side.store.facts(np.array(numbers, np.int64))
    assert sorted(side.source.asked) == sorted({n for numbers in order for n in numbers})


@pytest.mark.parametrize("room", [1, 3, 7])
@pytest.mark.parametrize("order", ORDERS)
def test_in_a_tiny_room(order, room):
    side = Side(room)
    for numbers in order + order[::-1]:
        side.check(numbers)


def test_at_random_in_a_small_room():
    side, rng = Side(12), np.random.default_rng(0)
    for _ in range(60):
        side.check(np.flatnonzero(rng.random(36) < rng.choice([0.05, 0.3])).tolist())
    # It forgot now and then, and remembered more often.
    assert 36 < len(side.source.asked) < 400


def test_many_more_than_there_was_room_for_at_first():
    """Columns grow beyond the rows that they begin with."""
    setting = small_setting()
    table, n = setting.entities, 60
    wide = replace(
        table, ids=tuple(f"e{i:04}" for i in range(n * len(table))), titles=table.titles * n,
        types=table.types * n, in_links=np.tile(table.in_links, n),
        out_links=np.tile(table.out_links, n), popularity=np.tile(table.popularity, n),
    )  # fmt: skip
    source = TableSource(wide)
    background = Background.of(setting.lexicon, source, np.arange(36))
    store = FactStore(source, background)
    for first in range(0, len(wide), 500):
        store.facts(np.arange(first, min(first + 500, len(wide))))
    some = np.arange(0, len(wide), 7)
    assert_same_arrays(store.facts(some), EntityFacts.describe(source, background, some))


def test_what_is_handed_out_is_a_copy():
    side = Side()
    found = side.store.facts(np.arange(5))
    for array in (found.topic_vector, found.title_words.data, found.fingerprints.words.data):
        array[:] = 0
    side.check([0, 1, 2, 3, 4])


def test_after_forgetting_the_source_is_asked_again(tmp_path):
    place = kb_of(tmp_path, world())
    with KnowledgeBase.open(place) as kb:
        source = KbSource(kb)
        background = Background.build(source, documents(4))
        store = FactStore(source, background)
        numbers = np.arange(6)
        before = store.facts(numbers)
        change = [
            {"id": "e101", "name": "Red Fox", "type": "ORG", "popularity": 99},
            {"id": "e102", "links": ["e105"]},
        ]
        update(place, EntityList(write_lines(tmp_path / "new.jsonl", change), partial=True))
        assert kb.refresh()
        assert_same_arrays(store.facts(numbers), before)
        store.forget()
        after = store.facts(numbers)
        assert_same_arrays(after, EntityFacts.describe(source, background, numbers))
    assert after.popularity[1] == 99
    assert after.fingerprints.whole[1] != before.fingerprints.whole[1]
    assert 5 in after.linked.row(2)


def test_threads_may_share_it():
    side = Side(room=10)
    expected = {n: side.direct([n, n + 1, n + 2]) for n in range(0, 33, 3)}
    failures = []

    def ask(seed):
        try:
            for n in np.random.default_rng(seed).permutation(list(expected) * 4).tolist():
                assert_same_arrays(side.store.facts(np.arange(n, n + 3)), expected[n])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
