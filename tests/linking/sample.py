"""A sample of the real corpus, small enough to make features of many times over.

Nothing of it is written down here: which documents are taken is arithmetic.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sgtb.entities import EntityTable
from sgtb.linking.choices import Choices, listed_choices
from sgtb.linking.facts import EntityFacts
from sgtb.linking.features import Table
from sgtb.linking.lexicon import Lexicon
from sgtb.records import Document
from sgtb.text.normalize import normal_words
from sgtb.text.word_vectors import WordVectors
from tests.linking.builders import restricted

_EVERY = {"train": 16, "dev": 11, "test": 23}
"""One document of so many is taken: 60, 20 and 11 of them."""


@dataclass(frozen=True)
class Sample:
    """Some documents, their candidates as the only entities, and the vectors of their words."""

    documents: dict[str, tuple[Document, ...]]
    entities: EntityTable
    words: WordVectors
    lexicon: Lexicon
    facts: EntityFacts

    def choices(self, texts: Sequence[Document]) -> Choices:
        return listed_choices(texts, self.entities)

    def table(self, texts: Sequence[Document]) -> Table:
        return Table.build(self.choices(texts), self.facts, self.lexicon)


def take_sample(documents: Iterable[Document], entities: EntityTable) -> Sample:
    of_split: dict[str, list[Document]] = {split: [] for split in _EVERY}
    for document in documents:
        of_split[document.split].append(document)
    taken = {split: tuple(texts[:: _EVERY[split]]) for split, texts in of_split.items()}
    everything = [text for texts in taken.values() for text in texts]
    own = restricted(
        entities,
        {id for text in everything for mention in text.in_kb() for id in mention.candidates or ()},
    )
    words = _own_words(WordVectors.glove(), everything, own.titles)
    lexicon = Lexicon.build(taken["train"], own.titles, words)
    return Sample(taken, own, words, lexicon, EntityFacts.build(own, lexicon))


def _own_words(
    vectors: WordVectors, documents: Iterable[Document], titles: Iterable[str]
) -> WordVectors:
    """Leave out the vectors of words that occur nowhere."""
    texts = [*titles, *(token.text for document in documents for token in document.tokens)]
    known = sorted({word for text in texts for word in normal_words(text)} & vectors.row.keys())
    rows = np.array([vectors.row[word] for word in known])
    return WordVectors("sample", {w: i for i, w in enumerate(known)}, vectors.matrix[rows])
