"""TextWords: the words of the documents at hand, each looked up once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.kernels import int64, kernel
from sgtb.learn.dtypes import Bools, Floats, Ints, Longs
from sgtb.linking.clue_hashes import Hashes
from sgtb.linking.sparse import Sparse
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
        place, distinct = np.empty(len(words), np.int64), np.empty(len(words), np.int32)
        n = number_words(words, np.full(len(vocabulary), -1, np.int32), place, distinct)
        known = vocabulary[distinct[:n]]
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

    def counted(self, slices: Longs, n_columns: int) -> Sparse:
        """Count the words that have a weight, by their numbers in the lexicon.

        slices  i8[R, S, 2]  per row, where slices of `place` begin and end
        """
        weighty = np.flatnonzero(self.weight > 0)
        by_number = weighty[np.argsort(self.number[weighty])]
        rank = np.full(len(self.number), -1, np.int64)
        rank[by_number] = np.arange(len(by_number))
        sizes = (slices[:, :, 1] - slices[:, :, 0]).sum(axis=1)
        begins = np.zeros(len(slices) + 1, np.int64)
        np.cumsum(sizes, out=begins[1:])
        offsets = np.zeros(len(slices) + 1, np.int64)
        columns, counts = np.empty(begins[-1], np.int32), np.empty(begins[-1], np.float32)
        count_words(
            self.place, slices, rank, self.number[by_number], begins,
            np.zeros(len(by_number) + 1, np.int64), np.empty(begins[-1], np.int64), offsets,
            columns, counts,
        )  # fmt: skip
        return Sparse(offsets, columns[: offsets[-1]], counts[: offsets[-1]], n_columns)


@kernel
def count_words(
    place: Longs, slices: Longs, rank: Longs, number: Ints, begins: Longs, starts: Longs,
    rows: Longs, offsets: Longs, columns: Ints, counts: Floats,
) -> None:  # fmt: skip
    """Write how often each row has each word, in the order of their ranks.

    All are sorted by word, and then go back to their rows, which so have them in order.

    rank    of the distinct words, -1: does not count
    number  of the words by rank
    begins  per row, where there is room for its words
    starts  scratch, zero: where the rows that have a word begin
    rows    scratch: these rows, word after word
    """
    for r in range(slices.shape[0]):
        for s in range(slices.shape[1]):
            for i in range(slices[r, s, 0], slices[r, s, 1]):
                if rank[place[i]] >= 0:
                    starts[rank[place[i]] + 1] += 1
    for w in range(1, starts.shape[0]):
        starts[w] += starts[w - 1]
    for r in range(slices.shape[0]):
        for s in range(slices.shape[1]):
            for i in range(slices[r, s, 0], slices[r, s, 1]):
                w = rank[place[i]]
                if w >= 0:
                    rows[starts[w]] = r
                    starts[w] += 1
    first = int64(0)  # now `starts` has where they end
    for w in range(number.shape[0]):
        for i in range(first, starts[w]):
            r = rows[i]
            if i > first and rows[i - 1] == r:
                counts[begins[r] + offsets[r + 1] - 1] += np.float32(1.0)
            else:
                at = begins[r] + offsets[r + 1]
                columns[at], counts[at] = number[w], np.float32(1.0)
                offsets[r + 1] += 1
        first = starts[w]
    for r in range(slices.shape[0]):
        at, n = offsets[r], offsets[r + 1]
        for i in range(n):
            columns[at + i], counts[at + i] = columns[begins[r] + i], counts[begins[r] + i]
        offsets[r + 1] = at + n


@kernel
def number_words(words: Ints, met: Ints, place: Longs, distinct: Ints) -> int:
    """Number words in the order they come first; return how many there are.

    met  scratch, -1: per word of the vocabulary, its number
    """
    n = 0
    for i in range(words.shape[0]):
        word = int64(words[i])
        if met[word] < 0:
            met[word] = n
            distinct[n] = word
            n += 1
        place[i] = met[word]
    return n


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
