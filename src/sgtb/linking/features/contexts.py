"""Contexts: the surroundings of mentions, as bags of words, positions and hashed clues.

A clue is an observation ("the next word is a number"), hashed to an integer. The tagger and the
ranker learn weights of clues; their scores are features.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Bools, Floats, Ints, Longs, Masks
from sgtb.core.ragged import Ragged, sliced
from sgtb.core.records import Document
from sgtb.core.sparse_matrix import SparseMatrix
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.entities.background import Lexicon
from sgtb.linking.entities.vocabulary import (
    LOOKS,
    TOPIC_CLUES,
    Hashes,
    Mark,
    NameClues,
    clue,
    name_clues,
    topic_clues,
)
from sgtb.linking.features.token_table import Names, TextWords, TokenTable, topic_of
from sgtb.native import context_sizes, describe_contexts, group_repeats

WINDOW = 5
"""Tokens on either side of a mention that make its window."""

PLACES = (
    "dateline", "in_brackets", "before_number", "after_number", "after_preposition",
    "beside_versus", "in_topic_document", "in_headline", "sentence_digits", "sentence_capitals",
    "document_digits", "sentence_length", "sentence_place", "upper_case", "same_name",
    "document_mentions",
)  # fmt: skip

_COMMON, _RARE, _MOST_WORDS = 1.0, 5.0, 150
"""Document words are clues if their weight is between these; so many at most."""
_PLACE_CLUES, _TAG_CLUES = 14, 21
"""Numbers of clues for a mention's position, and for its type without those of its name."""


@dataclass(frozen=True)
class Clues:
    """Hashed clues per row: row r has data[indptr[r] : indptr[r + 1]]."""

    indptr: Longs
    data: Hashes

    @classmethod
    def of(cls, rows: Iterable[Iterable[str]]) -> "Clues":
        """Hash clues given as strings."""
        return cls(*Ragged.of(([clue(text) for text in row] for row in rows), np.uint32))


@dataclass(frozen=True)
class Contexts:
    """The surroundings of M mentions in D documents; bags have unit rows, without stop words.

    names, full_names        each mention, normalized, and the longest mention that contains it
    name_bag, sentence_bag, window_bag     M rows
    document_bag, headline_bag             D rows
    place       f4[M, len(PLACES)]
    place_clues, sentence_clues, tag_clues     M rows
    document_clues                             D rows
    """

    names: tuple[str, ...]
    full_names: tuple[str, ...]
    name_bag: SparseMatrix
    sentence_bag: SparseMatrix
    window_bag: SparseMatrix
    document_bag: SparseMatrix
    headline_bag: SparseMatrix
    place: Floats
    place_clues: Clues
    sentence_clues: Clues
    tag_clues: Clues
    document_clues: Clues

    @cached_property
    def name_numbers(self) -> Longs:
        """i8[M]: number of each mention's name among the distinct ones, in order of occurrence."""
        return numbered(self.names)

    @classmethod
    def build(cls, candidates: CandidateTable, lexicon: Lexicon) -> "Contexts":
        """Describe the surroundings of all mentions."""
        documents = candidates.documents
        tokens, mentions = TokenTable.of(documents, lexicon.vocabulary), _Mentions.of(candidates)
        borders = [*pairwise(candidates.mention_offsets.tolist())]
        clues = _name_clues(candidates, mentions, borders)
        own_names = tuple([own.name for own in clues])
        full_names: list[str] = []
        same_name: list[int] = []
        for document, (first, last) in zip(documents, borders, strict=True):
            known, own = Names(document), own_names[first:last]
            full_names += map(known.longest.__getitem__, own)
            same_name += map(known.count.__getitem__, own)
        names = _mention_names(clues, same_name)
        words = TextWords.of(tokens.word, tokens.kinds.word)
        out = _allocate(mentions, tokens, len(names.words.data))
        describe_contexts(
            mentions, tokens, WINDOW, names, _topics(documents), words, _settings(tokens), out
        )
        n = len(lexicon.words)
        return cls(
            names=own_names,
            full_names=tuple(full_names),
            name_bag=_cut_bag(out.name_bag, n),
            sentence_bag=_cut_bag(out.sentence_bag, n),
            window_bag=_cut_bag(out.window_bag, n),
            document_bag=_cut_bag(out.document_bag, n),
            headline_bag=_cut_bag(out.headline_bag, n),
            place=out.place,
            place_clues=out.place_clues,
            sentence_clues=_cut_clues(out.sentence_clues),
            tag_clues=out.tag_clues,
            document_clues=_cut_clues(out.document_clues),
        )


def _cut_bag(bag: SparseMatrix, n_columns: int) -> SparseMatrix:
    """Return a bag without unused space."""
    end = bag.indptr[-1]
    return SparseMatrix(bag.indptr, bag.indices[:end], bag.data[:end], n_columns)


def _cut_clues(clues: Clues) -> Clues:
    return Clues(clues.indptr, clues.data[: clues.indptr[-1]])


class _Mentions(NamedTuple):
    """Tokens of mentions, counted within documents, and offsets of the documents' mentions."""

    first: Longs
    stop: Longs
    offsets: Ints

    @classmethod
    def of(cls, candidates: CandidateTable) -> "_Mentions":
        n = len(candidates.mentions)
        return cls(
            np.fromiter(map(attrgetter("first"), candidates.mentions), np.int64, n),
            np.fromiter(map(attrgetter("stop"), candidates.mentions), np.int64, n),
            candidates.mention_offsets,
        )


def _name_clues(
    candidates: CandidateTable, mentions: _Mentions, borders: Sequence[tuple[int, int]]
) -> list[NameClues]:
    """Return the clues of the texts of mentions."""
    first, stop = (np.maximum(some, 0).tolist() for some in (mentions.first, mentions.stop))
    tokens: list[tuple[str, ...]] = []
    for document, (begin, end) in zip(candidates.documents, borders, strict=True):
        texts = document.tokens.texts
        tokens += [texts[a:b] for a, b in zip(first[begin:end], stop[begin:end], strict=True)]
    return [*map(name_clues, map(attrgetter("text"), candidates.mentions), tokens)]


class _MentionNames(NamedTuple):
    """Clues of the texts of mentions.

    same_name  occurrences of the name in the document
    words      hashed clues
    """

    is_upper: Bools
    length: Longs
    same_name: Longs
    ending: Hashes
    shape: Hashes
    words: Ragged


def _mention_names(clues: Sequence[NameClues], same_name: Sequence[int]) -> _MentionNames:
    looks = np.frombuffer(b"".join([own.looks for own in clues]), LOOKS)
    is_upper, length, ending, shape = (
        looks[name].copy() for name in ("is_upper", "length", "ending", "shape")
    )
    words = [own.words for own in clues]
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=offsets[1:])
    return _MentionNames(
        is_upper, length, np.array(same_name, np.int64), ending, shape,
        Ragged(offsets // 4, np.frombuffer(b"".join(words), np.uint32)),
    )  # fmt: skip


class _Topics(NamedTuple):
    """Clues of document topics, and whether there is one."""

    clues: Hashes
    given: Bools


def _topics(documents: Sequence[Document]) -> _Topics:
    topics = [topic_of(document) for document in documents]
    clues = np.frombuffer(b"".join(map(topic_clues, topics)), np.uint32)
    given = np.array([topic != "" for topic in topics], np.bool_)
    return _Topics(clues.reshape(-1, TOPIC_CLUES), given)


class _Bits(NamedTuple):
    """The values of `Mark`."""

    number: int
    capital: int
    date: int
    opening: int
    closing: int
    preposition: int
    versus: int


class _Settings(NamedTuple):
    """Settings of the compiled core.

    common, rare  document words are clues if their weight is between these
    most_words    clues per document at most
    damping       f4  of the n-th occurrence of a word in a bag
    """

    bit: _Bits
    common: float
    rare: float
    most_words: int
    damping: Floats


_BITS = _Bits(*(int(Mark[name.upper()]) for name in _Bits._fields))


def _settings(tokens: TokenTable) -> _Settings:
    longest = int(np.diff(tokens.word_offsets[tokens.token_offsets]).max(initial=0))
    damping = 1 + np.log(np.arange(1, longest + 1, dtype=np.float32))
    return _Settings(_BITS, _COMMON, _RARE, _MOST_WORDS, damping)


class _Tables(NamedTuple):
    """Output of the compiled core; arrays are larger than needed."""

    place: Floats
    place_clues: Clues
    sentence_clues: Clues
    tag_clues: Clues
    document_clues: Clues
    name_bag: SparseMatrix
    sentence_bag: SparseMatrix
    window_bag: SparseMatrix
    document_bag: SparseMatrix
    headline_bag: SparseMatrix


def _allocate(mentions: _Mentions, tokens: TokenTable, n_clues: int) -> _Tables:
    """Allocate the output, given the number of clues of names."""
    n, d, n_words = len(mentions.first), len(tokens.token_offsets) - 1, len(tokens.word)
    in_names, in_sentences, in_windows = context_sizes(mentions, tokens, WINDOW)

    def clues(rows: int, size: int) -> Clues:
        return Clues(np.empty(rows + 1, np.int64), np.empty(size, np.uint32))

    def bag(rows: int, size: int) -> SparseMatrix:
        columns, values = np.empty(size, np.int32), np.empty(size, np.float32)
        return SparseMatrix(np.empty(rows + 1, np.int64), columns, values, 0)

    return _Tables(
        np.empty((n, len(PLACES)), np.float32), clues(n, _PLACE_CLUES * n),
        clues(n, in_sentences), clues(n, _TAG_CLUES * n + n_clues), clues(d, 2 * n_words),
        bag(n, in_names), bag(n, in_sentences), bag(n, in_windows), bag(d, n_words),
        bag(d, n_words),
    )  # fmt: skip


# Repeats: mentions of a document that have the same name and the same candidates.


@dataclass(frozen=True)
class Repeats:
    """Groups of mentions of a document with equal name, full name, words and candidates.

    once               candidates of the first mention of each group
    names, full_names  of each group
    mentions           mentions of each group
    place              i8[C]  row of each candidate in `once`
    """

    once: CandidateTable
    names: tuple[str, ...]
    full_names: tuple[str, ...]
    mentions: Ragged
    place: Longs

    @classmethod
    def of(cls, candidates: CandidateTable, contexts: Contexts) -> "Repeats":
        """Find the repeats."""
        bag, n = contexts.name_bag, len(candidates.mentions)
        first, members = np.empty((2, n), np.int64)
        of_group = np.empty(n + 1, np.int64)
        place = np.empty(candidates.n_candidates, np.int64)
        n_groups = group_repeats(
            candidates.mention_offsets,
            _Keys(
                contexts.name_numbers, numbered(contexts.full_names),
                candidates.candidate_offsets, candidates.entity, candidates.prior.view(np.uint32),
                bag.indptr, bag.indices, bag.data.view(np.uint32),
            ),
            first, of_group, members, place,
        )  # fmt: skip
        own = first[:n_groups]
        begins = candidates.candidate_offsets.astype(np.int64)
        kept = sliced(np.arange(candidates.n_candidates), begins[own], begins[own + 1])
        firsts = own.tolist()
        once = CandidateTable(
            candidates.documents, tuple(map(candidates.mentions.__getitem__, firsts)),
            np.searchsorted(own, candidates.mention_offsets).astype(np.int32),
            kept.indptr.astype(np.int32), candidates.entity[kept.data], candidates.gold[own],
            candidates.prior[kept.data], candidates.match[kept.data],
        )  # fmt: skip
        return cls(
            once, tuple(map(contexts.names.__getitem__, firsts)),
            tuple(map(contexts.full_names.__getitem__, firsts)),
            Ragged(of_group[: n_groups + 1], members), place,
        )  # fmt: skip


def numbered(names: Sequence[str]) -> Longs:
    """Number names in the order of first occurrence."""
    distinct = dict.fromkeys(names)
    number = dict(zip(distinct, range(len(distinct)), strict=True))
    return np.fromiter(map(number.__getitem__, names), np.int64, len(names))


class _Keys(NamedTuple):
    """What must be equal in repeats; floats are compared by bits."""

    name: Longs
    full_name: Longs
    candidate_offsets: Ints
    entity: Ints
    prior: Masks
    word_offsets: Longs
    words: Ints
    values: Masks
