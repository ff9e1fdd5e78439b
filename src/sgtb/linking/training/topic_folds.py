"""Topic folds: training documents divided by topic, for cross-fitting.

Learned features of a training document should be as reliable as those of a new one, whose topic may
be new. Random folds share their topics: the trees would rely too much on what was learned of these.
In a small corpus a topic has so few documents that nothing is learned of it from the others; the
trees would not rely on what was learned at all. There similar documents are in different folds.
"""

import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from sgtb.core.dtypes import Doubles, Ints
from sgtb.core.errors import SettingsError
from sgtb.core.records import Document
from sgtb.core.sparse_matrix import log, unit
from sgtb.text.normalization import STOP_WORDS, normal_words

_WIDTH = 512  # columns that words are hashed to
_ROUNDS = 30  # of the power method
_DIGITS = 5  # decimals of positions, for equal folds on all machines
SMALL = 25  # documents of a fold; with fewer, the corpus is small


def topic_folds(documents: Sequence[Document], n_folds: int) -> Ints:
    """Return the fold of each document: similar ones together, folds of about as many mentions.

    Documents are divided in two along the first principal component of their words, and the halves
    likewise. Those of a small corpus are dealt out in its order.
    """
    if len(documents) < n_folds:
        raise SettingsError(
            f"{len(documents)} documents are too few for {n_folds} folds; set fewer folds"
        )
    words = _hashed_words(documents)
    fold = np.zeros(len(documents), np.int32)
    if len(documents) < SMALL * n_folds:
        fold[np.argsort(_positions(words), kind="stable")] = np.arange(len(documents)) % n_folds
        return fold
    sizes = np.array([1 + len(document.mentions) for document in documents])
    parts = [(np.arange(len(documents)), range(n_folds))]
    while parts:
        members, folds = parts.pop()
        if len(folds) == 1:
            fold[members] = folds[0]
            continue
        half = len(folds) // 2
        ordered = members[np.argsort(_positions(words[members]), kind="stable")]
        total = np.cumsum(sizes[ordered])
        cut = int(np.searchsorted(total, total[-1] * half / len(folds), side="right"))
        cut = min(max(cut, half), len(ordered) - len(folds) + half)  # no fold is empty
        parts += [(ordered[:cut], folds[:half]), (ordered[cut:], folds[half:])]
    return fold


def _hashed_words(documents: Sequence[Document]) -> Doubles:
    """Return the words of documents by tf-idf, hashed to columns with a sign, of unit norm."""
    bags = [
        Counter(
            word
            for text in document.tokens.texts
            for word in normal_words(text)
            if word not in STOP_WORDS and not word.isdigit()
        )
        for document in documents
    ]
    found_in = Counter(word for bag in bags for word in bag)
    matrix = np.zeros((len(bags), _WIDTH))
    for row, bag in zip(matrix, bags, strict=True):
        words = [word for word in bag if found_in[word] > 1]
        hashes = np.array([zlib.crc32(word.encode()) for word in words], np.int64)
        counts = np.array([[bag[word], found_in[word]] for word in words]).reshape(-1, 2).T
        weight = log(1.0 + counts[0]) * log((len(bags) + 1) / counts[1])
        np.add.at(row, (hashes >> 1) % _WIDTH, np.where(hashes & 1, -weight, weight))
    return unit(matrix).astype(np.float64)


def _positions(words: Doubles) -> Doubles:
    """Return the positions of documents along their first principal component."""
    centred = words - words.mean(axis=0)
    farthest = np.round(np.einsum("ij,ij->i", centred, centred), _DIGITS).argmax()
    direction = centred[farthest]
    for _ in range(_ROUNDS):
        direction = (centred @ direction) @ centred
        direction = direction / max(float(np.linalg.norm(direction)), 1e-12)
    return np.asarray(np.round(centred @ direction, _DIGITS), np.float64)
