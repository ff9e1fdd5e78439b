"""Lexicon: the words that features know, with their weight and their vector."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgtb.learn.dtypes import Floats, Ints
from sgtb.records import Document
from sgtb.text.normalize import STOP_WORDS, normal_words
from sgtb.text.word_vectors import WordVectors

UNKNOWN = -1


@dataclass(frozen=True)
class Lexicon:
    """Words by number.

    words    all words
    weight   f4[V]     inverse document frequency in the training texts, 0 for stop words
    vectors  f4[V, D]  unit norm, zero where nothing is known
    """

    words: tuple[str, ...]
    weight: Floats
    vectors: Floats

    @classmethod
    def build(
        cls, texts: Sequence[Document], titles: Iterable[str], vectors: WordVectors
    ) -> "Lexicon":
        """Collect the words of texts, titles and vectors. Texts are those of training only."""
        seen: Counter[str] = Counter()
        for document in texts:
            seen.update({word for token in document.tokens for word in normal_words(token.text)})
        in_titles = {word for title in titles for word in normal_words(title)}
        words = sorted(seen.keys() | in_titles | vectors.row.keys())
        weight = np.log((len(texts) + 1) / (1 + np.array([seen[word] for word in words])))
        weight[[word in STOP_WORDS or _is_digit(word) for word in words]] = 0.0
        matrix = np.zeros((len(words), vectors.width), np.float32)
        known = [(i, vectors.row[word]) for i, word in enumerate(words) if word in vectors.row]
        if known:
            here, there = np.array(known).T
            matrix[here] = vectors.matrix[there]
        return cls(tuple(words), np.maximum(weight, 0).astype(np.float32), matrix)

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each word."""
        return {word: i for i, word in enumerate(self.words)}

    def numbers(self, words: Iterable[str]) -> Ints:
        """Return the numbers of words, UNKNOWN for those not here."""
        number = self.number
        return np.array([number.get(word, UNKNOWN) for word in words], np.int32)


def _is_digit(word: str) -> bool:
    return len(word) == 1 and word.isdigit()
