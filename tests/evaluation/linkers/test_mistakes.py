"""Mistakes: all that were counted come back, each of its kind, and no others."""

from dataclasses import replace

import pytest

from sgtb.core.records import NIL, Mention
from sgtb.evaluation.linkers import EvaluationSettings, evaluate_linkers, find_mistakes
from sgtb.evaluation.linkers.mistakes import kind_of
from sgtb.linking.links import Alternative, Link

FEW = EvaluationSettings(samples=99)


def link(entity, *candidates):
    others = tuple(Alternative(id_, id_, "", 0.5, 0.5) for id_ in candidates)
    return Link(0, 1, "x", entity, "", "", 0.5, "exact", others)


@pytest.mark.parametrize(
    ("gold", "answer", "kind"),
    [
        ("a", link("b", "b", "c"), "not among candidates"),
        ("a", link(None), "not among candidates"),
        ("a", link("b", "b", "a"), "wrong candidate"),
        ("a", link(None, "b", "a"), "NIL invented"),
        (NIL, link("b", "b", "a"), "NIL missed"),
    ],
)
def test_kinds(gold, answer, kind):
    assert kind_of(Mention(0, 1, 0, 1, "x", gold), answer) == kind


@pytest.fixture(scope="module")
def data(mixed):
    """Two data sets, one of them in splits."""
    half = len(mixed) // 2
    split = [replace(d, split="dev" if i % 3 else "test") for i, d in enumerate(mixed[half:])]
    return {"one": mixed[:half], "two": split}


@pytest.fixture(scope="module")
def evaluation(linker, data):
    return evaluate_linkers({"a": linker}, data, FEW)


def wrong_ones(linker, documents):
    """The mistakes, the slow way."""
    for document in documents:
        for mention, link in zip(document.mentions, linker.link(document).links, strict=True):
            gold = None if mention.gold in (NIL, "Q999") else mention.gold
            if link.entity != gold:
                yield document.id, mention.start, gold, link.entity


def test_all_mistakes_come_back_with_reasons(linker, data, evaluation):
    found = list(find_mistakes({"a": linker}, data, evaluation))
    wanted = [one for documents in data.values() for one in wrong_ones(linker, documents)]
    assert [(m.document, m.link.start, m.gold, m.link.entity) for m in found] == wanted
    assert len(found) == sum(len(one.systems["a"].wrong) for one in evaluation.sets) > 3
    assert {m.data for m in found} <= {"one", "two, dev", "two, test"}
    assert all(m.link.reasons for m in found if len(m.link.candidates) > 1)
    texts = {d.id: d.text for documents in data.values() for d in documents}
    for m in found:
        assert m.before + m.link.text + m.after in texts[m.document]
    missed = [m for m in found if m.kind == "NIL missed"]
    assert {m.gold_title for m in missed} == {"", "A title nobody has"}


def test_of_many_some_are_taken_at_even_distances(linker, data, evaluation):
    whole = list(find_mistakes({"a": linker}, data, evaluation))
    some = list(find_mistakes({"a": linker}, data, evaluation, most=2))
    for one in evaluation.sets:
        all_of_them = [(m.document, m.link.start) for m in whole if m.data == one.name]
        kept = [(m.document, m.link.start) for m in some if m.data == one.name]
        assert len(kept) == min(2, len(all_of_them))
        if len(all_of_them) > 2:
            assert kept == [all_of_them[0], all_of_them[-1]]
