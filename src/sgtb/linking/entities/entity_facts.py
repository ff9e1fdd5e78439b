"""EntityFacts: what features need of entities, in columns, and a cache of them.

The words of a title in brackets or lower case give the kind of the entity: "Jonathan Stark
(tennis)", "Japan national football team"."""

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Floats, Ints, Longs, Words
from sgtb.core.ragged import GrowingArray, Items, Ragged, Texts, sliced
from sgtb.core.sparse_matrix import SparseMatrix, log1p, unit
from sgtb.linking.entities.background import (
    Background,
    Lexicon,
    NameFingerprints,
    bag_matrix,
    bags,
    descriptions,
    name_fingerprints,
    string_numbers,
)
from sgtb.linking.entities.entity_source import KbSource
from sgtb.native import join_links
from sgtb.text.normalization import STOP_WORDS, has_digit, normal_words, word_lists

# Neighbours: links among some entities, in either direction.


def neighbours(number: Ints, linked: Ragged) -> SparseMatrix:
    """Return the links among entities by row, each a one.

    number  of each entity
    linked  numbers of linked entities, most of them not among these
    """
    n = len(number)
    columns, offsets = np.empty(2 * len(linked.data), np.int32), np.empty(n + 1, np.int64)
    n_links = join_links(number, linked.indptr, linked.data, columns, offsets)
    return SparseMatrix(offsets, columns[:n_links].copy(), np.ones(n_links, np.float32), n)


_BRACKETS = re.compile(r"\s*\(([^()]*)\)\s*$")
_YEAR = re.compile(r"\b(1[5-9]|20)\d\d\b")
_CLUB_WORDS = frozenset("fc afc sc ac cf fk sv vfb vfl bk hc kk united club".split())
_PLACE, _EDITION = "a place, its region", "an edition of a year"
"""Kinds of titles with a comma, and with a year."""

_TYPES = (("PER",), ("ORG",), ("GPE", "LOC"))
"""LOC of a knowledge base is GPE in the AIDA experiments."""


@dataclass(frozen=True)
class EntityFacts:
    """N entities, ascending by number; vectors have unit norm, or are zero."""

    number: Ints  # i4[N], in the knowledge base
    in_links: Ints  # i4[N]
    type_clue: npt.NDArray[np.uint32]  # u4[N], hash of the type
    shape: Floats  # f4[N, 4], brackets, comma, digit in the title; number of words
    type: Floats  # f4[N, 3], person, organisation, place
    log_in_links: Floats  # f4[N]
    log_out_links: Floats  # f4[N]
    popularity: Floats  # f4[N]
    log_degree: Floats  # f4[N]
    fingerprints: NameFingerprints  # the title without brackets
    whole_title: Words  # u8[N], hash of the normalized title
    title_words: SparseMatrix  # known words of the title, without stop words
    kind_clues: Ragged  # u4, hashes of the kind words, by alphabet
    kind_words: Ragged  # u8, fingerprints of the same words
    linked: Ragged  # i4, numbers of linked entities
    description: SparseMatrix  # description words, unit rows
    topic_vector: Floats  # f4[N, W], from the description
    title_vector: Floats  # f4[N, D], of words
    bracket_vector: Floats  # f4[N, D]
    kind_vector: Floats  # f4[N, D]
    description_vector: Floats  # f4[N, D]
    entity_vector: Floats  # f4[N, E], from the knowledge base

    @classmethod
    def describe(cls, source: KbSource, background: Background, numbers: Longs) -> "EntityFacts":
        """Describe some entities of a source, by ascending number."""
        lexicon, rows = background.lexicon, source.rows(numbers)
        titles = Titles.of(rows.titles.strings())
        kinds = titles.kinds()
        title_words = bag_matrix(lexicon, bags(lexicon, rows.titles))
        bracket_words = bag_matrix(lexicon, bags(lexicon, Texts.of(titles.brackets)))
        phrases = [" ".join([k for k in own if k not in (_PLACE, _EDITION)]) for own in kinds]
        kind_words = bag_matrix(lexicon, bags(lexicon, Texts.of(phrases), in_normal_form=True))
        clues = Ragged.of(([*map(kind_clue, own)] for own in kinds), np.uint32)
        described = descriptions(rows, source, lexicon)
        worded = title_words.with_values(lexicon.rarity[title_words.indices])
        popularity = np.where(
            np.isnan(rows.popularity), background.least_popularity, rows.popularity
        )
        return cls(
            numbers.astype(np.int32), rows.in_links,
            np.fromiter(map(type_clue, rows.types), np.uint32, len(rows.types)),
            titles.shape(),
            np.array([*map(_type_flags, rows.types)], np.float32).reshape(-1, len(_TYPES)),
            log1p(rows.in_links).astype(np.float32),
            log1p(rows.out_links).astype(np.float32),
            popularity.astype(np.float32), log1p(rows.degree).astype(np.float32),
            name_fingerprints([*map(" ".join, titles.words)]),
            string_numbers(Texts.of([*map(" ".join, titles.all_words)])),
            title_words,
            clues,
            Ragged(clues.indptr, string_numbers(Texts.of([*chain.from_iterable(kinds)]))),
            rows.linked, described, background.topic_vectors(described),
            _worded(worded, lexicon), _worded(bracket_words, lexicon),
            _worded(kind_words, lexicon), _worded(described, lexicon), rows.vectors,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.number)

    @cached_property
    def links(self) -> SparseMatrix:
        """Links among these entities, in either direction, by row."""
        return neighbours(self.number, self.linked)


@cache
def type_clue(type_: str) -> int:
    """Return the hash of a type; synonyms have the same."""
    known = next((names[0] for names in _TYPES if type_ in names), type_)
    return crc32(f"type:{known}".encode())


@cache
def _type_flags(type_: str) -> tuple[bool, ...]:
    return tuple(type_ in names for names in _TYPES)


@lru_cache(maxsize=1 << 12)
def kind_clue(kind: str) -> int:
    """Return the hash of a kind."""
    return crc32(f"kind:{kind}".encode())


def split_title(title: str) -> tuple[str, str]:
    """Split a title into name and brackets."""
    found = _BRACKETS.search(title) if ")" in title else None
    return (title[: found.start()], found[1]) if found else (title, "")


class Titles(NamedTuple):
    """Titles in their parts."""

    text: Sequence[str]
    name: Sequence[str]
    brackets: Sequence[str]
    words: Sequence[Sequence[str]]  # of the names, in normal form
    all_words: Sequence[Sequence[str]]  # of the whole titles

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Titles":
        """Split titles and their words."""
        split, whole = [*map(split_title, texts)], word_lists(texts)
        names, brackets = [name for name, _ in split], [inner for _, inner in split]
        words = [
            normal_words(name) if inner else own
            for name, inner, own in zip(names, brackets, whole, strict=True)
        ]
        return cls(texts, names, brackets, words, whole)

    def kinds(self) -> list[list[str]]:
        """Return the kind words of each title, by alphabet."""
        return [*map(_kinds, self.name, self.brackets, self.words)]

    def shape(self) -> Floats:
        """f4[N, 4]: brackets, comma, digit; number of words."""
        columns = (
            [*map(bool, self.brackets)], ["," in text for text in self.text],
            [*map(has_digit, self.text)], [*map(len, self.all_words)],
        )  # fmt: skip
        return np.stack([np.array(column, np.float32) for column in columns], axis=1)


def _kinds(name: str, brackets: str, words: Sequence[str]) -> list[str]:
    """Return the kind words of a title, by alphabet."""
    kinds = {*_CLUB_WORDS.intersection(words)}
    if not name.istitle():  # no word begins with a small letter in a title in title case
        small = [part for part in name.split()[1:] if part[0].islower()]
        kinds.update(normal_words(" ".join(small)) if small else ())
    if brackets:
        kinds.update(normal_words(brackets))
    kinds = kinds - STOP_WORDS
    if "," in name:
        kinds.add(_PLACE)
    if has_digit(name) and _YEAR.search(name):
        kinds.add(_EDITION)
    return sorted(kinds)


def _worded(bag: SparseMatrix, lexicon: Lexicon) -> Floats:
    return unit(bag.times(lexicon.vectors))


# FactStore: a cache of facts. It is emptied when full.


ROOM = 1 << 15  # entities kept, of about 1.5 kB each with word vectors of 50 dimensions
_AT_A_TIME = 2048  # entities described at a time: each needs the titles of all linked entities


class FactStore:
    """Facts of a source's entities, made on first use. Thread-safe."""

    def __init__(self, source: KbSource, background: Background, room: int = ROOM) -> None:
        self._source, self._background, self._room = source, background, room
        self._guard = threading.Lock()
        self._clear()

    def forget(self) -> None:
        """Clear the cache."""
        with self._guard:
            self._clear()

    def _clear(self) -> None:
        self._slot = np.full(self._source.size, -1, np.int32)
        self._columns: _GrowingRecord[EntityFacts] | None = None
        self._kept = self._read = 0

    def facts(self, numbers: Longs) -> EntityFacts:
        """Return the facts of distinct entities, by ascending number."""
        with self._guard:
            slots = self._slot[numbers]
            if (slots < 0).any():
                if self._kept + int((slots < 0).sum()) > self._room:
                    self._clear()
                    slots = self._slot[numbers]
                self._add(numbers[slots < 0])
                slots = self._slot[numbers]
            if self._columns is None:
                return EntityFacts.describe(self._source, self._background, numbers)
            return self._columns.take(slots.astype(np.int64))

    def _add(self, numbers: Longs) -> None:
        for start in range(0, len(numbers), _AT_A_TIME):
            some = numbers[start : start + _AT_A_TIME]
            new = EntityFacts.describe(self._source, self._background, some)
            if self._columns is None:
                self._columns = _GrowingRecord(new)
            self._columns.extend(new)
            self._slot[some] = np.arange(self._kept, self._kept + len(some))
            self._kept += len(some)
            self._read += len(some)
            if self._read >= _AT_A_TIME:
                self._read = 0
                self._source.release()


Rows = TypeVar("Rows")


class _GrowingRecord(Generic[Rows]):
    """The columns of a record of arrays, such as facts, in growing arrays."""

    def __init__(self, like: Rows) -> None:
        self._record = type(like)
        names = type(like).__annotations__
        self._columns = {name: _growing(getattr(like, name)) for name in names}

    def extend(self, record: Rows) -> None:
        """Add rows at the end."""
        for name, column in self._columns.items():
            column.extend(getattr(record, name))

    def take(self, slots: Longs) -> Rows:
        """Return some rows."""
        return self._record(**{name: column.take(slots) for name, column in self._columns.items()})


def _growing(like: Any) -> Any:
    """Return an empty, growing counterpart of a column."""
    if isinstance(like, NameFingerprints):
        return _GrowingRecord(like)
    if isinstance(like, SparseMatrix):
        return _GrowingMatrix(like)
    if isinstance(like, Ragged):
        return _GrowingLists(like.data)
    return GrowingArray(like.dtype, like.shape[1:])


class _GrowingLists:
    """Lists that grow by lists."""

    def __init__(self, like: Items) -> None:
        self._starts, self._ends = GrowingArray(np.int64), GrowingArray(np.int64)
        self._items = GrowingArray(like.dtype)

    def extend(self, lists: Ragged) -> None:
        """Add lists at the end."""
        base = self._items.size
        self._starts.extend(lists.indptr[:-1] + base)
        self._ends.extend(lists.indptr[1:] + base)
        self._items.extend(lists.data)

    def take(self, slots: Longs) -> Ragged:
        """Return some lists."""
        return sliced(self._items.items, self._starts.take(slots), self._ends.take(slots))


class _GrowingMatrix:
    """A matrix that grows by rows."""

    def __init__(self, like: SparseMatrix) -> None:
        self._n_columns = like.n_columns
        self._indices, self._data = _GrowingLists(like.indices), _GrowingLists(like.data)

    def extend(self, rows: SparseMatrix) -> None:
        """Add rows at the end."""
        self._indices.extend(Ragged(rows.indptr, rows.indices))
        self._data.extend(Ragged(rows.indptr, rows.data))

    def take(self, slots: Longs) -> SparseMatrix:
        """Return some rows."""
        indptr, indices = self._indices.take(slots)
        return SparseMatrix(indptr, indices, self._data.take(slots).data, self._n_columns)
