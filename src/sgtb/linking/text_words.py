"""TextWords: the words of the documents at hand, each looked up once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.kernels import int64, kernel
from sgtb.learn.dtypes import Bools, Floats, Ints, Longs
from sgtb.linking.clue_hashes import Hashes
from sgtb.ragged import Ragged


@dataclass(frozen=True)
class TextWords:
    """The words of some texts.

    place     i8  of every word there, in order, its place among the U distinct words
    number    i4[U]  in the lexicon, or UNKNOWN
    weight    f4[U]  0 for an unknown word
    is_digit  b1[U]  whether it is all digits
    is_stop   b1[U]
    known     all that a vocabulary knows of them
    """

    place: Longs
    number: Ints
    weight: Floats
    is_digit: Bools
    is_stop: Bools
    known: npt.NDArray[Any]

    @classmethod
    def of(cls, words: Ints, vocabulary: npt.NDArray[Any]) -> "TextWords":
        """Look up words, given by their places in a vocabulary: that is large, a text is not."""
        distinct, place = np.unique(words, return_inverse=True)
        known = vocabulary[distinct]
        number, weight = (np.ascontiguousarray(known[name]) for name in ("number", "weight"))
        is_digit, is_stop = (np.ascontiguousarray(known[name]) for name in ("is_digit", "is_stop"))
        return cls(place, number, weight, is_digit, is_stop, known)

    def clues(
        self, kind: str, places: Longs, slices: Longs, wanted: Bools, most: int | None = None
    ) -> Ragged:
        """Return the hashed clues "kind:word" of words wanted, each once per row, `most` of a row.

        slices  i8[R, 2 S]  per row, where slices of `places` begin and end
        wanted  b1[U]
        """
        hashes = np.ascontiguousarray(self.known[kind])
        offsets = np.zeros(len(slices) + 1, np.int64)
        out = np.zeros(int((slices[:, 1::2] - slices[:, ::2]).sum()), np.uint32)
        seen = np.full(len(hashes), -1, np.int64)
        limit = len(hashes) if most is None else most
        list_words(places, slices, hashes, wanted, limit, seen, offsets, out)
        return Ragged(offsets, out[: offsets[-1]])


@kernel
def list_words(
    places: Longs, slices: Longs, hashes: Hashes, wanted: Bools, most: int, seen: Longs,
    offsets: Longs, out: Hashes,
) -> None:  # fmt: skip
    """Write the hashes of words in the order they come; `seen` has the last row of each."""
    at = 0
    for r in range(slices.shape[0]):
        for s in range(0, slices.shape[1], 2):
            for i in range(slices[r, s], slices[r, s + 1]):
                word = int64(places[i])
                if wanted[word] and seen[word] != r and at - offsets[r] < most:
                    seen[word] = r
                    out[at] = hashes[word]
                    at += 1
        offsets[r + 1] = at
