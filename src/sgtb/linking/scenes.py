"""Scenes: documents in columns, while their mentions are looked at.

Tokens, words and sentences are numbered through all documents at hand. Behind the last token stands
one more: what is seen beyond the ends of a sentence.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import numpy as np

from sgtb.learn.dtypes import Bytes, Ints, Longs
from sgtb.linking.choices import Choices
from sgtb.linking.slices import sliced
from sgtb.linking.vocabulary import OUTSIDE, Kinds, Mark, Vocabulary
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
        flat += np.repeat(token_offsets[:-1], np.diff(sentence_offsets))[:, None]
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

    def counted(self, mark: Mark) -> Longs:
        """Return how many tokens before each have a mark."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum((self.marks & mark) > 0)])


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
        document = np.repeat(np.arange(len(choices.documents)), np.diff(choices.mention_offsets))
        tokens = np.array([(m.first, m.stop) for m in choices.mentions], np.int64).reshape(-1, 2)
        start, last = scenes.token_offsets[document], scenes.token_offsets[document + 1]
        first = np.minimum(start + tokens[:, 0], last)
        stop = np.clip(start + tokens[:, 1], first, last)
        number = _sentence_of(scenes, document, first)
        end_number = _sentence_of(scenes, document, np.maximum(first, stop - 1))
        begin = np.minimum(scenes.sentences[number, 0], first)
        end = np.maximum(scenes.sentences[end_number, 1], stop)
        sides = first[:, None] + np.array([-2, -1, 0, 0])
        sides[:, 2:] = stop[:, None] + np.array([0, 1])
        inside = (begin[:, None] <= sides) & (sides < end[:, None])
        return cls(
            document, first, stop, begin, end, number - scenes.sentence_offsets[document],
            np.where(inside, sides, len(scenes.kind) - 1),
        )  # fmt: skip


def _sentence_of(scenes: Scenes, document: Longs, token: Longs) -> Longs:
    found = np.searchsorted(scenes.sentences[:, 0], token, side="right") - 1
    first, stop = scenes.sentence_offsets[document], scenes.sentence_offsets[document + 1]
    return np.clip(found, first, stop - 1)


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
