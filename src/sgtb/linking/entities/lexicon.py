"""Lexicon: the known words, with weights and vectors."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Doubles, Floats, Ints, Words
from sgtb.core.records import Document
from sgtb.linking.entities.fingerprints import string_numbers
from sgtb.linking.entities.vocabulary import Vocabulary
from sgtb.native import fill_word_table
from sgtb.text.normalization import STOP_WORDS, normal_words
from sgtb.text.text_arrays import Texts
from sgtb.text.word_vectors import WordVectors

DESCRIPTIONS_PER_WORD = 10_000
"""A description word is known if it occurs once per so many descriptions: bounds the model size."""


class WordTable(NamedTuple):
    """Hash table from the hashes of words to their numbers; -1: empty."""

    hashes: Words
    numbers: Ints


@dataclass(frozen=True)
class Lexicon:
    """Words by number, ascending.

    n_texts      number of training texts
    texts_with   i4[V]     texts with each word
    n_titles     number of titles
    titles_with  i4[V]     titles with each word; 0 for stop words
    vectors      f4[V, D]  unit norm, or zero; D is 0 without word vectors
    """

    words: tuple[str, ...]
    n_texts: int
    texts_with: Ints
    n_titles: int
    titles_with: Ints
    vectors: Floats

    @classmethod
    def build(
        cls,
        texts: Sequence[Document],
        titles: Iterable[str],
        vectors: WordVectors | None = None,
        descriptions: Iterable[str] = (),
    ) -> "Lexicon":
        """Collect the words of training texts, titles, vectors and descriptions."""
        seen: Counter[str] = Counter()
        for document in texts:
            seen.update({word for text in document.tokens.texts for word in normal_words(text)})
        titled: Counter[str] = Counter()
        n_titles = 0
        for title in titles:
            titled.update(set(normal_words(title)))
            n_titles += 1
        own = vectors.row.keys() if vectors is not None else frozenset[str]()
        words = sorted(seen.keys() | titled.keys() | own | _description_words(descriptions))
        return cls(
            tuple(words), len(texts), np.array([seen[word] for word in words], np.int32),
            n_titles,
            np.array([titled[word] * (word not in STOP_WORDS) for word in words], np.int32),
            _matrix(words, vectors),
        )  # fmt: skip

    @cached_property
    def weight(self) -> Floats:
        """f4[V]: inverse document frequency in the training texts, 0 for stop words."""
        weight = np.log((self.n_texts + 1) / (1 + self.texts_with))
        weight[[word in STOP_WORDS or _is_digit(word) for word in self.words]] = 0.0
        return np.maximum(weight, 0).astype(np.float32)

    @cached_property
    def rarity(self) -> Doubles:
        """f8[V]: inverse document frequency in titles."""
        rarity: Doubles = np.log((self.n_titles + 1) / (1 + self.titles_with))
        return rarity

    @cached_property
    def description_weight(self) -> Doubles:
        """f8[V]: weight in descriptions, the lesser of the two."""
        return np.minimum(self.weight, self.rarity)

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each word."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def table(self) -> WordTable:
        """The numbers of words without stop words, for kernels."""
        size = 1 << (2 * len(self.words)).bit_length()
        table = WordTable(np.zeros(size, np.uint64), np.full(size, -1, np.int32))
        left_out = np.array([word in STOP_WORDS for word in self.words], np.bool_)
        fill_word_table(string_numbers(Texts.of(self.words)), left_out, *table)
        return table

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Cache of tokens and their words."""
        return Vocabulary(self.number, self.weight)


def _description_words(descriptions: Iterable[str]) -> set[str]:
    """Return the words of descriptions; of many descriptions, the frequent ones."""
    described: Counter[str] = Counter()
    n = 0
    for description in descriptions:
        described.update(set(normal_words(description)))
        n += 1
    return {word for word, count in described.items() if count >= n / DESCRIPTIONS_PER_WORD}


def _matrix(words: Sequence[str], vectors: WordVectors | None) -> Floats:
    if vectors is None:
        return np.zeros((len(words), 0), np.float32)
    matrix = np.zeros((len(words), vectors.width), np.float32)
    known = [(i, vectors.row[word]) for i, word in enumerate(words) if word in vectors.row]
    if known:
        here, there = np.array(known).T
        matrix[here] = vectors.matrix[there]
    return matrix


def _is_digit(word: str) -> bool:
    return len(word) == 1 and word.isdigit()
