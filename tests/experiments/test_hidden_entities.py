"""Hidden entities: what is removed, and what is counted afterwards."""

import json
from dataclasses import replace

import pytest

from experiments.hidden_entities import HEADINGS, drawn, notes, rows, run_hidden
from experiments.starter_data import read_starter
from sgtb.core.records import NIL
from sgtb.kb import KnowledgeBase
from sgtb.linking.training.linker_training import train_linker
from sgtb.starter import KB
from tests.helpers.trained_linkers import QUICK


@pytest.fixture(scope="module")
def kb():
    with KnowledgeBase.open(KB) as kb:
        yield kb


@pytest.fixture(scope="module")
def documents():
    return read_starter()["dev"][:30]


@pytest.fixture(scope="module")
def scores(kb, documents):
    settings = replace(QUICK, nil="candidate", hidden=0.3)
    model = train_linker(kb, read_starter()["train"], (), settings)
    return run_hidden("dev", model, kb, documents, 2)


def test_a_fifth_of_the_entities_is_drawn(documents):
    golds = {m.gold for d in documents for m in d.mentions if m.gold not in (NIL, None)}
    one, again, other = (drawn(documents, 0.2, seed) for seed in (0, 0, 1))
    assert one == again != other
    assert {*one} <= golds
    assert len(one) == round(0.2 * len(golds))


def test_mentions_of_removed_entities_are_nil(scores, kb, documents):
    for draw, one in enumerate(scores):
        gone = drawn(documents, 0.2, draw)
        n = sum(m.gold in gone for d in documents for m in d.mentions)
        assert (one.removed, one.nil.gold) == (len(gone), n)
        assert one.decided.gold <= n
        assert one.after <= one.always + 1e-9
        assert 0 < one.confident.right <= one.confident.predicted
        assert 0 <= one.ece < 0.5
    assert all(kb.number(id_) is not None for id_ in drawn(documents, 0.2, 0))  # only in the copy


def test_the_table(scores):
    about = {"plan": "bsg", "seed": 0, "note": "By name.", "seconds": 1.0}
    runs = [one.to_dict() for one in scores]
    record = json.loads(json.dumps({**about, "runs": runs}, allow_nan=False))
    assert {len(row) for row in rows(record)} == {len(HEADINGS)}
    assert any("By name." in note for note in notes(record))
