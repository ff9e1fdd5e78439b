"""Background: word statistics, topics and the default popularity, fixed by training.

Facts of single entities are read from the knowledge base when needed, so new entities have them
too. What scales them must not change under a trained model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgtb.core.dtypes import Doubles, Floats, Ints, Longs
from sgtb.core.records import Document
from sgtb.core.sparse_matrix import SparseMatrix, latent_directions, unit
from sgtb.linking.entities.entity_source import EntitySource
from sgtb.linking.entities.lexicon import Lexicon, descriptions
from sgtb.text.word_vectors import WordVectors

TOPIC_WIDTH = 96
ALL_TITLES = 200_000
"""Up to so many entities, all titles are counted and all descriptions make topics; beyond, those of
the candidates in training and of the entities linked with them."""
_SEED = 0


@dataclass(frozen=True)
class Background:
    """Words, topics, and the least popularity.

    topic_words  i4[U]     numbers in the lexicon, ascending
    topics       f8[U, W]  weight of each word in each topic
    """

    lexicon: Lexicon
    topic_words: Ints
    topics: Doubles
    least_popularity: float

    @classmethod
    def build(
        cls,
        source: EntitySource,
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
        source: EntitySource,
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
        return _rounded(unit(own.times(self.topics)))

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


def _rounded(vectors: Floats) -> Floats:
    """Round vectors to a grid coarser than rounding errors."""
    return np.round(vectors, 5).astype(np.float32)
