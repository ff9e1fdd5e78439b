"""Descriptions: weighted words of an entity's description and of the titles it is linked with."""

import numpy as np

from sgtb.core.dtypes import Bytes
from sgtb.core.ragged import Ragged
from sgtb.core.sparse_matrix import SparseMatrix
from sgtb.linking.entities.entity_source import EntityRows, EntitySource
from sgtb.linking.entities.lexicon import Lexicon
from sgtb.native import number_words, sum_words
from sgtb.text.normalization import normal_phrase
from sgtb.text.text_arrays import Texts


def descriptions(rows: EntityRows, source: EntitySource, lexicon: Lexicon) -> SparseMatrix:
    """Return the description words of entities: unit rows over the lexicon.

    Titles of entities with many links weigh less.
    """
    neighbours, where = np.unique(rows.linked.data, return_inverse=True)
    numbers, n = neighbours.astype(np.int64), len(rows.types)
    titles, own = bags(lexicon, source.titles(numbers)), bags(lexicon, rows.descriptions)
    modest = 1 / np.log(2 + source.degrees(numbers))
    most = int(np.diff(titles.indptr)[where].sum()) + len(own.data)
    offsets, columns = np.empty(n + 1, np.int64), np.empty(most, np.int32)
    values = np.empty(most, np.float32)
    linked = Ragged(rows.linked.indptr, where.astype(np.int32))
    size = sum_words(linked, titles, modest, own, offsets, columns, values)
    columns, values = columns[:size].copy(), values[:size]
    weighted = np.log1p(values) * lexicon.description_weight[columns]
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
