"""Contexts: the surroundings of mentions, as bags of words, positions and hashed clues.

A clue is an observation ("the next word is a number"), hashed to an integer. The tagger and the
ranker learn weights of clues; their scores are features. `TokenTable` has the tokens, words and
sentences of documents in columns, numbered through all documents; one more token at the end is the
padding of sentences.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, pairwise
from operator import attrgetter, methodcaller
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Bytes, Floats, Ints, Longs
from sgtb.core.ragged import Ragged, sliced
from sgtb.core.records import Document
from sgtb.core.sparse_matrix import SparseMatrix, log
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.entities.background import Lexicon
from sgtb.linking.entities.vocabulary import (
    LOOKS,
    OUTSIDE,
    TOPIC_CLUES,
    WORD,
    Kinds,
    Mark,
    NameClues,
    Vocabulary,
    name_clues,
    topic_clues,
)
from sgtb.native import context_sizes, describe_contexts, group_repeats, number_distinct
from sgtb.text.normalization import normal_phrase

WINDOW = 5  # tokens on either side of a mention that make its window

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


class TokenTable(NamedTuple):
    """The tokens, words and sentences of D documents."""

    kind: Ints  # i4, of each token
    kinds: Kinds  # data of all kinds
    marks: Bytes  # u1, `Mark` flags of each token
    word: Ints  # i4, index of each word in the vocabulary
    word_offsets: Longs  # words of each token
    token_offsets: Longs  # i8[D + 1]
    sentence_offsets: Longs  # i8[D + 1]
    sentences: Longs  # i8[S, 2], first and last token + 1

    @classmethod
    def of(cls, documents: Sequence[Document], vocabulary: Vocabulary) -> "TokenTable":
        """Read documents; one without sentences counts as one sentence."""
        texts = tuple(chain.from_iterable(document.tokens.texts for document in documents))
        read, kinds = vocabulary.read(texts)
        kind = np.append(read, np.int32(OUTSIDE))
        first = kinds.words.indptr
        word_offsets, word = sliced(kinds.words.data, first[kind], first[1:][kind])
        token_offsets = _offsets(len(text.tokens) for text in documents)
        sentences = [text.sentences or ((0, len(text.tokens)),) for text in documents]
        sentence_offsets = _offsets(map(len, sentences))
        bounds = chain.from_iterable(chain.from_iterable(sentences))
        flat = np.fromiter(bounds, np.int64, 2 * int(sentence_offsets[-1])).reshape(-1, 2)
        # Sentences are clipped to their documents.
        own = np.repeat(np.arange(len(documents)), np.diff(sentence_offsets))[:, None]
        flat = np.clip(flat + token_offsets[own], token_offsets[own], token_offsets[own + 1])
        flat[:, 1] = flat.max(axis=1)
        return cls(
            kind, kinds, kinds.marks[kind], word, word_offsets,
            token_offsets, sentence_offsets, flat,
        )  # fmt: skip


def _offsets(sizes: Iterable[int]) -> Longs:
    return np.array([0, *accumulate(sizes)], np.int64)


def topic_of(document: Document) -> str:
    """Return the topic word of an agency headline, "SOCCER - …" or "NBA BASKETBALL - …", or ""."""
    for before, word in pairwise(document.tokens.texts[:3]):
        if word == "-":
            return before.lower()
    return ""


class Names:
    """The names of a document: how often each occurs, and the longest that contains it.

    Mentions without candidates count, too.

    count    by name
    longest  by name, the longest name that contains it; ties to the first
    """

    def __init__(self, document: Document) -> None:
        self.count = Counter(map(normal_phrase, map(attrgetter("text"), document.mentions)))
        several = [(name, name.split()) for name in self.count if " " in name]
        size: dict[str, int] = {}  # words of the longest name with each word
        containing: dict[str, str] = {}
        for name, words in several:
            n = len(words)
            for word in words:
                if word not in size or n > size[word]:
                    size[word] = n
                    containing[word] = name
        self.longest = {name: containing.get(name, name) for name in self.count}
        for name, words in several:
            if len(words) < size[words[0]]:
                own = f" {name} "
                longer = [other for other, _ in several if own in f" {other} "]
                self.longest[name] = max(longer, key=methodcaller("count", " "))


def text_words(words: Ints, vocabulary: npt.NDArray[Any]) -> SimpleNamespace:
    """Look up words, given by their indices in a vocabulary.

    Returns the index of every word among the U distinct ones, `place`, and the fields of WORD of
    these as columns.
    """
    place, distinct = np.empty(len(words), np.int64), np.empty(len(words), np.int32)
    n = number_distinct(words, len(vocabulary), place, distinct)
    known = vocabulary[distinct[:n]]
    return SimpleNamespace(place=place, **{name: known[name].copy() for name in WORD.names or ()})


@dataclass(frozen=True)
class Contexts:
    """The surroundings of M mentions in D documents; bags have unit rows, without stop words."""

    names: tuple[str, ...]  # each mention, normalized
    full_names: tuple[str, ...]  # the longest mention that contains it
    name_bag: SparseMatrix  # M rows
    sentence_bag: SparseMatrix  # M rows
    window_bag: SparseMatrix  # M rows
    document_bag: SparseMatrix  # D rows
    headline_bag: SparseMatrix  # D rows
    place: Floats  # f4[M, len(PLACES)]
    place_clues: Ragged  # u4, M rows
    sentence_clues: Ragged  # u4, M rows
    tag_clues: Ragged  # u4, M rows
    document_clues: Ragged  # u4, D rows

    @cached_property
    def name_numbers(self) -> Longs:
        """i8[M]: number of each mention's name among the distinct ones, in order of occurrence."""
        return numbered(self.names)

    @classmethod
    def build(cls, candidates: CandidateTable, lexicon: Lexicon) -> "Contexts":
        """Describe the surroundings of all mentions."""
        documents, n = candidates.documents, len(candidates.mentions)
        tokens = TokenTable.of(documents, lexicon.vocabulary)
        mentions = SimpleNamespace(  # tokens are counted within documents
            first=np.fromiter(map(attrgetter("first"), candidates.mentions), np.int64, n),
            stop=np.fromiter(map(attrgetter("stop"), candidates.mentions), np.int64, n),
            offsets=candidates.mention_offsets,
        )
        first, stop = (np.maximum(some, 0).tolist() for some in (mentions.first, mentions.stop))
        clues: list[NameClues] = []
        full_names: list[str] = []
        same_name: list[int] = []
        for document, (a, b) in zip(documents, pairwise(mentions.offsets.tolist()), strict=True):
            texts, known = document.tokens.texts, Names(document)
            for m in range(a, b):
                own = name_clues((candidates.mentions[m].text, texts[first[m] : stop[m]]))
                clues.append(own)
                full_names.append(known.longest[own.name])
                same_name.append(known.count[own.name])
        names = tuple([own.name for own in clues])
        described, topics = _mention_names(clues, same_name), _topics(documents)
        words = text_words(tokens.word, tokens.kinds.word)
        n_clues, n_words = len(described.words.data), len(lexicon.words)
        out = cls._allocated(names, tuple(full_names), mentions, tokens, n_clues, n_words)
        describe_contexts(
            mentions, tokens, WINDOW, described, topics, words, _settings(tokens), out
        )
        return replace(
            out,
            name_bag=_cut_bag(out.name_bag),
            sentence_bag=_cut_bag(out.sentence_bag),
            window_bag=_cut_bag(out.window_bag),
            document_bag=_cut_bag(out.document_bag),
            headline_bag=_cut_bag(out.headline_bag),
            sentence_clues=_cut_clues(out.sentence_clues),
            document_clues=_cut_clues(out.document_clues),
        )

    @classmethod
    def _allocated(
        cls,
        names: tuple[str, ...],
        full_names: tuple[str, ...],
        mentions: SimpleNamespace,
        tokens: TokenTable,
        n_clues: int,
        n_columns: int,
    ) -> "Contexts":
        """Return contexts to be filled by the compiled core; arrays are larger than needed.

        n_clues    of all names
        n_columns  words of the lexicon
        """
        n, d, n_words = len(names), len(tokens.token_offsets) - 1, len(tokens.word)
        in_names, in_sentences, in_windows = context_sizes(mentions, tokens, WINDOW)

        def clues(rows: int, size: int) -> Ragged:
            return Ragged(np.empty(rows + 1, np.int64), np.empty(size, np.uint32))

        def bag(rows: int, size: int) -> SparseMatrix:
            columns, values = np.empty(size, np.int32), np.empty(size, np.float32)
            return SparseMatrix(np.empty(rows + 1, np.int64), columns, values, n_columns)

        return cls(
            names, full_names, bag(n, in_names), bag(n, in_sentences), bag(n, in_windows),
            bag(d, n_words), bag(d, n_words), np.empty((n, len(PLACES)), np.float32),
            clues(n, _PLACE_CLUES * n), clues(n, in_sentences), clues(n, _TAG_CLUES * n + n_clues),
            clues(d, 2 * n_words),
        )  # fmt: skip


def _cut_bag(bag: SparseMatrix) -> SparseMatrix:
    """Return a bag without unused space."""
    end = bag.indptr[-1]
    return replace(bag, indices=bag.indices[:end], data=bag.data[:end])


def _cut_clues(clues: Ragged) -> Ragged:
    return Ragged(clues.indptr, clues.data[: clues.indptr[-1]])


def _mention_names(clues: Sequence[NameClues], same_name: Sequence[int]) -> SimpleNamespace:
    """Return the clues of names in columns, and how often each occurs in its document."""
    looks = np.frombuffer(b"".join([own.looks for own in clues]), LOOKS)
    words = [own.words for own in clues]
    offsets = _offsets(map(len, words)) // 4
    return SimpleNamespace(
        **{name: looks[name].copy() for name in ("is_upper", "length", "ending", "shape")},
        same_name=np.array(same_name, np.int64),
        words=Ragged(offsets, np.frombuffer(b"".join(words), np.uint32)),
    )


def _topics(documents: Sequence[Document]) -> SimpleNamespace:
    """Return the clues of document topics, and whether there is one."""
    topics = [topic_of(document) for document in documents]
    clues = np.frombuffer(b"".join(map(topic_clues, topics)), np.uint32)
    return SimpleNamespace(
        clues=clues.reshape(-1, TOPIC_CLUES),
        given=np.array([topic != "" for topic in topics], np.bool_),
    )


_BITS = SimpleNamespace(**{mark.name.lower(): int(mark) for mark in Mark if mark.name})


def _settings(tokens: TokenTable) -> SimpleNamespace:
    """Return the settings of the compiled core."""
    longest = int(np.diff(tokens.word_offsets[tokens.token_offsets]).max(initial=0))
    return SimpleNamespace(
        bit=_BITS,
        common=_COMMON,
        rare=_RARE,
        most_words=_MOST_WORDS,
        # of the n-th occurrence of a word in a bag
        damping=1 + log(np.arange(1, longest + 1)).astype(np.float32),
    )


# Repeats: mentions of a document that have the same name and the same candidates.


@dataclass(frozen=True)
class Repeats:
    """Groups of mentions of a document with equal name, full name, words and candidates."""

    once: CandidateTable  # candidates of the first mention of each group
    names: tuple[str, ...]  # of each group
    full_names: tuple[str, ...]
    mentions: Ragged  # mentions of each group
    place: Longs  # i8[C], row of each candidate in `once`

    @classmethod
    def of(cls, candidates: CandidateTable, contexts: Contexts) -> "Repeats":
        """Find the repeats."""
        bag, n = contexts.name_bag, len(candidates.mentions)
        first, members = np.empty((2, n), np.int64)
        of_group = np.empty(n + 1, np.int64)
        place = np.empty(candidates.n_candidates, np.int64)
        n_groups = group_repeats(
            candidates.mention_offsets,
            SimpleNamespace(  # floats are compared by bits
                name=contexts.name_numbers, full_name=numbered(contexts.full_names),
                candidate_offsets=candidates.candidate_offsets, entity=candidates.entity,
                prior=candidates.prior.view(np.uint32), word_offsets=bag.indptr, words=bag.indices,
                values=bag.data.view(np.uint32),
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
