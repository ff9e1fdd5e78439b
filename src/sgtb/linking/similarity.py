"""Similarity: how well the words of an entity go with the words around a mention.

The entity is seen as the words of its title, those of them that the mention does not say
itself ("the rest"), those that tell its kind, those in brackets, and the titles it is linked with.
The text is seen as the mention, its window, its sentence, the headline and the document.
"""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import NO, YES, ZERO, inner, int64, kernel
from sgtb.learn.dtypes import Bools, Floats, Ints, Longs
from sgtb.linking.choices import Choices
from sgtb.linking.contexts import Contexts
from sgtb.linking.facts import EntityFacts
from sgtb.linking.lexicon import Lexicon
from sgtb.linking.repeats import Repeats
from sgtb.linking.sparse import Sparse
from sgtb.text.word_vectors import unit

OVERLAPS = (
    "rest_words", "rest_in_document", "rest_weight_in_document", "rest_weight_missing",
    "rest_weight_in_sentence", "rest_weight_in_headline",
)  # fmt: skip
COSINES = (
    "title_mention", "title_window", "title_sentence", "title_headline", "title_document",
    "kind_sentence", "kind_headline", "kind_document", "bracket_headline", "bracket_document",
    "rest_sentence", "rest_headline", "rest_document",
)  # fmt: skip
DESCRIPTIONS = (
    "linked_document", "linked_headline", "linked_sentence",
    "description_window", "description_sentence", "description_headline", "description_document",
)  # fmt: skip


_SIDES = ("title", "description", "kind", "bracket", "rest")
_TEXTS = ("mention", "window", "sentence", "headline", "document")


def _sides(name: str) -> tuple[int, int]:
    side, text = name.split("_")
    return _SIDES.index(side), _TEXTS.index(text)


COSINE_OF = np.array([_sides(name) for name in COSINES], np.int64)
_LINKED = 3
"""So many of DESCRIPTIONS compare word by word; the others are products of vectors."""
DESCRIPTION_OF = np.array([_sides(name)[1] for name in DESCRIPTIONS[_LINKED:]], np.int64)


class Similarities(NamedTuple):
    """Tables of candidates.

    overlaps      f4[C, len(OVERLAPS)]      words of the title, one by one
    cosines       f4[C, len(COSINES)]       vectors of the title's words
    descriptions  f4[C, len(DESCRIPTIONS)]  both, for the titles that the entity is linked with
    """

    overlaps: Floats
    cosines: Floats
    descriptions: Floats


class _Bag(NamedTuple):
    offsets: Longs
    columns: Ints
    values: Floats


class _Texts(NamedTuple):
    """Vectors of the texts, one row per mention or per document."""

    name: Floats
    window: Floats
    sentence: Floats
    headline: Floats
    document: Floats


class _Lists(NamedTuple):
    """The candidates of names told once, and the mentions that have them."""

    offsets: Ints  # per document
    candidate_offsets: Ints
    entity: Ints
    mention_offsets: Longs
    mentions: Longs


class _Entities(NamedTuple):
    """The words of entities, and the vectors of their sides: all but the rest."""

    titles: _Bag
    descriptions: _Bag
    title: Floats
    description: Floats
    kind: Floats
    bracket: Floats
    blank: Bools  # [4, N]: is a vector zero? Most have no kind, and no brackets


class _Matches(NamedTuple):
    """The words that a document has of the candidates of a name."""

    offsets: Longs  # per candidate
    words: Ints
    values: Floats


class _Scratch(NamedTuple):
    """Room for the texts of a name: the texts that its mentions share, then two of each mention."""

    words: Floats  # f4[V, 4]: in document, headline, sentence, name; zero when not in use
    rest: Floats  # f4[1, W]
    texts: Floats  # side by side, one coordinate after the other
    products: Floats  # f4[5, ...]: title, description, kind, bracket, rest with each
    in_titles: _Matches
    in_descriptions: _Matches


_SHARED = ("name", "headline", "document")
_LANES = 8
"""Texts come in eights: a loop over them becomes vector instructions without a remainder."""


def similarities(
    choices: Choices, contexts: Contexts, repeats: Repeats, facts: EntityFacts, lexicon: Lexicon
) -> Similarities:
    """Compare every candidate with the texts around its mention."""
    n, once = choices.n_candidates, repeats.once
    out = Similarities(
        np.zeros((n, len(OVERLAPS)), np.float32),
        np.zeros((n, len(COSINES)), np.float32),
        np.zeros((n, len(DESCRIPTIONS)), np.float32),
    )
    names = ("name_bag", "window_bag", "sentence_bag", "headline_bag", "document_bag")
    bags = [getattr(contexts, name) for name in names]
    texts = _Texts(*(unit(bag.times(lexicon.vectors)) for bag in bags))
    sides = (facts.title_vector, facts.description_vector, facts.kind_vector, facts.bracket_vector)
    width = lexicon.vectors.shape[1]
    most_texts = _in_lanes(len(_SHARED) + 2 * int(np.diff(repeats.mentions.offsets).max(initial=0)))
    scratch = _Scratch(
        np.zeros((len(lexicon.words), 4), np.float32), np.zeros((1, width), np.float32),
        np.zeros(width * most_texts, np.float32), np.zeros((len(_SIDES), most_texts), np.float32),
        _room(once, facts.title_words), _room(once, facts.description),
    )  # fmt: skip
    name, _, sentence, headline, document = map(_arrays, bags)
    compare_texts(
        choices.candidate_offsets,
        _Lists(
            once.mention_offsets, once.candidate_offsets, once.entity, repeats.mentions.offsets,
            repeats.mentions.items,
        ),
        name, sentence, headline, document,
        _Entities(
            _arrays(facts.title_words), _arrays(facts.description), *sides,
            np.array([~side.any(axis=1) for side in sides]),
        ),
        lexicon.weight, lexicon.vectors, texts, scratch, out,
    )  # fmt: skip
    return out


def _arrays(bag: Sparse) -> _Bag:
    return _Bag(bag.offsets, bag.columns, bag.values)


def _room(once: Choices, bag: Sparse) -> _Matches:
    """Return room for the words of the candidates of any one name."""
    ends = np.concatenate([[0], np.cumsum(np.diff(bag.offsets)[once.entity])])
    most = int(np.diff(ends[once.candidate_offsets]).max(initial=0))
    longest = int(np.diff(once.candidate_offsets).max(initial=0))
    return _Matches(
        np.zeros(longest + 1, np.int64), np.zeros(most, np.int32), np.zeros(most, np.float32)
    )


def _in_lanes(n: int) -> int:
    return -(-n // _LANES) * _LANES


@kernel
def compare_texts(
    candidate_offsets: Ints, lists: _Lists, name: _Bag, sentence: _Bag, headline: _Bag,
    document: _Bag, entities: _Entities, weight: Floats, vectors: Floats, texts: _Texts,
    scratch: _Scratch, out: Similarities,
) -> None:  # fmt: skip
    """Fill the tables, name by name."""
    for d in range(lists.offsets.shape[0] - 1):
        _put(document, d, scratch.words, 0)
        _put(headline, d, scratch.words, 1)
        for r in range(lists.offsets[d], lists.offsets[d + 1]):
            begin, end = lists.mention_offsets[r], lists.mention_offsets[r + 1]
            mentions = lists.mentions[begin:end]
            first, last = int64(lists.candidate_offsets[r]), int64(lists.candidate_offsets[r + 1])
            _put(name, mentions[0], scratch.words, 3)
            lanes = _lay_out(texts, mentions, d, vectors.shape[1], scratch.texts)
            for c in range(first, last):
                e = int64(lists.entity[c])
                row = candidate_offsets[mentions[0]] + c - first
                _overlap(entities.titles, e, weight, vectors, scratch, c - first, out, row)
                _describe(entities.descriptions, e, scratch, c - first, out, row)
                rest_blank = out.overlaps[row, 0] == 0.0
                _multiply(entities.title, e, entities.blank[0, e], scratch, 0, lanes)
                _multiply(entities.description, e, entities.blank[1, e], scratch, 1, lanes)
                _multiply(entities.kind, e, entities.blank[2, e], scratch, 2, lanes)
                _multiply(entities.bracket, e, entities.blank[3, e], scratch, 3, lanes)
                _multiply(scratch.rest, ZERO, rest_blank, scratch, 4, lanes)
                for i in range(mentions.shape[0]):
                    to = candidate_offsets[mentions[i]] + c - first
                    _hand_out(row, to, i, scratch.products, out)
            _remove(name, mentions[0], scratch.words, 3)
            for i in range(mentions.shape[0]):
                _put(sentence, mentions[i], scratch.words, 2)
                for c in range(last - first):
                    row = candidate_offsets[mentions[i]] + c
                    out.overlaps[row, 4] = _found(scratch.in_titles, c, scratch.words, YES)
                    out.descriptions[row, 2] = _found(
                        scratch.in_descriptions, c, scratch.words, NO
                    )  # fmt: skip
                _remove(sentence, mentions[i], scratch.words, 2)
        _remove(document, d, scratch.words, 0)
        _remove(headline, d, scratch.words, 1)


@inner
def _put(bag: _Bag, row: int, words: Floats, column: int) -> None:
    for i in range(bag.offsets[row], bag.offsets[row + 1]):
        words[bag.columns[i], column] = bag.values[i]


@inner
def _remove(bag: _Bag, row: int, words: Floats, column: int) -> None:
    for i in range(bag.offsets[row], bag.offsets[row + 1]):
        words[bag.columns[i], column] = np.float32(0.0)


@inner
def _overlap(
    titles: _Bag, e: int, weight: Floats, vectors: Floats, scratch: _Scratch, c: int,
    out: Similarities, row: int,
) -> None:  # fmt: skip
    """Compare words one by one; leaves the vector of the rest, unit norm, in the scratch.

    Notes the words that the document has: those of a sentence are among them.
    """
    rest, words, matches = scratch.rest[0], scratch.words, scratch.in_titles
    for k in range(rest.shape[0]):
        rest[k] = np.float32(0.0)
    n, at = 0, matches.offsets[c]
    found, missing, in_headline = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for i in range(titles.offsets[e], titles.offsets[e + 1]):
        word = titles.columns[i]
        if words[word, 3] != 0.0:
            continue
        n += 1
        w = weight[word]
        if words[word, 0] != 0.0:
            matches.words[at], matches.values[at] = word, w
            at += 1
            found += w
        else:
            missing += w
        if words[word, 1] != 0.0:
            in_headline += w
        for k in range(rest.shape[0]):
            rest[k] += w * vectors[word, k]
    n_found = at - matches.offsets[c]
    matches.offsets[c + 1] = at
    out.overlaps[row, 0] = np.float32(n)
    out.overlaps[row, 1] = np.float32(n_found / n if n > 0 else 0.0)
    out.overlaps[row, 2], out.overlaps[row, 3], out.overlaps[row, 5] = found, missing, in_headline
    square = np.float32(0.0)
    for k in range(rest.shape[0]):
        square += rest[k] * rest[k]
    scale = np.float32(1.0) / np.sqrt(max(square, np.float32(1e-12)))
    for k in range(rest.shape[0]):
        rest[k] *= scale


@inner
def _describe(
    descriptions: _Bag, e: int, scratch: _Scratch, c: int, out: Similarities, row: int
) -> None:
    """Multiply the words of a description with document and headline; notes those they have."""
    words, matches = scratch.words, scratch.in_descriptions
    at = matches.offsets[c]
    in_document, in_headline = np.float32(0.0), np.float32(0.0)
    for i in range(descriptions.offsets[e], descriptions.offsets[e + 1]):
        word, value = descriptions.columns[i], descriptions.values[i]
        if words[word, 0] != 0.0:
            matches.words[at], matches.values[at] = word, value
            at += 1
            in_document += value * words[word, 0]
            in_headline += value * words[word, 1]
    matches.offsets[c + 1] = at
    out.descriptions[row, 0], out.descriptions[row, 1] = in_document, in_headline


@inner
def _found(matches: _Matches, c: int, words: Floats, as_flags: bool) -> np.float32:
    """Return the sum over the words that the sentence has, times their values there or once."""
    total = np.float32(0.0)
    for i in range(matches.offsets[c], matches.offsets[c + 1]):
        there = words[matches.words[i], 2]
        if there != 0.0:
            total += matches.values[i] if as_flags else matches.values[i] * there
    return total


@inner
def _lay_out(texts: _Texts, mentions: Longs, d: int, width: int, out: Floats) -> int:
    """Lay the vectors of the texts of a name side by side; return how many lie there, in eights."""
    n = mentions.shape[0]
    lanes = (3 + 2 * n + _LANES - 1) // _LANES * _LANES
    for k in range(width):
        at = k * lanes
        out[at] = texts.name[mentions[0], k]
        out[at + 1] = texts.headline[d, k]
        out[at + 2] = texts.document[d, k]
        for i in range(n):
            out[at + 3 + 2 * i] = texts.window[mentions[i], k]
            out[at + 4 + 2 * i] = texts.sentence[mentions[i], k]
    return int64(lanes)


@inner
def _multiply(
    vectors: Floats, row: int, blank: bool, scratch: _Scratch, line: int, lanes: int
) -> None:
    """Write the products of a vector and all texts: they become vector instructions, yet each
    sum keeps its order. Eight coordinates at a time: fewer round trips of the sums to memory."""
    out, texts = scratch.products[line, :lanes], scratch.texts
    for i in range(lanes):
        out[i] = np.float32(0.0)
    if blank:
        return
    width = vectors.shape[1]
    in_eights = width >> 3 << 3
    for k in range(0, in_eights, 8):
        a0, a1 = texts[k * lanes : (k + 1) * lanes], texts[(k + 1) * lanes : (k + 2) * lanes]
        a2, a3 = texts[(k + 2) * lanes : (k + 3) * lanes], texts[(k + 3) * lanes : (k + 4) * lanes]
        a4, a5 = texts[(k + 4) * lanes : (k + 5) * lanes], texts[(k + 5) * lanes : (k + 6) * lanes]
        a6, a7 = texts[(k + 6) * lanes : (k + 7) * lanes], texts[(k + 7) * lanes : (k + 8) * lanes]
        v0, v1, v2, v3 = (
            vectors[row, k],
            vectors[row, k + 1],
            vectors[row, k + 2],
            vectors[row, k + 3],
        )
        v4, v5, v6, v7 = (
            vectors[row, k + 4],
            vectors[row, k + 5],
            vectors[row, k + 6],
            vectors[row, k + 7],
        )
        for i in range(lanes):
            total = out[i] + v0 * a0[i]
            total += v1 * a1[i]
            total += v2 * a2[i]
            total += v3 * a3[i]
            total += v4 * a4[i]
            total += v5 * a5[i]
            total += v6 * a6[i]
            out[i] = total + v7 * a7[i]
    for k in range(in_eights, width):
        a0 = texts[k * lanes : (k + 1) * lanes]
        v0 = vectors[row, k]
        for i in range(lanes):
            out[i] += v0 * a0[i]


@inner
def _hand_out(row: int, to: int, i: int, products: Floats, out: Similarities) -> None:
    """Write what the i-th mention of a name gets: the first has what all share already."""
    if to != row:
        for k in range(out.overlaps.shape[1]):
            out.overlaps[to, k] = out.overlaps[row, k]
        out.descriptions[to, 0] = out.descriptions[row, 0]
        out.descriptions[to, 1] = out.descriptions[row, 1]
    for k in range(COSINE_OF.shape[0]):
        lane = _lane(COSINE_OF[k, 1], i)
        out.cosines[to, k] = products[COSINE_OF[k, 0], lane]
    for k in range(DESCRIPTION_OF.shape[0]):
        lane = _lane(DESCRIPTION_OF[k], i)
        out.descriptions[to, _LINKED + k] = products[1, lane]


@inner
def _lane(text: int, i: int) -> int:
    """Return where a text of the i-th mention lies; texts by their place in _TEXTS."""
    if text == 0:
        return ZERO
    return text - 2 if text > 2 else 2 + text + 2 * i
