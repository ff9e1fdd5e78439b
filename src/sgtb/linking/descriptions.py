"""Descriptions: the words that tell what an entity is about, weighted.

These are the words of its own one-line description and of the titles that it is linked with, which
are all the description there is where pages have no text.
"""

import numpy as np

from sgtb.learn.dtypes import Bytes
from sgtb.linking.entity_source import EntityRows, EntitySource
from sgtb.linking.lexicon import Lexicon
from sgtb.linking.sparse import Sparse
from sgtb.native import number_words
from sgtb.ragged import Ragged
from sgtb.text.normalize import normal_phrase
from sgtb.text.texts import Texts


def descriptions(rows: EntityRows, source: EntitySource, lexicon: Lexicon) -> Sparse:
    """Return the words that describe some entities: unit rows over the lexicon.

    A hub says little about those it is linked with.
    """
    neighbours, where = np.unique(rows.linked.items, return_inverse=True)
    titles = bags(lexicon, source.titles(neighbours.astype(np.int64)))
    modest = 1 / np.log(2 + source.degrees(neighbours.astype(np.int64)))
    sizes = np.diff(titles.offsets)[where]
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    positions = np.repeat(titles.offsets[:-1][where] - (ends - sizes), sizes) + np.arange(total)
    n = len(rows.types)
    row = np.repeat(np.arange(n), np.diff(rows.linked.offsets))
    own = bags(lexicon, rows.descriptions)
    bag = Sparse.of(
        np.concatenate([np.repeat(row, sizes), own.rows]),
        np.concatenate([titles.columns[positions], own.columns]),
        np.concatenate([np.repeat(modest[where], sizes), own.values]),
        (n, len(lexicon.words)),
    )
    weight = np.minimum(lexicon.weight, lexicon.rarity)
    return bag.with_values(np.log1p(bag.values) * weight[bag.columns]).unit_rows()


def bags(lexicon: Lexicon, texts: Texts, in_normal_form: bool = False) -> Sparse:
    """Return the words of texts by number, each once, stop words left out."""
    words, skipped = _numbered(lexicon, texts, in_normal_form)
    (others,) = skipped.nonzero()
    if len(others):  # which are not ASCII
        strings = Texts(texts.data, texts.starts[others], texts.ends[others]).strings()
        normal = Texts.of([*map(normal_phrase, strings)])
        more, _ = _numbered(lexicon, normal, in_normal_form=True)
        place = np.arange(len(skipped))
        place[others] = len(skipped) + np.arange(len(others))
        words = Ragged(
            np.concatenate([words.offsets, more.offsets[1:] + words.offsets[-1]]),
            np.concatenate([words.items, more.items]),
        ).take(place)
    return Sparse(
        words.offsets, words.items, np.ones(len(words.items), np.float32), len(lexicon.words)
    )


def _numbered(lexicon: Lexicon, texts: Texts, in_normal_form: bool) -> tuple[Ragged, Bytes]:
    """Return the numbers of the words of texts, and which texts were skipped: not ASCII."""
    n = len(texts.starts)
    most = int((texts.ends - texts.starts + 1).sum()) // 2
    offsets, skipped = np.empty(n + 1, np.int64), np.empty(n, np.uint8)
    numbers = np.empty(most, np.int32)
    size = number_words(lexicon.table, *texts, in_normal_form, offsets, numbers, skipped)
    return Ragged(offsets, numbers[:size].copy()), skipped
