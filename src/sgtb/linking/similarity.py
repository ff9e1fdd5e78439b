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
from sgtb.linking.eights import EIGHT, fill_panels, multiply_panels, panel_room
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
_TITLE, _DESCRIPTION, _KIND, _BRACKET, _REST = map(int64, range(len(_SIDES)))
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
    blank: Bools  # [4, N]: has an entity no words of a side? Most have no kind, and no brackets


class _Matches(NamedTuple):
    """The words that a document has of the candidates of a name."""

    offsets: Longs  # per candidate
    words: Ints
    values: Floats


class _Scratch(NamedTuple):
    """Room for the texts of a name, those that its mentions share, then two of each mention, and
    for what is compared with them: the sides of its candidates that are not blank.
    """

    words: Floats  # f4[V, 4]: in document, headline, sentence, name; zero when not in use
    seen: Bools  # b1[V]: is a word in the document? A sixteenth of `words`: it stays in the cache
    texts: Floats  # one per row
    panels: Floats  # the same, eight abreast
    sides: Floats  # one per row
    products: Floats  # of each side with each text; the last row is zero
    place: Longs  # i8[..., 5]: the row of each side of each candidate; the last if it is blank
    in_titles: _Matches
    in_descriptions: _Matches


_SHARED = ("name", "headline", "document")


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
    most_texts = len(_SHARED) + 2 * int(np.diff(repeats.mentions.offsets).max(initial=0))
    longest = int(np.diff(once.candidate_offsets).max(initial=0))
    most_sides = len(_SIDES) * longest
    scratch = _Scratch(
        np.zeros((len(lexicon.words), 4), np.float32), np.zeros(len(lexicon.words), np.bool_),
        np.zeros((most_texts + EIGHT, width), np.float32),
        np.zeros(panel_room(most_texts, width), np.float32),
        np.zeros((most_sides + EIGHT, width), np.float32),
        np.zeros((most_sides + EIGHT, most_texts + EIGHT), np.float32),
        np.zeros((longest, len(_SIDES)), np.int64),
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
        _Entities(_arrays(facts.title_words), _arrays(facts.description), *sides, _blank(facts)),
        lexicon.weight, lexicon.vectors, texts, scratch, out,
    )  # fmt: skip
    return out


def _blank(facts: EntityFacts) -> Bools:
    worded = (facts.title_words, facts.description, facts.kind_clues)
    no_brackets = facts.shape[:, 0] == 0
    return np.stack([*(np.diff(words.offsets) == 0 for words in worded), no_brackets])


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


@kernel
def compare_texts(
    candidate_offsets: Ints, lists: _Lists, name: _Bag, sentence: _Bag, headline: _Bag,
    document: _Bag, entities: _Entities, weight: Floats, vectors: Floats, texts: _Texts,
    scratch: _Scratch, out: Similarities,
) -> None:  # fmt: skip
    """Fill the tables, name by name."""
    for d in range(lists.offsets.shape[0] - 1):
        _put(document, d, scratch.words, 0)
        _mark(document, d, scratch.seen, YES)
        _put(headline, d, scratch.words, 1)
        for r in range(lists.offsets[d], lists.offsets[d + 1]):
            begin, end = lists.mention_offsets[r], lists.mention_offsets[r + 1]
            mentions = lists.mentions[begin:end]
            first, last = int64(lists.candidate_offsets[r]), int64(lists.candidate_offsets[r + 1])
            _put(name, mentions[0], scratch.words, 3)
            n_texts = _lay_out(texts, mentions, d, scratch)
            n = ZERO
            for c in range(last - first):
                e, row = int64(lists.entity[first + c]), candidate_offsets[mentions[0]] + c
                n = _take(entities.title, _TITLE, e, entities.blank, scratch, c, n)
                n = _take(entities.description, _DESCRIPTION, e, entities.blank, scratch, c, n)
                n = _take(entities.kind, _KIND, e, entities.blank, scratch, c, n)
                n = _take(entities.bracket, _BRACKET, e, entities.blank, scratch, c, n)
                n = _overlap(entities.titles, e, weight, vectors, scratch, c, n, out, row)
                _describe(entities.descriptions, e, scratch, c, out, row)
            n_panels = (n_texts + EIGHT - 1) // EIGHT
            multiply_panels(scratch.sides, n, scratch.panels, ZERO, n_panels, scratch.products)
            for i in range(mentions.shape[0]):
                for c in range(last - first):
                    row, to = candidate_offsets[mentions[0]] + c, candidate_offsets[mentions[i]] + c
                    _hand_out(row, to, i, scratch.place[c], scratch.products, out)
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
        _mark(document, d, scratch.seen, NO)
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
def _mark(bag: _Bag, row: int, seen: Bools, is_seen: bool) -> None:
    for i in range(bag.offsets[row], bag.offsets[row + 1]):
        seen[bag.columns[i]] = is_seen and bag.values[i] != 0.0


@inner
def _overlap(
    titles: _Bag, e: int, weight: Floats, vectors: Floats, scratch: _Scratch, c: int, free: int,
    out: Similarities, row: int,
) -> int:  # fmt: skip
    """Compare words one by one; write the vector of the rest, unit norm, to the free row.

    Notes the words that the document has: those of a sentence are among them. Returns the next
    free row.
    """
    rest, words, matches = scratch.sides[free], scratch.words, scratch.in_titles
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
    return _placed(scratch, c, _REST, n == 0, free)


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
        if scratch.seen[word]:
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
def _lay_out(texts: _Texts, mentions: Longs, d: int, scratch: _Scratch) -> int:
    """Lay the vectors of the texts of a name side by side; return how many they are."""
    _copy(texts.name[mentions[0]], scratch.texts[0])
    _copy(texts.headline[d], scratch.texts[1])
    _copy(texts.document[d], scratch.texts[2])
    n = 3
    for m in mentions:
        _copy(texts.window[m], scratch.texts[n])
        _copy(texts.sentence[m], scratch.texts[n + 1])
        n += 2
    fill_panels(scratch.texts, n, scratch.panels)
    return n


@inner
def _copy(vector: Floats, out: Floats) -> None:
    for k in range(vector.shape[0]):
        out[k] = vector[k]


@inner
def _take(
    vectors: Floats, side: int, e: int, blank: Bools, scratch: _Scratch, c: int, free: int
) -> int:
    """Write a side of candidate c to the free row, if it is not blank; return the next free row."""
    if not blank[side, e]:
        _copy(vectors[e], scratch.sides[free])
    return _placed(scratch, c, side, blank[side, e], free)


@inner
def _placed(scratch: _Scratch, c: int, side: int, blank: bool, free: int) -> int:
    """Note where a side is; return the next free row."""
    scratch.place[c, side] = scratch.products.shape[0] - 1 if blank else free
    return free if blank else free + 1


@inner
def _hand_out(row: int, to: int, i: int, place: Longs, products: Floats, out: Similarities) -> None:
    """Write what the i-th mention of a name gets: the first has what all share already."""
    if to != row:
        for k in range(out.overlaps.shape[1]):
            out.overlaps[to, k] = out.overlaps[row, k]
        out.descriptions[to, 0] = out.descriptions[row, 0]
        out.descriptions[to, 1] = out.descriptions[row, 1]
    for k in range(COSINE_OF.shape[0]):
        lane = _lane(COSINE_OF[k, 1], i)
        out.cosines[to, k] = products[place[COSINE_OF[k, 0]], lane]
    for k in range(DESCRIPTION_OF.shape[0]):
        lane = _lane(DESCRIPTION_OF[k], i)
        out.descriptions[to, _LINKED + k] = products[place[_DESCRIPTION], lane]


@inner
def _lane(text: int, i: int) -> int:
    """Return where a text of the i-th mention lies; texts by their place in _TEXTS."""
    if text == 0:
        return ZERO
    return text - 2 if text > 2 else 2 + text + 2 * i
