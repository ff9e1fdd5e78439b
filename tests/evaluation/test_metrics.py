"""Metrics against arithmetic done by hand."""

import math

import numpy as np
import pytest
from hypothesis import given

from sgtb.core.errors import ProblemsError
from sgtb.core.records import NIL
from sgtb.evaluation import (
    Accuracy,
    PrecisionRecall,
    Recall,
    SystemAnswers,
    ambiguity,
    bag_of_titles,
    candidate_recall,
    in_kb_accuracy,
)
from tests.helpers.answer_builders import accuracy, document, mention, perfect
from tests.helpers.strategies import answered


def titles(gold, said, **options) -> PrecisionRecall:
    """The score of one document with these golds and answers."""
    documents = [document("d", *gold)]
    return bag_of_titles(documents, SystemAnswers.of(documents, [said]), **options)


# In-KB accuracy


def test_micro_counts_mentions_and_macro_documents():
    documents = [document("long", "a", "b", "c", "d"), document("short", "a")]
    result = in_kb_accuracy(documents, SystemAnswers.of(documents, [["a", "x", "x", "x"], ["a"]]))
    assert result.documents == ("long", "short")
    assert result.document_correct.tolist() == [1, 1]
    assert result.document_total.tolist() == [4, 1]
    assert (result.correct, result.total) == (2, 5)
    assert result.micro == 2 / 5
    assert result.macro == (1 / 4 + 1 / 1) / 2


def test_nil_and_unannotated_mentions_are_ignored_whatever_is_said():
    documents = [document("d", "a", NIL, None, NIL, None)]
    for said in (["a", NIL, None, "b", "b"], ["a", "b", "b", None, NIL]):
        result = in_kb_accuracy(documents, SystemAnswers.of(documents, [said]))
        assert (result.correct, result.total) == (1, 1)


@pytest.mark.parametrize("said", [None, NIL, "", "A"])
def test_no_answer_is_a_wrong_answer(said):
    documents = [document("d", "a", mention("b", candidates=()))]
    result = in_kb_accuracy(documents, SystemAnswers.of(documents, [["a", said]]))
    assert (result.correct, result.total) == (1, 2)


def test_documents_without_in_kb_mentions_have_no_say_in_macro():
    documents = [document("a", "a", "b"), document("nil", NIL), document("empty")]
    result = in_kb_accuracy(documents, SystemAnswers.of(documents, [["a", "a"], ["b"], []]))
    assert result.document_total.tolist() == [2, 0, 0]
    assert result.micro == result.macro == 1 / 2


@pytest.mark.parametrize("documents", [[], [document("nil", NIL)], [document("empty")]])
def test_the_accuracy_of_nothing_is_nan(documents):
    result = in_kb_accuracy(documents, perfect(documents))
    assert (result.correct, result.total) == (0, 0)
    assert math.isnan(result.micro)
    assert math.isnan(result.macro)


def test_impossible_counts_are_refused():
    with pytest.raises(ProblemsError, match="document d1: 3 correct of 2"):
        accuracy([1, 3], [1, 2])
    with pytest.raises(ProblemsError, match="document d0: -1 correct"):
        accuracy([-1], [1])
    with pytest.raises(ProblemsError, match="1 documents"):
        Accuracy(("d",), np.zeros(2, np.int64), np.zeros(1, np.int64))


@given(answered())
def test_accuracy_is_a_share(case):
    documents, answers = case
    result = in_kb_accuracy(documents, answers)
    assert result.total == sum(m.in_kb for d in documents for m in d.mentions)
    if result.total:
        assert 0 <= result.micro <= 1
        assert 0 <= result.macro <= 1
        assert in_kb_accuracy(documents, perfect(documents)).micro == 1


# Bags of titles


def test_titles_are_counted_once_per_document_and_summed_over_documents():
    # d: predicted {A, B, X}, gold {A, B, C}: 2 right. e: predicted {A}, gold {A}: 1 right.
    documents = [document("d", "A", "A", "B", "C"), document("e", "A", "A")]
    said = [["A", "B", "X", "A"], ["A", "A"]]
    score = bag_of_titles(documents, SystemAnswers.of(documents, said))
    assert (score.right, score.predicted, score.gold) == (2 + 1, 3 + 1, 3 + 1)
    assert score.precision == score.recall == score.f1 == 3 / 4


def test_precision_and_recall_differ():
    # predicted {A, X}, gold {A, B, C}: P = 1/2, R = 1/3, F1 = 2 · 1/2 · 1/3 / (1/2 + 1/3) = 2/5
    score = titles(["A", "B", "C"], ["A", "X", None])
    assert (score.precision, score.recall, score.f1) == (1 / 2, 1 / 3, 2 / 5)


def test_a_title_at_the_wrong_mention_is_still_in_the_bag():
    assert titles(["A", "B"], ["B", "A"]).f1 == 1


def test_mentions_outside_the_kb_are_not_asked():
    score = titles(["A", NIL, None], ["A", "B", "C"])
    assert (score.right, score.predicted, score.gold) == (1, 1, 1)


def test_nil_is_no_title():
    score = titles(["A", "B"], ["A", NIL])
    assert (score.right, score.predicted, score.gold) == (1, 1, 2)


def test_titles_are_compared_in_normal_form():
    score = titles(["new_York  City", "eBay"], [" New York City", "EBay"])
    assert (score.right, score.predicted, score.gold) == (2, 2, 2)


def test_spellings_of_a_title_are_one_title():
    score = titles(["a_b", "A b", "a  b"], ["A_b", "a b", "A b"])
    assert (score.right, score.predicted, score.gold) == (1, 1, 1)


def test_redirects_are_followed_on_both_sides():
    redirects = {"UK": "Great_Britain", "Great Britain": "United Kingdom", "GB": "UK"}
    score = titles(["UK", "Paris"], ["GB", "Paris"], redirects=redirects)
    assert (score.right, score.predicted, score.gold) == (2, 2, 2)
    # Three names, one page: one gold title.
    score = titles(
        ["UK", "GB", "United_Kingdom"], ["Great Britain", None, None], redirects=redirects
    )
    assert (score.right, score.predicted, score.gold) == (1, 1, 1)


def test_redirects_in_a_circle_end():
    redirects = {"A": "B", "B": "C", "C": "B"}
    score = titles(["A", "D"], ["C", "E"], redirects=redirects)
    assert (score.right, score.predicted, score.gold) == (1, 2, 2)


def test_ids_get_their_titles_and_the_annotation_goes_first():
    gold = [mention("1", title="Paris"), mention("2"), mention("3", title="Old name"), mention("9")]
    title_of = {"1": "Paris", "2": "London", "3": "New name"}
    # 3 is right by its id, but only a redirect makes the titles equal; 9 is its own title.
    score = titles(gold, ["1", "2", "3", "9"], title_of=title_of)
    assert (score.right, score.predicted, score.gold) == (3, 4, 4)
    redirects = {"Old name": "New name"}
    assert titles(gold, ["1", "2", "3", "9"], redirects=redirects, title_of=title_of).f1 == 1


def test_scores_of_nothing():
    silent = titles(["A"], [None])
    assert math.isnan(silent.precision)
    assert silent.recall == silent.f1 == 0
    assert math.isnan(titles([], []).f1)


@given(answered())
def test_bags_of_titles_hold_together(case):
    documents, answers = case
    score = bag_of_titles(documents, answers)
    assert 0 <= score.right <= min(score.predicted, score.gold)
    if score.right:
        harmonic = 2 / (1 / score.precision + 1 / score.recall)
        assert score.f1 == pytest.approx(harmonic)


# Candidates


CHOICES = [
    document(
        "d",
        mention("a", candidates=("b", "a", "c")),
        mention("a", candidates=("b",)),
        mention("a", candidates=()),
        mention("a"),
        mention(NIL, candidates=("a", "b", "c", "d")),
        mention(None, candidates=("a",)),
    )
]


def test_recall_is_gold_among_candidates():
    result = candidate_recall(CHOICES)
    assert (result.found, result.total, result.share) == (1, 4, 1 / 4)


def test_recall_of_given_candidates():
    result = candidate_recall(CHOICES, [[["a"], ["a"], ["b", "a"], [], ["x"], []]])
    assert (result.found, result.total, result.share) == (3, 4, 3 / 4)


def test_recall_of_nothing_is_nan():
    assert math.isnan(candidate_recall([]).share)
    assert candidate_recall([]) == Recall(0, 0)


def test_ambiguity_counts_candidates_of_in_kb_mentions():
    result = ambiguity(CHOICES)
    assert (result.mentions, result.candidates, result.without, result.most) == (4, 4, 2, 3)
    assert result.mean == (3 + 1 + 0 + 0) / 4
    assert ambiguity(CHOICES, [[["a"], ["a"], ["b", "a"], [], ["x"], []]]).mean == 4 / 4


def test_ambiguity_of_nothing():
    assert ambiguity([]).most == 0
    assert math.isnan(ambiguity([]).mean)
