"""Background: known words with weights and vectors, topics, the default popularity.

It is fixed by training. Facts of single entities are read from the knowledge base when needed, so
new entities have them too. What scales them must not change under a trained model."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Bytes, Doubles, Floats, Ints, Longs, Words
from sgtb.core.ragged import Ragged, Texts
from sgtb.core.records import Document
from sgtb.core.sparse_matrix import SparseMatrix, latent_directions, log, log1p_float, unit
from sgtb.linking.entities.entity_source import EntityRows, KbSource
from sgtb.linking.entities.vocabulary import Vocabulary
from sgtb.native import fill_word_table, fingerprint_names, hash_texts, number_words, sum_words
from sgtb.text.normalization import STOP_WORDS, normal_phrase, normal_words
from sgtb.text.word_vectors import WordVectors

# Name fingerprints: 64-bit hashes of names and their parts, for comparison in kernels.


BEGINNING = 3  # letters of the longest prefix


class NameFingerprints(NamedTuple):
    """Hashes of n names."""

    whole: Words  # u8[n], the name
    squeezed: Words  # u8[n], without spaces
    initials: Words  # u8[n], first letters of the words
    beginning: Words  # u8[n, BEGINNING], prefixes of 1 to BEGINNING letters
    words: Ragged  # u8, in order
    trigrams: Ragged  # u8, of the name with a space before and after; sorted, distinct


def string_numbers(texts: Texts) -> Words:
    """Return the hashes of strings."""
    numbers = np.empty(len(texts.starts), np.uint64)
    hash_texts(texts, numbers)
    return numbers


def name_fingerprints(names: Sequence[str]) -> NameFingerprints:
    """Return the fingerprints of normalized names."""
    texts = Texts.of(names)
    n, size = len(names), len(texts.data)
    room = np.empty(n + size // 2, np.uint64), np.empty(size, np.uint64)
    whole, squeezed, initials = np.empty((3, n), np.uint64)
    words, trigrams = (Ragged(np.empty(n + 1, np.int64), items) for items in room)
    beginning = np.empty((n, BEGINNING), np.uint64)
    fingerprints = NameFingerprints(whole, squeezed, initials, beginning, words, trigrams)
    n_words, n_trigrams = fingerprint_names(texts, fingerprints)
    words, trigrams = fingerprints.words, fingerprints.trigrams
    return fingerprints._replace(
        words=Ragged(words.indptr, words.data[:n_words].copy()),
        trigrams=Ragged(trigrams.indptr, trigrams.data[:n_trigrams].copy()),
    )


DESCRIPTIONS_PER_WORD = 10_000
"""A description word is known if it occurs once per so many descriptions: bounds the model size."""


@dataclass(frozen=True)
class Lexicon:
    """Words by number, ascending."""

    words: tuple[str, ...]
    n_texts: int  # number of training texts
    texts_with: Ints  # i4[V], texts with each word
    n_titles: int  # number of titles
    titles_with: Ints  # i4[V], titles with each word; 0 for stop words
    vectors: Floats  # f4[V, D], unit norm, or zero; D is 0 without word vectors

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
        weight = log((self.n_texts + 1) / (1 + self.texts_with))
        ignored = [w in STOP_WORDS or (len(w) == 1 and w.isdigit()) for w in self.words]
        weight[ignored] = 0.0
        return np.maximum(weight, 0).astype(np.float32)

    @cached_property
    def rarity(self) -> Doubles:
        """f8[V]: inverse document frequency in titles."""
        rarity: Doubles = log((self.n_titles + 1) / (1 + self.titles_with))
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
    def table(self) -> SimpleNamespace:
        """Hash table from the hashes of words, without stop words, to their numbers; -1: empty."""
        size = 1 << (2 * len(self.words)).bit_length()
        hashes, numbers = np.zeros(size, np.uint64), np.full(size, -1, np.int32)
        left_out = np.array([word in STOP_WORDS for word in self.words], np.bool_)
        fill_word_table(string_numbers(Texts.of(self.words)), left_out, hashes, numbers)
        return SimpleNamespace(hashes=hashes, numbers=numbers)

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


# Descriptions: weighted words of an entity's description and of the titles it is linked with.


def descriptions(rows: EntityRows, source: KbSource, lexicon: Lexicon) -> SparseMatrix:
    """Return the description words of entities: unit rows over the lexicon.

    Titles of entities with many links weigh less.
    """
    neighbours, where = np.unique(rows.linked.data, return_inverse=True)
    numbers, n = neighbours.astype(np.int64), len(rows.types)
    titles, own = bags(lexicon, source.titles(numbers)), bags(lexicon, rows.descriptions)
    modest = 1 / log(2 + source.degrees(numbers))
    most = int(np.diff(titles.indptr)[where].sum()) + len(own.data)
    offsets, columns = np.empty(n + 1, np.int64), np.empty(most, np.int32)
    values = np.empty(most, np.float32)
    linked = Ragged(rows.linked.indptr, where.astype(np.int32))
    size = sum_words(linked, titles, modest, own, offsets, columns, values)
    columns, values = columns[:size].copy(), values[:size]
    weighted = log1p_float(values) * lexicon.description_weight[columns]
    bag = SparseMatrix(offsets, columns, values, len(lexicon.words))
    return bag.with_values(weighted).unit_rows()


def bag_matrix(lexicon: Lexicon, words: Ragged) -> SparseMatrix:
    """Return bags of words as a matrix over the lexicon."""
    return SparseMatrix(
        words.indptr, words.data, np.ones(len(words.data), np.float32), len(lexicon.words)
    )


def bags(lexicon: Lexicon, texts: Texts, in_normal_form: bool = False) -> Ragged:
    """Return the distinct word numbers of texts, without stop words."""
    words, skipped = _numbered(lexicon, texts, in_normal_form)
    (others,) = skipped.nonzero()
    if not len(others):
        return words
    # The kernel skips texts that are not ASCII.
    strings = Texts(texts.data, texts.starts[others], texts.ends[others]).strings()
    more, _ = _numbered(lexicon, Texts.of([*map(normal_phrase, strings)]), in_normal_form=True)
    place = np.arange(len(skipped))
    place[others] = len(skipped) + np.arange(len(others))
    both = Ragged(
        np.concatenate([words.indptr, more.indptr[1:] + words.indptr[-1]]),
        np.concatenate([words.data, more.data]),
    )
    return both.take(place)


def _numbered(lexicon: Lexicon, texts: Texts, in_normal_form: bool) -> tuple[Ragged, Bytes]:
    """Return the word numbers of ASCII texts, and whether each text was skipped."""
    n = len(texts.starts)
    most = int((texts.ends - texts.starts + 1).sum()) // 2
    offsets, skipped = np.empty(n + 1, np.int64), np.empty(n, np.uint8)
    numbers = np.empty(most, np.int32)
    size = number_words(lexicon.table, texts, in_normal_form, offsets, numbers, skipped)
    return Ragged(offsets, numbers[:size].copy()), skipped


# Background: the lexicon, topics, and the default popularity.


TOPIC_WIDTH = 96
ALL_TITLES = 200_000
"""Up to so many entities, all titles are counted and all descriptions make topics; beyond, those of
the candidates in training and of the entities linked with them."""
_SEED = 0


@dataclass(frozen=True)
class Background:
    """Words, topics, and the least popularity."""

    lexicon: Lexicon
    topic_words: Ints  # i4[U], numbers in the lexicon, ascending
    topics: Doubles  # f8[U, W], weight of each word in each topic
    least_popularity: float

    @classmethod
    def build(
        cls,
        source: KbSource,
        texts: Sequence[Document],
        words: WordVectors | None = None,
        entities: Longs | None = None,
        topic_width: int = TOPIC_WIDTH,
        digits: int | None = None,
        description_words: bool = False,
    ) -> "Background":
        """Count words and find topics.

        texts     training documents
        entities  numbers of their candidates; None: all entities
        digits    decimals of topics; None: not rounded
        description_words  whether the lexicon has words that occur in descriptions only
        """
        if entities is None or source.size <= ALL_TITLES:
            entities = known = np.arange(source.size)
        else:
            known = np.union1d(entities, source.rows(entities).linked.data).astype(np.int64)
        described = source.rows(entities).descriptions.strings() if description_words else ()
        lexicon = Lexicon.build(texts, source.titles(known).strings(), words, described)
        return cls.of(lexicon, source, entities, topic_width, digits)

    @classmethod
    def of(
        cls,
        lexicon: Lexicon,
        source: KbSource,
        entities: Longs,
        topic_width: int = TOPIC_WIDTH,
        digits: int | None = None,
    ) -> "Background":
        """Find the topics of some entities."""
        described = descriptions(source.rows(entities), source, lexicon)
        columns, directions = latent_directions(described, topic_width, _SEED)
        if digits is not None:
            directions = _settled(directions, digits)
        return cls(lexicon, columns, directions, source.least_popularity())

    def topic_vectors(self, described: SparseMatrix) -> Floats:
        """Return the topic vectors of descriptions, of unit norm or zero."""
        columns = self._topic_row[described.indices]
        known = columns >= 0
        before = np.concatenate([[0], np.cumsum(known)])
        own = SparseMatrix(
            before[described.indptr], columns[known], described.data[known], len(self.topics)
        )
        # A grid coarser than rounding errors.
        return np.round(unit(own.times(self.topics)), 5).astype(np.float32)

    def topic_rows(self, words: Ints) -> Ints:
        """Return the rows of words of the lexicon in `topics`; -1: none."""
        return np.where(words >= 0, self._topic_row[words], np.int32(-1))

    @cached_property
    def unit_topics(self) -> Floats:
        """f4[U, W]: the topics of words, of unit norm."""
        return unit(self.topics)

    @cached_property
    def _topic_row(self) -> Ints:
        """i4[V]: row of each word of the lexicon in `topics`; -1: none."""
        size = max(len(self.lexicon.words), int(self.topic_words.max(initial=-1)) + 1)
        row = np.full(size, -1, np.int32)
        row[self.topic_words] = np.arange(len(self.topic_words))
        return row


def _settled(directions: Doubles, digits: int) -> Doubles:
    """Round directions and make their largest component positive: the same on any machine.

    Matrix libraries differ in the last digits and in the signs of directions.
    """
    rounded = np.round(directions, digits)
    if not len(rounded):  # neither links nor descriptions
        return rounded
    largest = np.abs(rounded).argmax(axis=0)  # the first of equals after rounding
    signs = np.where(rounded[largest, np.arange(rounded.shape[1])] < 0, -1.0, 1.0)
    return rounded * signs + 0.0  # no negative zero
