"""Descriptions: the words that tell what an entity is about, weighted.

These are the words of its own one-line description and of the titles that it is linked with, which
are all the description there is where pages have no text.
"""

from collections.abc import Iterable

import numpy as np

from sgtb.linking.entity_source import EntityRows, EntitySource
from sgtb.linking.lexicon import Lexicon
from sgtb.linking.sparse import Sparse
from sgtb.text.normalize import STOP_WORDS, normal_words


def descriptions(rows: EntityRows, source: EntitySource, lexicon: Lexicon) -> Sparse:
    """Return the words that describe some entities: unit rows over the lexicon.

    A hub says little about those it is linked with.
    """
    neighbours, where = np.unique(rows.linked.items, return_inverse=True)
    titles = bags(lexicon, map(normal_words, source.titles(neighbours.astype(np.int64))))
    modest = 1 / np.log(2 + source.degrees(neighbours.astype(np.int64)))
    sizes = np.diff(titles.offsets)[where]
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    positions = np.repeat(titles.offsets[:-1][where] - (ends - sizes), sizes) + np.arange(total)
    n = len(rows.titles)
    row = np.repeat(np.arange(n), np.diff(rows.linked.offsets))
    own = bags(lexicon, map(normal_words, rows.descriptions))
    bag = Sparse.of(
        np.concatenate([np.repeat(row, sizes), own.rows]),
        np.concatenate([titles.columns[positions], own.columns]),
        np.concatenate([np.repeat(modest[where], sizes), own.values]),
        (n, len(lexicon.words)),
    )
    weight = np.minimum(lexicon.weight, lexicon.rarity)
    return bag.with_values(np.log1p(bag.values) * weight[bag.columns]).unit_rows()


def bags(lexicon: Lexicon, texts: Iterable[Iterable[str]]) -> Sparse:
    """Return the words of texts by number, each once, stop words left out."""
    number = lexicon.number
    found = [
        sorted({number[word] for word in text if word in number and word not in STOP_WORDS})
        for text in texts
    ]
    offsets = np.zeros(len(found) + 1, np.int64)
    np.cumsum([len(one) for one in found], out=offsets[1:])
    columns = np.fromiter((word for one in found for word in one), np.int32, int(offsets[-1]))
    return Sparse(offsets, columns, np.ones(len(columns), np.float32), len(lexicon.words))
