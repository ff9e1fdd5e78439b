"""Name fingerprints: 64-bit hashes of names and their parts, for comparison in kernels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Words
from sgtb.core.ragged import Ragged
from sgtb.native import fingerprint_names, hash_texts
from sgtb.text.text_arrays import Texts

BEGINNING = 3
"""Letters of the longest prefix."""


class NameFingerprints(NamedTuple):
    """Hashes of n names.

    whole      u8[n]  the name
    squeezed   u8[n]  without spaces
    initials   u8[n]  first letters of the words
    beginning  u8[n, BEGINNING]  prefixes of 1 to BEGINNING letters
    words      u8  in order
    trigrams   u8  of the name with a space before and after; sorted, distinct
    """

    whole: Words
    squeezed: Words
    initials: Words
    beginning: Words
    words: Ragged
    trigrams: Ragged


def string_numbers(texts: Texts) -> Words:
    """Return the hashes of strings."""
    numbers = np.empty(len(texts.starts), np.uint64)
    hash_texts(texts, numbers)
    return numbers


def name_fingerprints(names: Sequence[str]) -> NameFingerprints:
    """Return the fingerprints of normalized names."""
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
