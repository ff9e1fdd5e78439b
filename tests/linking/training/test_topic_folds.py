"""Folds by topic: similar documents together, folds about equally large."""

import numpy as np
import pytest

from sgtb.core.errors import SettingsError
from sgtb.core.sparse_matrix import unit
from sgtb.linking.training import topic_folds as module
from sgtb.linking.training.topic_folds import SMALL, topic_folds
from tests.helpers.linking_builders import document, documents, relabelled

TOPICS = (
    "tennis racket serve court match umpire", "shares profit bank quarter dividend market",
    "storm rain flood river wind coast", "election party vote minister parliament poll",
)  # fmt: skip


def _texts(n, topics=TOPICS):
    """Write documents with five words of their topic, and one that all share."""
    rng = np.random.default_rng(0)
    chosen = [topics[i % len(topics)].split() for i in range(n)]
    return [
        document(str(i), " ".join(["report", *rng.choice(words, 5, replace=False)]))
        for i, words in enumerate(chosen)
    ]


def test_documents_of_a_topic_are_in_one_fold():
    folds = topic_folds(_texts(4 * SMALL), 4)
    assert folds.dtype == np.int32
    assert sorted({tuple(folds[i::4]) for i in range(4)}) == [(k,) * SMALL for k in range(4)]


def test_documents_of_a_topic_of_a_small_corpus_are_in_all_folds():
    folds = topic_folds(_texts(48), 4)
    assert folds.dtype == np.int32
    assert np.bincount(folds).tolist() == [12] * 4
    assert [np.bincount(folds[i::4]).tolist() for i in range(4)] == [[3] * 4] * 4


@pytest.mark.parametrize("n_folds", [2, 3, 5, 8])
def test_folds_are_about_equally_large(n_folds):
    texts = documents(60)
    folds = topic_folds(texts, n_folds)
    load = np.bincount(folds, [1 + len(text.mentions) for text in texts], n_folds)
    assert load.min() > 0.6 * load.mean()
    assert load.max() < 1.5 * load.mean()


def test_labels_have_no_say_and_the_order_hardly_any():
    texts = _texts(4 * SMALL)
    folds = topic_folds(texts, 4)
    assert folds.tolist() == topic_folds([relabelled(text) for text in texts], 4).tolist()
    backwards = topic_folds(texts[::-1], 4)[::-1]
    same = folds[:, None] == folds
    np.testing.assert_array_equal(same, backwards[:, None] == backwards)


@pytest.mark.parametrize(
    "texts",
    [
        [document(str(i)) for i in range(5)],
        [document(str(i), "the of 1996 .") for i in range(5)],
        [document(str(i), "the same words in all of them") for i in range(5)],
        [document(str(i), f"word{i} that no other has") for i in range(5)],
    ],
    ids=["empty", "stop words", "equal", "nothing shared"],
)
def test_no_fold_is_empty_without_topics(texts):
    for n_folds in (2, 3, 5):
        folds = topic_folds(texts, n_folds)
        assert np.bincount(folds, minlength=n_folds).min() > 0


def test_a_large_document_does_not_empty_a_fold():
    long = document("long", *["[Orlan||PER|] met [Vessa||PER|] ."] * 40)
    folds = topic_folds([long, *_texts(4)], 5)
    assert sorted(folds.tolist()) == [0, 1, 2, 3, 4]


def test_too_few_documents_are_refused():
    with pytest.raises(SettingsError, match="3 documents are too few for 4 folds"):
        topic_folds(_texts(3), 4)


def test_folds_do_not_change_with_rounding_errors(monkeypatch):
    texts = _texts(12) * 4  # equal documents: only their order decides between them
    expected = topic_folds(texts, 8).tolist()
    noise = np.random.default_rng(1).normal(0, 1e-12, (len(texts), 512))
    monkeypatch.setattr(module, "unit", lambda matrix: unit(matrix).astype(float) + noise)
    assert topic_folds(texts, 8).tolist() == expected
    monkeypatch.setattr(module, "_DIGITS", 15)
    assert topic_folds(texts, 8).tolist() != expected
