"""TextWords: the words of the documents at hand, each looked up and hashed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from sgtb.kernels import int64, kernel
from sgtb.learn.dtypes import Bools, Floats, Ints, Longs
from sgtb.linking.clue_hashes import Hashes, clue, with_token
from sgtb.linking.lexicon import UNKNOWN, Lexicon
from sgtb.ragged import Ragged
from sgtb.text.normalize import STOP_WORDS


@dataclass(frozen=True)
class TextWords:
    """The words of some texts.

    place     i4  of every word there, in order, its place among the U distinct words
    number    i4[U]  in the lexicon, or UNKNOWN
    weight    f4[U]  0 for an unknown word
    is_digit  b1[U]  whether it is all digits
    is_stop   b1[U]
    bytes     the words themselves
    """

    place: Ints
    number: Ints
    weight: Floats
    is_digit: Bools
    is_stop: Bools
    bytes: Ragged

    @classmethod
    def of(cls, distinct: Sequence[str], place: Ints, lexicon: Lexicon) -> "TextWords":
        """Look up words; a lexicon is large, and most words come again."""
        number = lexicon.numbers(distinct)
        weight = np.zeros(len(distinct), np.float32)
        weight[number != UNKNOWN] = lexicon.weight[number[number != UNKNOWN]]
        encoded = [word.encode("utf-8", "surrogatepass") for word in distinct]
        return cls(
            place, number, weight,
            np.array([word.isdigit() for word in distinct], bool),
            np.array([word in STOP_WORDS for word in distinct], bool),
            Ragged(
                np.array([0, *accumulate(map(len, encoded))], np.int64),
                np.frombuffer(b"".join(encoded), np.uint8),
            ),
        )  # fmt: skip

    def clues(
        self, kind: str, places: Ints, slices: Longs, wanted: Bools, most: int | None = None
    ) -> Ragged:
        """Return the hashed clues "kind:word" of words wanted, each once per row, `most` of a row.

        slices  i8[R, 2 S]  per row, where slices of `places` begin and end
        wanted  b1[U]
        """
        hashes = np.zeros(len(self.number), np.uint32)
        hash_words(self.bytes, np.uint32(clue(f"{kind}:")), hashes)
        offsets = np.zeros(len(slices) + 1, np.int64)
        out = np.zeros(int((slices[:, 1::2] - slices[:, ::2]).sum()), np.uint32)
        seen = np.full(len(hashes), -1, np.int64)
        limit = len(hashes) if most is None else most
        list_words(places, slices, hashes, wanted, limit, seen, offsets, out)
        return Ragged(offsets, out[: offsets[-1]])


@kernel
def hash_words(words: Ragged, begun: np.uint32, out: Hashes) -> None:
    """Write the hashes of clues that end with a word."""
    for i in range(out.shape[0]):
        out[i] = with_token(begun, words, i)


@kernel
def list_words(
    places: Ints, slices: Longs, hashes: Hashes, wanted: Bools, most: int, seen: Longs,
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
