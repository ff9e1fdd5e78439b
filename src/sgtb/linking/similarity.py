"""Similarity: how well the words of an entity go with the words around a mention.

The entity is seen as the words of its title, those of them that the mention does not say
itself ("the rest"), those that tell its kind, those in brackets, and the titles it is linked with.
The text is seen as the mention, its window, its sentence, the headline and the document.
"""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.dtypes import Floats, Ints, Longs
from sgtb.linking.choices import Choices
from sgtb.linking.contexts import Contexts
from sgtb.linking.facts import EntityFacts
from sgtb.linking.lexicon import Lexicon
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


class _Scratch(NamedTuple):
    """One place per word, zero when not in use, and one vector."""

    document: Floats
    headline: Floats
    sentence: Floats
    name: Floats
    rest: Floats


def similarities(
    choices: Choices, contexts: Contexts, facts: EntityFacts, lexicon: Lexicon
) -> Similarities:
    """Compare every candidate with the texts around its mention."""
    n = choices.n_candidates
    out = Similarities(
        np.zeros((n, len(OVERLAPS)), np.float32),
        np.zeros((n, len(COSINES)), np.float32),
        np.zeros((n, len(DESCRIPTIONS)), np.float32),
    )
    names = ("name_bag", "window_bag", "sentence_bag", "headline_bag", "document_bag")
    bags = [getattr(contexts, name) for name in names]
    texts = _Texts(*(unit(bag.times(lexicon.vectors)) for bag in bags))
    spots = np.zeros((4, len(lexicon.words)), np.float32)
    rest = np.zeros(lexicon.vectors.shape[1], np.float32)
    scratch = _Scratch(spots[0], spots[1], spots[2], spots[3], rest)
    name, _, sentence, headline, document = map(_arrays, bags)
    compare_texts(
        choices.mention_offsets, choices.candidate_offsets, choices.entity,
        name, sentence, headline, document, _arrays(facts.title_words),
        _arrays(facts.description), lexicon.weight, lexicon.vectors, texts, facts.title_vector,
        facts.description_vector, facts.kind_vector, facts.bracket_vector, scratch, out,
    )  # fmt: skip
    return out


def _arrays(bag: Sparse) -> _Bag:
    return _Bag(bag.offsets, bag.columns, bag.values)


@kernel
def compare_texts(
    mention_offsets: Ints, candidate_offsets: Ints, entity: Ints, name: _Bag, sentence: _Bag,
    headline: _Bag, document: _Bag, titles: _Bag, descriptions: _Bag, weight: Floats,
    vectors: Floats, texts: _Texts, title_vector: Floats, description_vector: Floats,
    kind_vector: Floats, bracket_vector: Floats, scratch: _Scratch, out: Similarities,
) -> None:  # fmt: skip
    """Fill the tables."""
    for d in range(mention_offsets.shape[0] - 1):
        _put(document, d, scratch.document)
        _put(headline, d, scratch.headline)
        for m in range(mention_offsets[d], mention_offsets[d + 1]):
            _put(sentence, m, scratch.sentence)
            _put(name, m, scratch.name)
            for c in range(candidate_offsets[m], candidate_offsets[m + 1]):
                e = int64(entity[c])
                _overlap(titles, e, weight, vectors, scratch, out.overlaps, c)
                _describe(descriptions, e, scratch, out.descriptions, c)
                _cosine(texts.name, m, title_vector, e, out.cosines, c, 0)
                _cosine(texts.window, m, title_vector, e, out.cosines, c, 1)
                _cosine(texts.sentence, m, title_vector, e, out.cosines, c, 2)
                _cosine(texts.headline, d, title_vector, e, out.cosines, c, 3)
                _cosine(texts.document, d, title_vector, e, out.cosines, c, 4)
                _cosine(texts.window, m, description_vector, e, out.descriptions, c, 3)
                _cosine(texts.sentence, m, description_vector, e, out.descriptions, c, 4)
                _cosine(texts.headline, d, description_vector, e, out.descriptions, c, 5)
                _cosine(texts.document, d, description_vector, e, out.descriptions, c, 6)
                _cosine(texts.sentence, m, kind_vector, e, out.cosines, c, 5)
                _cosine(texts.headline, d, kind_vector, e, out.cosines, c, 6)
                _cosine(texts.document, d, kind_vector, e, out.cosines, c, 7)
                _cosine(texts.headline, d, bracket_vector, e, out.cosines, c, 8)
                _cosine(texts.document, d, bracket_vector, e, out.cosines, c, 9)
                _rest_cosine(texts.sentence, m, scratch.rest, out.cosines, c, 10)
                _rest_cosine(texts.headline, d, scratch.rest, out.cosines, c, 11)
                _rest_cosine(texts.document, d, scratch.rest, out.cosines, c, 12)
            _remove(sentence, m, scratch.sentence)
            _remove(name, m, scratch.name)
        _remove(document, d, scratch.document)
        _remove(headline, d, scratch.headline)


@inner
def _put(bag: _Bag, row: int, place: Floats) -> None:
    for i in range(bag.offsets[row], bag.offsets[row + 1]):
        place[bag.columns[i]] = bag.values[i]


@inner
def _remove(bag: _Bag, row: int, place: Floats) -> None:
    for i in range(bag.offsets[row], bag.offsets[row + 1]):
        place[bag.columns[i]] = np.float32(0.0)


@inner
def _overlap(
    titles: _Bag, e: int, weight: Floats, vectors: Floats, scratch: _Scratch, out: Floats, c: int,
) -> None:  # fmt: skip
    """Compare words one by one; leaves the vector of the rest, unit norm, in the scratch."""
    rest = scratch.rest
    for k in range(rest.shape[0]):
        rest[k] = np.float32(0.0)
    n, n_found = 0, 0
    for i in range(titles.offsets[e], titles.offsets[e + 1]):
        word = titles.columns[i]
        if scratch.name[word] != 0.0:
            continue
        n += 1
        w = weight[word]
        if scratch.document[word] != 0.0:
            n_found += 1
            out[c, 2] += w
        else:
            out[c, 3] += w
        if scratch.sentence[word] != 0.0:
            out[c, 4] += w
        if scratch.headline[word] != 0.0:
            out[c, 5] += w
        for k in range(rest.shape[0]):
            rest[k] += w * vectors[word, k]
    out[c, 0] = np.float32(n)
    out[c, 1] = np.float32(n_found / n if n > 0 else 0.0)
    square = np.float32(0.0)
    for k in range(rest.shape[0]):
        square += rest[k] * rest[k]
    scale = np.float32(1.0) / np.sqrt(max(square, np.float32(1e-12)))
    for k in range(rest.shape[0]):
        rest[k] *= scale


@inner
def _describe(descriptions: _Bag, e: int, scratch: _Scratch, out: Floats, c: int) -> None:
    for i in range(descriptions.offsets[e], descriptions.offsets[e + 1]):
        word, value = descriptions.columns[i], descriptions.values[i]
        out[c, 0] += value * scratch.document[word]
        out[c, 1] += value * scratch.headline[word]
        out[c, 2] += value * scratch.sentence[word]


@inner
def _cosine(a: Floats, i: int, b: Floats, j: int, out: Floats, c: int, column: int) -> None:
    total = np.float32(0.0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[j, k]
    out[c, column] = total


@inner
def _rest_cosine(a: Floats, i: int, rest: Floats, out: Floats, c: int, column: int) -> None:
    total = np.float32(0.0)
    for k in range(a.shape[1]):
        total += a[i, k] * rest[k]
    out[c, column] = total
