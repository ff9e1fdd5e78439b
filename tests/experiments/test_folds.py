"""Folds: topics stay whole, folds are about equally large, and a seed decides ties."""

from collections import defaultdict

import numpy as np
import pytest

from experiments.folds import headline_folds, topic_of
from sgtb.core.errors import SettingsError
from tests.helpers.linking_builders import document, documents, relabelled


@pytest.mark.parametrize(
    ("lines", "topic"),
    [
        (["TENNIS - ORLAN WINS ."], ("TENNIS",)),
        (["SOCCER - VESSA DRAW ."], ("SOCCER", "VESSA")),
        (["NBA BASKETBALL - STANDINGS ."], ("NBA", "BASKETBALL")),
        (["Orlan - a town"], ("news", "")),
        (["A treaty", "ORLAN 1996-08-22"], ("news", "1996-08-22")),
        (["From 1996-08-21 to 1996-08-22"], ("news", "1996-08-21")),
        (["Nothing to tell"], ("news", "")),
        ([], ("news", "")),
    ],
)
def test_topics(lines, topic):
    assert topic_of(document("1", *lines)) == topic


def test_topics_are_kept_whole_and_folds_about_equal():
    texts = documents(40)
    fold = headline_folds(texts, 3, seed=0)
    folds_of = defaultdict(set)
    size = defaultdict(int)
    for text, number in zip(texts, fold.tolist(), strict=True):
        folds_of[topic_of(text)].add(number)
        size[number] += len(text.mentions)
    assert len(folds_of) > 4
    assert all(len(folds) == 1 for folds in folds_of.values())
    assert sorted(size) == [0, 1, 2]
    largest_topic = max(
        sum(len(text.mentions) for text in texts if topic_of(text) == topic) for topic in folds_of
    )
    assert max(size.values()) - min(size.values()) <= largest_topic
    assert fold.dtype == np.int32


def test_the_same_seed_deals_the_same_and_labels_have_no_say():
    texts = documents(24)
    first = headline_folds(texts, 4, seed=1)
    assert first.tolist() == headline_folds(texts, 4, seed=1).tolist()
    assert first.tolist() == headline_folds([relabelled(t) for t in texts], 4, seed=1).tolist()
    assert len({tuple(headline_folds(texts, 4, seed=s).tolist()) for s in range(8)}) > 1


def test_documents_may_come_in_any_order():
    texts = documents(24)
    assert headline_folds(texts[::-1], 4, 2).tolist() == headline_folds(texts, 4, 2).tolist()[::-1]


def test_too_few_topics_are_refused():
    texts = [document(str(i), "TENNIS - ORLAN WINS .") for i in range(5)]
    with pytest.raises(SettingsError, match="5 documents of 1 topics cannot be dealt into 2 folds"):
        headline_folds(texts, 2, seed=0)
