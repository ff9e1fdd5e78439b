"""TextWords: the distinct words of documents."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Bools, Floats, Ints, Longs, Masks
from sgtb.native import number_distinct


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
