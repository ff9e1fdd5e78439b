"""Breakdowns: the right slice for every mention, and slices that add up."""

from dataclasses import replace

import pytest
from hypothesis import given

from sgtb.core.errors import SettingsError
from sgtb.core.records import NIL, Token
from sgtb.evaluation import Slice, SystemAnswers, breakdown, in_kb_accuracy
from tests.helpers.answer_builders import document, mention, perfect
from tests.helpers.strategies import answered


def with_candidates(n: int):
    return mention("a", candidates=tuple(f"e{i}" for i in range(n)))


def test_by_ambiguity():
    sizes = [31, 0, 1, 2, 5, 6, 10, 11, 20, 21, 30, 500]
    documents = [document("d", *map(with_candidates, sizes), mention("a"), mention(NIL))]
    said = ["a" if n in (1, 5, 30, 500) else "b" for n in sizes]
    assert breakdown(documents, SystemAnswers.of(documents, [[*said, None, "a"]]), "ambiguity") == (
        Slice("0", 0, 2),  # an empty list, and none
        Slice("1", 1, 1),
        Slice("2–5", 1, 2),
        Slice("6–10", 0, 2),
        Slice("11–20", 0, 2),
        Slice("21–30", 1, 2),
        Slice(">30", 1, 2),
    )


def test_by_ambiguity_of_given_candidates():
    documents = [document("d", with_candidates(9), with_candidates(9))]
    slices = breakdown(documents, perfect(documents), "ambiguity", [[["a"], ["a", "b"]]])
    assert slices == (Slice("1", 1, 1), Slice("2–5", 1, 1))


def test_by_type():
    documents = [
        document("d", mention("a", type="PER"), mention("a"), mention("a", type="LOC")),
        document("e", mention("a", type="PER"), mention(NIL, type="MISC"), mention("a", type="")),
    ]
    said = [["a", "b", "b"], ["b", "a", "a"]]
    assert breakdown(documents, SystemAnswers.of(documents, said), "type") == (
        Slice("LOC", 0, 1),
        Slice("PER", 1, 2),
        Slice("?", 1, 2),  # after all types
    )


def test_by_length():
    lengths = [41, 1, 5, 6, 10, 11, 20, 21, 40, 0]
    # Mentions outside the knowledge base do not make a document longer.
    documents = [document(f"d{n}", *["a"] * n, *[NIL] * 50) for n in lengths]
    said = [["a" if n in (5, 41) else "b"] * (n + 50) for n in lengths]
    assert breakdown(documents, SystemAnswers.of(documents, said), "length") == (
        Slice("1–5", 5, 1 + 5),
        Slice("6–10", 0, 6 + 10),
        Slice("11–20", 0, 11 + 20),
        Slice("21–40", 0, 21 + 40),
        Slice(">40", 41, 41),
    )


def test_by_words():
    documents = [
        replace(document(f"d{n}", "a"), tokens=tuple(Token("x", i, i + 1) for i in range(n)))
        for n in (0, 50, 51, 100, 1001)
    ]
    assert breakdown(documents, perfect(documents), "words") == (
        Slice("0–50", 2, 2),
        Slice("51–100", 2, 2),
        Slice(">1000", 1, 1),
    )


def test_by_frequency():
    documents = [document("d", "a", "b", "c", "d", "e", NIL)]
    said = SystemAnswers.of(documents, [["a", "x", "c", "d", "e", "a"]])
    seen = {"b": 1, "c": 2, "d": 9, "e": 100, NIL: 7}
    assert breakdown(documents, said, "frequency", seen=seen) == (
        Slice("0", 1, 1),  # never met in training
        Slice("1", 0, 1),
        Slice("2–9", 2, 2),
        Slice(">99", 1, 1),
    )


def test_a_breakdown_by_frequency_needs_to_know_what_was_seen():
    with pytest.raises(SettingsError, match="seen"):
        breakdown([], SystemAnswers.of([], []), "frequency")


def test_a_slice_knows_its_accuracy():
    assert Slice("x", 1, 4).accuracy == 1 / 4


def test_nothing_has_no_slices():
    assert breakdown([], SystemAnswers.of([], []), "type") == ()


def test_an_unknown_breakdown_is_refused():
    with pytest.raises(SettingsError, match=r"'size'.*ambiguity, type, length"):
        breakdown([], SystemAnswers.of([], []), "size")


@pytest.mark.parametrize("by", ["ambiguity", "type", "length", "words", "frequency"])
@given(answered())
def test_slices_add_up_to_the_whole(by, case):
    documents, answers = case
    slices = breakdown(documents, answers, by, seen={"a": 1, "b": 5})
    whole = in_kb_accuracy(documents, answers)
    assert sum(s.correct for s in slices) == whole.correct
    assert sum(s.total for s in slices) == whole.total
    assert all(0 <= s.accuracy <= 1 for s in slices)
    assert len({s.label for s in slices}) == len(slices)
