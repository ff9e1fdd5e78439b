"""A sample of the real corpus, small enough to make features of many times over.

Nothing of it is written down here: which documents are taken is arithmetic.
"""

from collections.abc import Iterable

import numpy as np

from experiments.entity_tables import table_facts
from sgtb.core.entities import EntityTable
from sgtb.core.records import Document
from sgtb.linking.entities.background import Lexicon
from sgtb.text.normalization import normal_words
from sgtb.text.word_vectors import WordVectors
from tests.helpers.linking_builders import Setting, restricted

_EVERY = {"train": 16, "dev": 11, "test": 23}
"""One document of so many is taken: 60, 20 and 11 of them."""


def take_sample(
    documents: Iterable[Document], entities: EntityTable, vectors: WordVectors
) -> Setting:
    of_split: dict[str, list[Document]] = {split: [] for split in _EVERY}
    for document in documents:
        of_split[document.split].append(document)
    taken = {split: tuple(texts[:: _EVERY[split]]) for split, texts in of_split.items()}
    everything = [text for texts in taken.values() for text in texts]
    own = restricted(
        entities,
        {id for text in everything for mention in text.in_kb() for id in mention.candidates or ()},
    )
    words = _own_words(vectors, everything, own.titles)
    lexicon = Lexicon.build(taken["train"], own.titles, words)
    return Setting(taken, own, words, lexicon, table_facts(own, lexicon))


def _own_words(
    vectors: WordVectors, documents: Iterable[Document], titles: Iterable[str]
) -> WordVectors:
    """Leave out the vectors of words that occur nowhere."""
    texts = [*titles, *(token.text for document in documents for token in document.tokens)]
    known = sorted({word for text in texts for word in normal_words(text)} & vectors.row.keys())
    rows = np.array([vectors.row[word] for word in known])
    return WordVectors("sample", {w: i for i, w in enumerate(known)}, vectors.matrix[rows])
