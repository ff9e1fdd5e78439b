"""Contexts: what surrounds each mention, as word bags, places and hashed clues.

A clue is a small observation ("the next word is a number"), hashed to an integer. The tagger and
the ranker learn weights for clues; a feature that trees can use is made of those weights.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.kernels import kernel
from sgtb.learn.dtypes import Bools, Bytes, Doubles, Floats, Longs
from sgtb.linking.choices import Choices
from sgtb.linking.clue_hashes import (
    LOOKS,
    Hashes,
    NameClues,
    Sights,
    clue,
    mention_clues,
    name_clues,
)
from sgtb.linking.lexicon import Lexicon
from sgtb.linking.scenes import Names, Scenes, Spots
from sgtb.linking.sparse import Sparse
from sgtb.linking.text_words import TextWords
from sgtb.linking.vocabulary import Mark
from sgtb.ragged import Ragged

Looks = npt.NDArray[Any]

WINDOW = 5
"""Tokens on either side of a mention that are its near context."""

PLACES = (
    "dateline", "in_brackets", "before_number", "after_number", "after_preposition",
    "beside_versus", "in_topic_document", "in_headline", "sentence_digits", "sentence_capitals",
    "document_digits", "sentence_length", "sentence_place", "upper_case", "same_name",
    "document_mentions",
)  # fmt: skip

_DATE_REACH = 5
_COMMON, _RARE, _MOST_WORDS = 1.0, 5.0, 150
"""Document words serve as clues if their weight lies between these; so many at most."""


@dataclass(frozen=True)
class Clues:
    """Hashed clues per row: row r has values[offsets[r] : offsets[r + 1]]."""

    offsets: Longs
    values: Hashes

    @classmethod
    def of(cls, rows: Iterable[Iterable[str]]) -> "Clues":
        """Hash clues given as strings."""
        return cls(*Ragged.of(([clue(text) for text in row] for row in rows), np.uint32))


@dataclass(frozen=True)
class Contexts:
    """The surroundings of M mentions in D documents; bags have unit rows, stop words left out.

    names, full_names        normal form of each mention, and of the longest mention in the
                             document that contains it
    name_bag, sentence_bag, window_bag     M rows
    document_bag, headline_bag             D rows
    place       f4[M, len(PLACES)]
    place_clues, sentence_clues, tag_clues     M rows
    document_clues                             D rows
    """

    names: tuple[str, ...]
    full_names: tuple[str, ...]
    name_bag: Sparse
    sentence_bag: Sparse
    window_bag: Sparse
    document_bag: Sparse
    headline_bag: Sparse
    place: Floats
    place_clues: Clues
    sentence_clues: Clues
    tag_clues: Clues
    document_clues: Clues

    @classmethod
    def build(cls, choices: Choices, lexicon: Lexicon) -> "Contexts":
        """Look around every mention asked about."""
        scenes = Scenes.of(choices.documents, lexicon.vocabulary)
        spots = Spots.of(scenes, choices)
        texts = scenes.texts
        bounds = zip(choices.mentions, spots.first.tolist(), spots.stop.tolist(), strict=True)
        told = [name_clues(m.text, texts[first:stop]) for m, first, stop in bounds]
        own = [Names(document) for document in choices.documents]
        names = [own[document] for document in spots.document.tolist()]
        topics = [scenes.topic(document) for document in range(len(choices.documents))]
        looks = np.frombuffer(b"".join([mention.looks for mention in told]), LOOKS)
        place = _place(scenes, spots, told, looks, names, topics)
        words = TextWords.of(scenes.word, scenes.kinds.word)
        bags = _bags(scenes, spots, words, lexicon)
        place_clues, tag_clues = _mention_clues(scenes, spots, place, told, looks, topics)
        return cls(
            tuple(mention.name for mention in told),
            tuple(known.longest(mention.name) for known, mention in zip(names, told, strict=True)),
            *bags,
            place.astype(np.float32),
            place_clues,
            _sentence_clues(scenes, spots, words),
            tag_clues,
            _document_clues(scenes, words, bags.document),
        )


def _place(
    scenes: Scenes, spots: Spots, told: Sequence[NameClues], looks: Looks,
    names: Sequence[Names], topics: Sequence[str],
) -> Doubles:  # fmt: skip
    """Return f8[M, len(PLACES)]."""
    place = np.empty((len(told), len(PLACES)))
    see_places(
        spots, scenes.marks, _BITS, scenes.token_offsets, scenes.sentence_offsets,
        np.array([topic != "" for topic in topics], np.bool_),
        looks["is_upper"].copy(),
        np.array([own.count[m.name] for own, m in zip(names, told, strict=True)], np.int64),
        np.bincount(spots.document, minlength=1),
        np.zeros((2, len(scenes.marks) + 1), np.int64), place,
    )  # fmt: skip
    return place


class _Bits(NamedTuple):
    """The values of `Mark`. Given, not compiled in: no stamp of kernels covers where they are."""

    number: int
    capital: int
    date: int
    opening: int
    closing: int
    preposition: int
    versus: int


_BITS = _Bits(*(int(Mark[name.upper()]) for name in _Bits._fields))


@kernel
def see_places(
    spots: Spots, marks: Bytes, bit: _Bits, token_offsets: Longs, sentence_offsets: Longs,
    has_topic: Bools, is_upper: Bools, same_name: Longs, n_mentions: Longs, counted: Longs,
    out: Doubles,
) -> None:  # fmt: skip
    """Write PLACES of all mentions.

    has_topic, n_mentions  per document
    is_upper, same_name    per mention
    counted                scratch, zero: how many tokens before each are numbers, or have capitals
    """
    for t in range(marks.shape[0]):
        counted[0, t + 1] = counted[0, t] + ((marks[t] & bit.number) > 0)
        counted[1, t + 1] = counted[1, t] + ((marks[t] & bit.capital) > 0)
    for m in range(out.shape[0]):
        d, begin, end, stop = spots.document[m], spots.begin[m], spots.end[m], spots.stop[m]
        before, after = marks[spots.sides[m, 1]], marks[spots.sides[m, 2]]
        start, last = token_offsets[d], token_offsets[d + 1]
        is_dated = False
        for t in range(stop, min(stop + _DATE_REACH, end)):
            is_dated = is_dated or (marks[t] & bit.date) > 0
        n, place = end - begin, out[m]
        place[0] = is_dated
        place[1] = (before & bit.opening) > 0 and (after & bit.closing) > 0
        place[2] = (after & bit.number) > 0
        place[3] = (before & bit.number) > 0
        place[4] = (before & bit.preposition) > 0
        place[5] = ((before | after) & bit.versus) > 0
        place[6] = has_topic[d]
        place[7] = spots.sentence[m] == 0
        place[8] = (counted[0, end] - counted[0, begin]) / max(n, 1)
        place[9] = (counted[1, end] - counted[1, begin]) / max(n, 1)
        place[10] = (counted[0, last] - counted[0, start]) / max(last - start, 1)
        place[11] = n
        place[12] = spots.sentence[m] / (sentence_offsets[d + 1] - sentence_offsets[d])
        place[13] = is_upper[m]
        place[14] = same_name[m]
        place[15] = n_mentions[d]


class _Bags(NamedTuple):
    """Words of texts, weighted by rarity and damped count, rows scaled to length one."""

    name: Sparse
    sentence: Sparse
    window: Sparse
    document: Sparse
    headline: Sparse


def _bags(scenes: Scenes, spots: Spots, words: TextWords, lexicon: Lexicon) -> _Bags:
    """Return all bags, made at once as one matrix, for most of them are small."""
    start = scenes.token_offsets
    low = np.maximum(spots.first - WINDOW, start[spots.document])
    high = np.minimum(spots.stop + WINDOW, start[spots.document + 1])
    n, d = len(spots.document), len(start) - 1
    rows = [0, n, 2 * n, 3 * n, 3 * n + d, 3 * n + 2 * d]
    tokens = np.zeros((rows[-1], 2, 2), np.int64)
    name, sentence, window, document, headline = (tokens[a:b] for a, b in pairwise(rows))
    name[:, 0, 0], name[:, 0, 1] = spots.first, spots.stop
    for around, begin, end in ((sentence, spots.begin, spots.end), (window, low, high)):
        around[:, 0, 0], around[:, 0, 1] = begin, spots.first
        around[:, 1, 0], around[:, 1, 1] = spots.stop, end
    document[:, 0, 0], document[:, 0, 1] = start[:-1], start[1:]
    headline[:, 0] = scenes.headlines
    counts = words.counted(scenes.word_offsets[tokens], len(lexicon.words))
    weight = (1 + np.log(counts.values)) * lexicon.weight[counts.columns]
    matrix = counts.with_values(weight).unit_rows()
    return _Bags(*(matrix.part(first, last) for first, last in pairwise(rows)))


def _mention_clues(
    scenes: Scenes, spots: Spots, place: Doubles, told: Sequence[NameClues], looks: Looks,
    topics: Sequence[str],
) -> tuple[Clues, Clues]:  # fmt: skip
    """Return clues to the meaning of mentions and to their tags."""
    length, is_upper, ending, shape = (
        looks[name].copy() for name in ("length", "is_upper", "ending", "shape")
    )
    words = [mention.words for mention in told]
    offsets = np.cumsum([0, *map(len, words)]) // np.dtype(np.uint32).itemsize
    sights = Sights(
        spots.document, scenes.kind[spots.sides].astype(np.int64), spots.sentence,
        (4 * place[:, PLACES.index("sentence_digits")]).astype(np.int64), length,
        place[:, PLACES.index("dateline")] > 0, place[:, PLACES.index("in_brackets")] > 0,
        is_upper, spots.first == spots.begin, ending, shape,
        Ragged(offsets, np.frombuffer(bytearray().join(words), np.uint32)),
    )  # fmt: skip
    of_place, of_tag = mention_clues(sights, scenes.kinds.near, topics)
    return Clues(*of_place), Clues(*of_tag)


def _sentence_clues(scenes: Scenes, spots: Spots, words: TextWords) -> Clues:
    """Return the telling words of sentences, without those of the mention."""
    tokens = np.stack([spots.begin, spots.first, spots.stop, spots.end], axis=1)
    telling = ~(words.is_stop | words.is_digit)
    return Clues(*words.clues("s", words.place, scenes.word_offsets[tokens], telling))


def _document_clues(scenes: Scenes, words: TextWords, bag: Sparse) -> Clues:
    """Return the words of headlines, and those of documents that are of middling frequency."""
    heads = words.clues("h", words.place, scenes.word_offsets[scenes.headlines], words.weight > 0)
    # The words of a bag stand in the order of the lexicon, which is that of the alphabet.
    order = np.argsort(words.number, kind="stable")
    place = order[np.searchsorted(words.number[order], bag.columns)]
    rows = np.stack([bag.offsets[:-1], bag.offsets[1:]], axis=1)
    middling = (words.weight > _COMMON) & (words.weight < _RARE) & ~words.is_digit
    telling = words.clues("d", place, rows, middling, _MOST_WORDS)
    both = [part.row(d) for d in range(bag.n_rows) for part in (heads, telling)]
    values = np.concatenate([np.zeros(0, np.uint32), *both])
    return Clues(heads.offsets + telling.offsets, values)
