"""Name fingerprints: names as numbers, so that kernels can compare them.

A name in normal form is its words. Its print holds a number for the whole, one for every word, the
sorted set of its runs of three letters, one for its initials and one for how it begins. Equal
strings have equal numbers; different strings have different ones but for a chance of 2⁻⁶⁴.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Words
from sgtb.core.ragged import Ragged
from sgtb.native import fingerprint_names, hash_texts
from sgtb.text.text_arrays import Texts

BEGINNING = 3
"""Letters that a beginning has."""


class NameFingerprints(NamedTuple):
    """The fingerprints of n names.

    whole      u8[n]  the name
    squeezed   u8[n]  the name without spaces
    initials   u8[n]  the first letters of its words
    beginning  u8[n, BEGINNING]  its first letter, its first two, its first three
    words      u8  in their order
    trigrams   u8  runs of three letters with a space before and after the name; sorted, each once
    """

    whole: Words
    squeezed: Words
    initials: Words
    beginning: Words
    words: Ragged
    trigrams: Ragged


def string_numbers(texts: Texts) -> Words:
    """Return the numbers of strings."""
    numbers = np.empty(len(texts.starts), np.uint64)
    hash_texts(texts, numbers)
    return numbers


def name_fingerprints(names: Sequence[str]) -> NameFingerprints:
    """Return the fingerprints of names in normal form."""
    texts = Texts.of(names)
    n, size = len(names), len(texts.data)
    room = np.empty(n + size // 2, np.uint64), np.empty(size, np.uint64)
    whole, squeezed, initials = np.empty((3, n), np.uint64)
    words, trigrams = (Ragged(np.empty(n + 1, np.int64), items) for items in room)
    beginning = np.empty((n, BEGINNING), np.uint64)
    fingerprints = NameFingerprints(whole, squeezed, initials, beginning, words, trigrams)
    n_words, n_trigrams = fingerprint_names(texts, fingerprints)
    words, trigrams = fingerprints.words, fingerprints.trigrams
    return fingerprints._replace(
        words=Ragged(words.indptr, words.data[:n_words].copy()),
        trigrams=Ragged(trigrams.indptr, trigrams.data[:n_trigrams].copy()),
    )
