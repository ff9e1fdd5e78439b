"""Small documents for the tests of the evaluation: what they say does not matter, only the gold."""

import numpy as np

from sgtb.core.records import Document, Mention
from sgtb.evaluation import Accuracy, SystemAnswers


def mention(gold: str | None = None, **fields) -> Mention:
    return Mention(0, 1, 0, 1, "x", gold=gold, **fields)


def document(id: str, *mentions: Mention | str | None) -> Document:
    """A document of mentions, or of just their golds."""
    made = (m if isinstance(m, Mention) else mention(m) for m in mentions)
    return Document(id, "x", (), (), tuple(made))


def perfect(documents: list[Document]) -> SystemAnswers:
    return SystemAnswers.of(documents, [[m.gold for m in d.mentions] for d in documents])


def accuracy(correct: list[int], total: list[int]) -> Accuracy:
    ids = tuple(f"d{i}" for i in range(len(total)))
    return Accuracy(ids, np.array(correct, np.int64), np.array(total, np.int64))
