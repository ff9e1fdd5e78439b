"""EntityFacts: what features ask about entities, prepared once for all documents.

Nothing here has seen a label. A title tells more than a name: the words behind it, in brackets
or in lower case, say what kind of thing is meant ("Chicago Bulls", "Jonathan Stark (tennis)",
"Japan national football team"). And the titles that an entity is linked with are a description of
it, the only one there is where pages have no text.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sgtb.entities import EntityTable
from sgtb.learn.dtypes import Doubles, Floats
from sgtb.linking.lexicon import Lexicon
from sgtb.linking.sparse import Sparse, latent_vectors
from sgtb.text.normalize import STOP_WORDS, normal_phrase, normal_words
from sgtb.text.word_vectors import unit

TOPIC_WIDTH = 96
_SEED = 0

_BRACKETS = re.compile(r"\s*\(([^()]*)\)\s*$")
_YEAR = re.compile(r"\b(1[5-9]|20)\d\d\b")
_CLUB_WORDS = frozenset("fc afc sc ac cf fk sv vfb vfl bk hc kk united club".split())
_PLACE, _EDITION = "a place, its region", "an edition of a year"
"""Kinds without a word of their own: a title with a comma, and one with a year."""

TYPES = ("PER", "ORG", "GPE")


@dataclass(frozen=True)
class EntityFacts:
    """Columns and vectors by entity number; the vectors have unit norm, or zero.

    name           normal form of the title without brackets
    full_name      normal form of the whole title
    shape          f4[N, 4]  brackets, comma, digit in the title; number of words
    type           f4[N, 3]  one of TYPES, or none
    log_in_links, log_out_links, popularity, log_degree   f4[N]
    title_words    the words of the title that are in the lexicon, stop words left out
    bracket_words  those in brackets
    kinds          the words that say what kind of thing it is, by number in `kind_words`
    links          who is linked with whom, either way
    description    words of linked titles, weighted, unit rows
    topic_vector   f4[N, 96]  from the descriptions, factorised
    title_vector, bracket_vector, kind_vector, description_vector   f4[N, D]  of words
    """

    entities: EntityTable
    name: tuple[str, ...]
    full_name: tuple[str, ...]
    shape: Floats
    type: Floats
    log_in_links: Floats
    log_out_links: Floats
    popularity: Floats
    log_degree: Floats
    title_words: Sparse
    bracket_words: Sparse
    kind_words: tuple[str, ...]
    kinds: Sparse
    links: Sparse
    description: Sparse
    topic_vector: Floats
    title_vector: Floats
    bracket_vector: Floats
    kind_vector: Floats
    description_vector: Floats

    @classmethod
    def build(cls, entities: EntityTable, lexicon: Lexicon) -> "EntityFacts":
        """Prepare everything."""
        names, brackets = zip(*map(_split, entities.titles), strict=True)
        title_words = _bags(lexicon, map(normal_words, entities.titles))
        bracket_words = _bags(lexicon, map(normal_words, brackets))
        kinds_of = [_kinds(*pair) for pair in zip(names, brackets, strict=True)]
        kind_words = tuple(sorted({kind for kinds in kinds_of for kind in kinds}))
        links = _links(entities)
        description = _description(links, title_words, lexicon)
        degree = np.diff(links.offsets)
        rarity = _rarity(title_words)
        worded = title_words.with_values(rarity[title_words.columns])
        number = {word: i for i, word in enumerate(kind_words)}
        kind_bag = _bags(lexicon, kinds_of)
        return cls(
            entities, tuple(map(normal_phrase, names)), tuple(map(normal_phrase, entities.titles)),
            _shape(entities, brackets), _types(entities),
            np.log1p(entities.in_links).astype(np.float32),
            np.log1p(entities.out_links).astype(np.float32),
            _filled(entities.popularity), np.log1p(degree).astype(np.float32),
            title_words, bracket_words, kind_words,
            _numbered([[number[k] for k in kinds] for kinds in kinds_of], len(kind_words)),
            links, description,
            latent_vectors(description, TOPIC_WIDTH, _SEED),
            *(_worded(bag, lexicon) for bag in (worded, bracket_words, kind_bag, description)),
        )  # fmt: skip


def _split(title: str) -> tuple[str, str]:
    """Return a title without its brackets, and what stands in them."""
    found = _BRACKETS.search(title)
    return (title[: found.start()], found[1]) if found else (title, "")


def _kinds(name: str, brackets: str) -> list[str]:
    """Return the words of a title that no name is made of."""
    written = name.split()
    kinds = [word for part in written[1:] if part[0].islower() for word in normal_words(part)]
    kinds += normal_words(brackets)
    kinds += [w for part in written for w in normal_words(part) if w in _CLUB_WORDS]
    kinds = [kind for kind in kinds if kind not in STOP_WORDS]
    if "," in name:
        kinds.append(_PLACE)
    if _YEAR.search(name):
        kinds.append(_EDITION)
    return list(dict.fromkeys(kinds))


def _numbered(bags: Iterable[Iterable[int]], n_columns: int) -> Sparse:
    pairs = [(row, word) for row, bag in enumerate(bags) for word in bag]
    n_rows = len(bags) if isinstance(bags, list) else 0
    rows, words = np.array(pairs, np.int64).reshape(-1, 2).T
    return Sparse.of(rows, words, np.ones(len(rows)), (n_rows, n_columns))


def _bags(lexicon: Lexicon, texts: Iterable[Iterable[str]]) -> Sparse:
    """Return the words of texts by number, each once, stop words left out."""
    number = lexicon.number
    bags = [
        {number[word] for word in text if word in number and word not in STOP_WORDS}
        for text in texts
    ]
    return _numbered(bags, len(lexicon.words))


def _links(entities: EntityTable) -> Sparse:
    source, target, n = entities.link_source, entities.link_target, len(entities)
    both = Sparse.of(
        np.concatenate([source, target]), np.concatenate([target, source]),
        np.ones(2 * len(source)), (n, n),
    )  # fmt: skip
    return both.with_values(np.ones(len(both.columns)))


def _description(links: Sparse, titles: Sparse, lexicon: Lexicon) -> Sparse:
    """Return the words of linked titles; a hub says little about those it is linked with."""
    sizes = np.diff(titles.offsets)[links.columns]
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    starts = titles.offsets[:-1][links.columns]
    positions = np.repeat(starts - (ends - sizes), sizes) + np.arange(total)
    modest = 1 / np.log(2 + np.diff(links.offsets))
    bag = Sparse.of(
        np.repeat(links.rows, sizes), titles.columns[positions],
        np.repeat(modest[links.columns], sizes), (links.n_rows, titles.n_columns),
    )  # fmt: skip
    weight = np.minimum(lexicon.weight, _rarity(titles))
    return bag.with_values(np.log1p(bag.values) * weight[bag.columns]).unit_rows()


def _rarity(titles: Sparse) -> Doubles:
    """Return the weight of words by how few titles have them."""
    n = np.bincount(titles.columns, minlength=titles.n_columns)
    rarity: Doubles = np.log((titles.n_rows + 1) / (1 + n))
    return rarity


def _worded(bag: Sparse, lexicon: Lexicon) -> Floats:
    return unit(bag.times(lexicon.vectors.astype(np.float64)))


def _shape(entities: EntityTable, brackets: tuple[str, ...]) -> Floats:
    return np.array(
        [
            (bool(inside), "," in title, any(c.isdigit() for c in title), len(normal_words(title)))
            for title, inside in zip(entities.titles, brackets, strict=True)
        ],
        np.float32,
    ).reshape(-1, 4)


def _types(entities: EntityTable) -> Floats:
    return np.array([[own == name for name in TYPES] for own in entities.types], np.float32)


def _filled(popularity: Floats) -> Floats:
    """Return popularity with the least known value where none is known."""
    known = popularity[~np.isnan(popularity)]
    least = known.min() if len(known) else 0.0
    return np.where(np.isnan(popularity), least, popularity).astype(np.float32)
