"""NIL scores: links and NILs counted apart, and thresholds that move between them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgtb.core.errors import ProblemsError
from sgtb.core.records import NIL
from sgtb.evaluation import (
    NilScores,
    PrecisionRecall,
    SystemAnswers,
    in_kb_accuracy,
    nil_curve,
    nil_scores,
)
from tests.helpers.answer_builders import document
from tests.helpers.strategies import answered


def test_every_kind_of_answer_counts_where_it_should():
    documents = [document("d", "a", "b", "c", NIL, NIL, None)]
    #                          right, wrong, NIL invented, NIL missed, right NIL, nobody knows
    answers = SystemAnswers.of(documents, [["a", "x", None, "y", NIL, "z"]])
    scores = nil_scores(documents, answers)
    assert scores.links == PrecisionRecall(right=1, predicted=3, gold=3)
    assert scores.nil == PrecisionRecall(right=1, predicted=2, gold=2)
    assert scores.accuracy == 2 / 5


def test_shares():
    score = PrecisionRecall(right=2, predicted=4, gold=8)
    assert (score.precision, score.recall, score.f1) == (1 / 2, 1 / 4, 1 / 3)
    empty = PrecisionRecall(0, 0, 0)
    assert all(math.isnan(value) for value in (empty.precision, empty.recall, empty.f1))
    assert math.isnan(NilScores(empty, empty).accuracy)


@given(answered())
def test_links_that_are_right_are_those_of_the_accuracy(case):
    documents, answers = case
    scores, accuracy = nil_scores(documents, answers), in_kb_accuracy(documents, answers)
    assert (scores.links.right, scores.links.gold) == (accuracy.correct, accuracy.total)
    annotated = sum(m.gold is not None for d in documents for m in d.mentions)
    assert (
        scores.links.predicted + scores.nil.predicted
        == scores.links.gold + scores.nil.gold
        == annotated
    )


def slow_curve(confidence, right, outside):
    """Every threshold tried by itself."""
    points = []
    for threshold in [0.0, *sorted({c for c in confidence if c > 0}), math.inf]:
        nil = [c < threshold for c in confidence]
        found = sum(n and o for n, o in zip(nil, outside, strict=True))
        kept = sum(
            r and not n and not o for n, r, o in zip(nil, right, outside, strict=True)
        )  # fmt: skip
        inside = outside.count(False)
        points.append(
            (
                threshold, found / sum(nil) if any(nil) else math.nan, found / outside.count(True),
                kept / inside if inside else math.nan,
            )
        )  # fmt: skip
    return np.array(points).T


@given(
    st.lists(
        st.tuples(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]), st.booleans(), st.booleans()),
        min_size=1,
        max_size=30,
    ).filter(lambda rows: any(outside for _, _, outside in rows))
)
def test_the_curve_agrees_with_trying_every_threshold(rows):
    confidence, right, outside = ([row[i] for row in rows] for i in range(3))
    curve = nil_curve(np.array(confidence), np.array(right), np.array(outside))
    found = np.array([curve.threshold, curve.precision, curve.recall, curve.in_kb])
    np.testing.assert_allclose(found, slow_curve(confidence, right, outside))
    assert curve.recall[-1] == 1
    assert (np.diff(curve.recall) >= 0).all()
    assert 0 <= curve.area <= 1 + 1e-9


def test_the_best_point_and_the_area():
    # Linked from 0.5 on, all is right.
    curve = nil_curve(
        np.array([0.9, 0.5, 0.4, 0.2, -1]), np.array([1, 1, 0, 0, 0], bool),
        np.array([0, 0, 1, 1, 1], bool),
    )  # fmt: skip
    assert curve.threshold[curve.best] == 0.5
    assert curve.f1[curve.best] == curve.in_kb[curve.best] == curve.area == 1
    assert curve.recall[0] == pytest.approx(1 / 3), "what has no candidate is NIL in any case"
    assert curve.in_kb[-1] == 0


def test_a_curve_needs_something_outside_and_one_number_a_mention():
    one = np.array([0.5])
    with pytest.raises(ProblemsError, match="no NIL to find"):
        nil_curve(one, np.array([True]), np.array([False]))
    with pytest.raises(ProblemsError, match="one per mention"):
        nil_curve(one, np.array([True]), np.array([True, True]))
