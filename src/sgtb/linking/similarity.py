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


class _Scratch(NamedTuple):
    """Scratch: what texts have each word, one vector, the texts of a mention."""

    words: Floats  # f4[V, 4]: in document, headline, sentence, name; zero when not in use
    rest: Floats  # f4[1, W]
    texts: Floats  # f4[W, 8], of which 5 are used: those of _Texts
    products: Floats  # f4[5, 8]: title, description, kind, bracket, rest with each


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
    width = lexicon.vectors.shape[1]
    scratch = _Scratch(
        np.zeros((len(lexicon.words), 4), np.float32), np.zeros((1, width), np.float32),
        np.zeros((width, 8), np.float32), np.zeros((5, 8), np.float32),
    )  # fmt: skip
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
        _put(document, d, scratch.words, 0)
        _put(headline, d, scratch.words, 1)
        for m in range(mention_offsets[d], mention_offsets[d + 1]):
            _put(sentence, m, scratch.words, 2)
            _put(name, m, scratch.words, 3)
            _lay_out(texts, m, d, scratch.texts)
            for c in range(candidate_offsets[m], candidate_offsets[m + 1]):
                e = int64(entity[c])
                _overlap(titles, e, weight, vectors, scratch, out.overlaps, c)
                _describe(descriptions, e, scratch, out.descriptions, c)
                _multiply(title_vector, e, scratch.texts, scratch.products, 0)
                _multiply(description_vector, e, scratch.texts, scratch.products, 1)
                _multiply(kind_vector, e, scratch.texts, scratch.products, 2)
                _multiply(bracket_vector, e, scratch.texts, scratch.products, 3)
                _multiply(scratch.rest, 0, scratch.texts, scratch.products, 4)
                for i in range(COSINE_OF.shape[0]):
                    entity_side, text = COSINE_OF[i, 0], COSINE_OF[i, 1]
                    out.cosines[c, i] = scratch.products[entity_side, text]
                for i in range(DESCRIPTION_OF.shape[0]):
                    text = DESCRIPTION_OF[i]
                    out.descriptions[c, _LINKED + i] = scratch.products[1, text]
            _remove(sentence, m, scratch.words, 2)
            _remove(name, m, scratch.words, 3)
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
    titles: _Bag, e: int, weight: Floats, vectors: Floats, scratch: _Scratch, out: Floats, c: int,
) -> None:  # fmt: skip
    """Compare words one by one; leaves the vector of the rest, unit norm, in the scratch."""
    rest, words = scratch.rest[0], scratch.words
    for k in range(rest.shape[0]):
        rest[k] = np.float32(0.0)
    n, n_found = 0, 0
    for i in range(titles.offsets[e], titles.offsets[e + 1]):
        word = titles.columns[i]
        if words[word, 3] != 0.0:
            continue
        n += 1
        w = weight[word]
        if words[word, 0] != 0.0:
            n_found += 1
            out[c, 2] += w
        else:
            out[c, 3] += w
        if words[word, 2] != 0.0:
            out[c, 4] += w
        if words[word, 1] != 0.0:
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
    words = scratch.words
    for i in range(descriptions.offsets[e], descriptions.offsets[e + 1]):
        word, value = descriptions.columns[i], descriptions.values[i]
        out[c, 0] += value * words[word, 0]
        out[c, 1] += value * words[word, 1]
        out[c, 2] += value * words[word, 2]


@inner
def _lay_out(texts: _Texts, m: int, d: int, out: Floats) -> None:
    """Lay the vectors of a mention's texts side by side."""
    for k in range(out.shape[0]):
        out[k, 0] = texts.name[m, k]
        out[k, 1] = texts.window[m, k]
        out[k, 2] = texts.sentence[m, k]
        out[k, 3] = texts.headline[d, k]
        out[k, 4] = texts.document[d, k]


@inner
def _multiply(vectors: Floats, row: int, texts: Floats, out: Floats, line: int) -> None:
    """Write the products of a vector and all texts: they become vector instructions, yet each
    sum keeps its order."""
    lanes = texts.shape[1]
    for i in range(lanes):
        out[line, i] = np.float32(0.0)
    in_twos = texts.shape[0] >> 1 << 1
    for k in range(0, in_twos, 2):  # fewer round trips of the sums to memory
        v0, v1 = vectors[row, k], vectors[row, k + 1]
        for i in range(lanes):
            out[line, i] = (out[line, i] + v0 * texts[k, i]) + v1 * texts[k + 1, i]
    for k in range(in_twos, texts.shape[0]):
        v0 = vectors[row, k]
        for i in range(lanes):
            out[line, i] += v0 * texts[k, i]
