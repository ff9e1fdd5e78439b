"""Folds of AIDA's training documents, by headline; documents of one topic are in the same fold.

Cross-fitted features of training documents should be distributed as those of new documents, which
have new topics. A fold that shares a topic with the others would not show that.
"""

import re
from collections.abc import Sequence

import numpy as np

from sgtb.core.dtypes import Ints
from sgtb.core.errors import SettingsError
from sgtb.core.records import Document

_DATE = re.compile(r"\d{4}-\d\d-\d\d$")
_HEAD = 60
"""Tokens in which an agency report gives its date."""

_BROAD = frozenset(["SOCCER"])
"""Topics too large for one fold, which are split by the next word of the headline."""


def topic_of(document: Document) -> tuple[str, ...]:
    """Return the group of a document: its headline's topic, otherwise its date.

    Agency headlines name a topic before a dash ("TENNIS - …", "NBA BASKETBALL - …").
    """
    head = document.tokens.texts[:_HEAD]
    if len(head) > 2 and head[1] == "-" and head[0].isupper():
        return (head[0], head[2]) if head[0] in _BROAD else (head[0],)
    if len(head) > 2 and head[2] == "-" and head[0].isupper() and head[1].isupper():
        return (head[0], head[1])
    dates = [word for word in head if _DATE.match(word)]
    return ("news", dates[0] if dates else "")


def headline_folds(documents: Sequence[Document], n_folds: int, seed: int = 0) -> Ints:
    """Return the fold of each document; topics are kept whole, folds about equally large.

    Large topics come first, each to the fold with the fewest mentions so far. The seed decides
    between topics of equal size.
    """
    topics: dict[tuple[str, ...], list[int]] = {}
    for i, document in enumerate(documents):
        topics.setdefault(topic_of(document), []).append(i)
    if len(topics) < n_folds:
        raise SettingsError(
            f"{len(documents)} documents of {len(topics)} topics cannot be dealt into {n_folds} "
            "folds; ask for fewer folds"
        )
    size = {
        topic: sum(len(documents[i].mentions) for i in members) for topic, members in topics.items()
    }
    luck = dict(
        zip(sorted(topics), np.random.default_rng(seed).permutation(len(topics)), strict=True)
    )
    load = np.zeros(n_folds, np.int64)
    fold = np.zeros(len(documents), np.int32)
    for topic in sorted(topics, key=lambda topic: (-size[topic], luck[topic])):
        least = int(load.argmin())
        load[least] += size[topic]
        fold[topics[topic]] = least
    return fold
