"""Scenes: documents in columns, while their mentions are looked at.

Tokens, words and sentences are numbered through all documents at hand. Behind the last token stands
one more: what is seen beyond the ends of a sentence.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from sgtb.kernels import inner, kernel
from sgtb.learn.dtypes import Bytes, Ints, Longs
from sgtb.linking.choices import Choices
from sgtb.linking.slices import sliced
from sgtb.linking.vocabulary import OUTSIDE, Kinds, Vocabulary
from sgtb.records import Document
from sgtb.text.normalize import normal_phrase


class Scenes(NamedTuple):
    """The tokens, words and sentences of D documents.

    texts            of the tokens
    kind             i4  of each token
    kinds            what is known of these
    marks            u1  what each token is
    word             i4  of each word of the texts, its place in the vocabulary
    word_offsets     per token, its words
    token_offsets    i8[D + 1]
    sentence_offsets i8[D + 1]
    sentences        i8[S, 2]  where each begins and ends
    """

    texts: tuple[str, ...]
    kind: Ints
    kinds: Kinds
    marks: Bytes
    word: Ints
    word_offsets: Longs
    token_offsets: Longs
    sentence_offsets: Longs
    sentences: Longs

    @classmethod
    def of(cls, documents: Sequence[Document], vocabulary: Vocabulary) -> "Scenes":
        """Read documents; one without sentences is taken for a single one."""
        texts = tuple(chain.from_iterable(document.tokens.texts for document in documents))
        read, kinds = vocabulary.read(texts)
        kind = np.append(read, np.int32(OUTSIDE))
        first = kinds.words.offsets
        word_offsets, word = sliced(kinds.words.items, first[kind], first[1:][kind])
        token_offsets = _offsets(len(text.tokens) for text in documents)
        sentences = [text.sentences or ((0, len(text.tokens)),) for text in documents]
        sentence_offsets = _offsets(map(len, sentences))
        flat = np.array([*chain.from_iterable(sentences)], np.int64).reshape(-1, 2)
        # Kernels trust that a sentence is inside of its document, and ends after it begins.
        own = np.repeat(np.arange(len(documents)), np.diff(sentence_offsets))[:, None]
        flat = np.clip(flat + token_offsets[own], token_offsets[own], token_offsets[own + 1])
        flat[:, 1] = flat.max(axis=1)
        return cls(
            texts, kind, kinds, kinds.marks[kind], word, word_offsets,
            token_offsets, sentence_offsets, flat,
        )  # fmt: skip

    @property
    def headlines(self) -> Longs:
        """i8[D, 2]: where the first sentence of each document begins and ends."""
        return self.sentences[self.sentence_offsets[:-1]]

    def topic(self, document: int) -> str:
        """Return the topic word of an agency headline: "SOCCER - …" or "NBA BASKETBALL - …"."""
        first, stop = self.token_offsets[document : document + 2].tolist()
        for before, word in pairwise(self.texts[first : min(first + 3, stop)]):
            if word == "-":
                return before.lower()
        return ""


def _offsets(sizes: Iterable[int]) -> Longs:
    return np.array([0, *accumulate(sizes)], np.int64)


class Spots(NamedTuple):
    """Where M mentions stand.

    document      of each mention
    first, stop   its tokens; inside of its document, whatever the mention says
    begin, end    the tokens of its sentence
    sentence      the number of that in its document
    sides         i8[M, 4]  the tokens around it: second before, before, after, second after
    """

    document: Longs
    first: Longs
    stop: Longs
    begin: Longs
    end: Longs
    sentence: Longs
    sides: Longs

    @classmethod
    def of(cls, scenes: Scenes, choices: Choices) -> "Spots":
        """Find the mentions asked about."""
        n = len(choices.mentions)
        spots = cls._make([*np.empty((6, n), np.int64), np.empty((n, 4), np.int64)])
        first = np.fromiter(map(attrgetter("first"), choices.mentions), np.int64, n)
        stop = np.fromiter(map(attrgetter("stop"), choices.mentions), np.int64, n)
        find_spots(
            first, stop, choices.mention_offsets, scenes.token_offsets, scenes.sentence_offsets,
            scenes.sentences, len(scenes.kind) - 1, spots,
        )  # fmt: skip
        return spots


@kernel
def find_spots(
    first: Longs, stop: Longs, mention_offsets: Ints, token_offsets: Longs,
    sentence_offsets: Longs, sentences: Longs, outside: int, spots: Spots,
) -> None:  # fmt: skip
    """Write where mentions stand.

    first, stop  the tokens of each, counted in its document
    outside      the token that stands for what is beyond the ends of a sentence
    """
    for d in range(mention_offsets.shape[0] - 1):
        start, last = token_offsets[d], token_offsets[d + 1]
        for m in range(mention_offsets[d], mention_offsets[d + 1]):
            here = min(max(start + first[m], start), last)
            after = min(max(start + stop[m], here), last)
            number = _sentence_of(here, sentence_offsets[d], sentence_offsets[d + 1], sentences)
            closing = _sentence_of(
                max(here, after - 1), sentence_offsets[d], sentence_offsets[d + 1], sentences
            )
            begin, end = min(sentences[number, 0], here), max(sentences[closing, 1], after)
            spots.document[m], spots.first[m], spots.stop[m] = d, here, after
            spots.begin[m], spots.end[m] = begin, end
            spots.sentence[m] = number - sentence_offsets[d]
            for i in range(4):
                side = here - 2 + i if i < 2 else after + i - 2
                spots.sides[m, i] = side if begin <= side < end else outside


@inner
def _sentence_of(token: int, first: int, stop: int, sentences: Longs) -> int:
    """Return the last sentence of a document that begins not after a token; else the first."""
    low, high = first, stop  # those below `low` do, those from `high` on do not
    while low < high:
        middle = (low + high) >> 1
        if sentences[middle, 0] <= token:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, first)


class Names:
    """The names of a document: how often each comes, and the longest that contains it.

    Mentions that nobody asks about count, too.
    """

    def __init__(self, document: Document) -> None:
        self.count = Counter([*map(normal_phrase, [m.text for m in document.mentions])])
        self._several = [f" {name} " for name in self.count if " " in name]
        self._all = "\n".join(self._several)
        self._longest: dict[str, str] = {}

    def longest(self, name: str) -> str:
        """Return the longest name that contains this one as words; of equals, the first."""
        found = self._longest.get(name)
        if found is None:
            self._longest[name] = found = self._find(name)
        return found

    def _find(self, name: str) -> str:
        own = f" {name} "
        if self._all.count(own) <= (" " in name):  # one of several words contains itself
            return name
        longest = own
        for other in self._several:
            if own in other and other.count(" ") > longest.count(" "):
                longest = other
        return longest[1:-1]
