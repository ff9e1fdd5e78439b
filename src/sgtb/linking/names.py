"""Names: how alike a mention and a title are."""

from collections.abc import Sequence

import numpy as np

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.dtypes import Floats, Ints, Longs, Words
from sgtb.linking.choices import Choices
from sgtb.linking.facts import EntityFacts
from sgtb.linking.name_prints import BEGINNING, NamePrints, name_prints
from sgtb.ragged import Ragged

NAMES = (
    "name_equal", "title_equal", "full_name_equal", "full_title_equal", "words_alike",
    "full_words_alike", "letters_alike", "full_letters_alike", "words_within", "starts_alike",
    "ends_alike", "acronym", "name_within", "same_beginning",
)  # fmt: skip


def name_features(
    choices: Choices, names: Sequence[str], full_names: Sequence[str], facts: EntityFacts
) -> Floats:
    """Compare every mention's names with the titles of its candidates: f4[C, len(NAMES)]."""
    out = np.zeros((choices.n_candidates, len(NAMES)), np.float32)
    # A name comes again in other documents, and mostly is its own full name.
    distinct = [*dict.fromkeys((*names, *full_names))]
    number = dict(zip(distinct, range(len(distinct)), strict=True))
    compare_names(
        choices.candidate_offsets, choices.entity, np.array([*map(number.get, names)], np.int64),
        np.array([*map(number.get, full_names)], np.int64), name_prints(distinct),
        np.array([min(len(name), BEGINNING) for name in distinct], np.int32),
        facts.prints, facts.whole_title, out,
    )  # fmt: skip
    return out


@kernel
def compare_names(
    candidate_offsets: Ints, entity: Ints, name: Longs, full_name: Longs, names: NamePrints,
    length: Ints, titles: NamePrints, whole_title: Words, out: Floats,
) -> None:  # fmt: skip
    """Fill the features; a title is compared without what stands in brackets.

    name, full_name  of each mention, among `names`
    length           of each of these, as far as beginnings are compared
    """
    for m in range(candidate_offsets.shape[0] - 1):
        own, full = name[m], full_name[m]
        items = names.words.items
        first, last = names.words.offsets[own], names.words.offsets[own + 1]
        start, stop = names.words.offsets[full], names.words.offsets[full + 1]
        for c in range(candidate_offsets[m], candidate_offsets[m + 1]):
            e = int64(entity[c])
            a, b = titles.words.offsets[e], titles.words.offsets[e + 1]
            words = titles.words.items
            out[c, 0] = titles.whole[e] == names.whole[own]
            out[c, 1] = whole_title[e] == names.whole[own]
            out[c, 4] = _overlap(items, first, last, words, a, b)
            out[c, 6] = _dice(names.trigrams, own, titles.trigrams, e)
            if full == own:
                out[c, 2], out[c, 3], out[c, 5] = out[c, 0], out[c, 1], out[c, 4]
                out[c, 7] = out[c, 6]
            else:
                out[c, 2] = titles.whole[e] == names.whole[full]
                out[c, 3] = whole_title[e] == names.whole[full]
                out[c, 5] = _overlap(items, start, stop, words, a, b)
                out[c, 7] = _dice(names.trigrams, full, titles.trigrams, e)
            common = _distinct_common(items, first, last, words, a, b)
            out[c, 8] = common == _distinct(items, first, last)
            n, size = last - first, b - a
            if n > 0 or size == 0:
                out[c, 9] = n <= size and _equal(items, first, words, a, n)
                out[c, 10] = n <= size and _equal(items, first, words, b - n, n)
                for k in range(a, b - n + 1):
                    if _equal(items, first, words, k, n):
                        out[c, 12] = 1.0
                        break
            out[c, 11] = titles.initials[e] == names.squeezed[own]
            if length[own] == 0:
                out[c, 13] = 1.0
            else:
                place = length[own] - 1
                out[c, 13] = titles.beginning[e, place] == names.beginning[own, place]


@inner
def _equal(a: Words, i: int, b: Words, j: int, n: int) -> bool:
    for k in range(n):  # noqa: SIM110 (kernels have no generators)
        if a[i + k] != b[j + k]:
            return False
    return True


@inner
def _among(items: Words, first: int, last: int, word: np.uint64) -> bool:
    for i in range(first, last):  # noqa: SIM110
        if items[i] == word:
            return True
    return False


@inner
def _distinct(items: Words, first: int, last: int) -> int:
    n = 0
    for i in range(first, last):
        n += not _among(items, first, i, items[i])
    return n


@inner
def _distinct_common(a: Words, first: int, last: int, b: Words, start: int, stop: int) -> int:
    n = 0
    for i in range(first, last):
        n += not _among(a, first, i, a[i]) and _among(b, start, stop, a[i])
    return n


@inner
def _overlap(a: Words, first: int, last: int, b: Words, start: int, stop: int) -> float:
    """Return the share of common words among all words of both."""
    common = _distinct_common(a, first, last, b, start, stop)
    total = _distinct(a, first, last) + _distinct(b, start, stop) - common
    return common / max(total, 1)


@inner
def _dice(names: Ragged, name: int, titles: Ragged, title: int) -> float:
    """Return how many runs of three letters are common, against the mean of both.

    Nobody can tell which side goes on: so it is counted, and no branch is taken for it.
    """
    a, b = names.items, titles.items
    i, last = names.offsets[name], names.offsets[name + 1]
    j, stop = titles.offsets[title], titles.offsets[title + 1]
    total: int = (last - i) + (stop - j)
    common = 0
    while i < last and j < stop:
        x, y = a[i], b[j]
        common += int64(x == y)
        i += int64(x <= y)
        j += int64(y <= x)
    return 2 * common / max(total, 1)
