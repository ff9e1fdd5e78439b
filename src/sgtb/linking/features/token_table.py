"""TokenTable: tokens, words and sentences of documents, in columns.

They are numbered through all documents. One more token at the end is the padding of sentences.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from operator import attrgetter, methodcaller
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Bools, Bytes, Floats, Ints, Longs, Masks
from sgtb.core.ragged import sliced
from sgtb.core.records import Document
from sgtb.linking.entities.vocabulary import OUTSIDE, Kinds, Vocabulary
from sgtb.native import number_distinct
from sgtb.text.normalization import normal_phrase


class TokenTable(NamedTuple):
    """The tokens, words and sentences of D documents.

    kind             i4  of each token
    kinds            data of all kinds
    marks            u1  `Mark` flags of each token
    word             i4  index of each word in the vocabulary
    word_offsets     words of each token
    token_offsets    i8[D + 1]
    sentence_offsets i8[D + 1]
    sentences        i8[S, 2]  first and last token + 1
    """

    kind: Ints
    kinds: Kinds
    marks: Bytes
    word: Ints
    word_offsets: Longs
    token_offsets: Longs
    sentence_offsets: Longs
    sentences: Longs

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
                self.longest[name] = max(longer, key=_n_spaces)


_n_spaces = methodcaller("count", " ")


# TextWords: the distinct words of documents.


@dataclass(frozen=True)
class TextWords:
    """The words of some texts.

    place     i8  index of every word among the U distinct words
    number    i4[U]  in the lexicon, or UNKNOWN
    weight    f4[U]  0 for unknown words
    is_digit  b1[U]  all digits
    is_stop   b1[U]
    sentence_clue, headline_clue, document_clue  u4[U]  hashes of "the word is in such a text"
    """

    place: Longs
    number: Ints
    weight: Floats
    is_digit: Bools
    is_stop: Bools
    sentence_clue: Masks
    headline_clue: Masks
    document_clue: Masks

    @classmethod
    def of(cls, words: Ints, vocabulary: npt.NDArray[Any]) -> "TextWords":
        """Look up words, given by their indices in a vocabulary."""
        place, distinct = np.empty(len(words), np.int64), np.empty(len(words), np.int32)
        n = number_distinct(words, len(vocabulary), place, distinct)
        known = vocabulary[distinct[:n]]
        names = ("number", "weight", "is_digit", "is_stop", "s", "h", "d")
        return cls(place, *(known[name].copy() for name in names))
