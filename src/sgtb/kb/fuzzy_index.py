"""FuzzyIndex: names by their words and trigrams, for names that are spelt in another way.

The arrays are columns of a knowledge base, memory-mapped. Names added since the build are in a
small index of the same kind, made in memory.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.sparse_matrix import log2
from sgtb.core.thread_pool import ThreadPool, cores
from sgtb.kb.entity import SimilarNames

Numbers = npt.NDArray[np.uint32]

SCORES = ("ngram_similarity", "word_overlap", "edit_similarity", "same_digits")
"""Columns of the scores of a found name: cosine of weighted tokens, share of common words by
weight, 1 − edits / characters, and whether both have the same digits."""
MAX_POSTINGS = 1 << 15
"""Names of a token at most; a more frequent token has none, but still a weight."""
READ_POSTINGS = 1 << 16  # names read per search at most, those of the rarest tokens first
COMPARED = 128  # names per search that are compared in detail
_BITS = (10, 22)  # limits of the number of buckets, as a power of two
_MAX_THREADS = 4  # threads of a build; each has a count per bucket
_FEW = 10_000  # names that one thread indexes
_SCALE = 8  # steps of a weight per factor of two in the frequency of a token


class NameTexts(NamedTuple):
    """Names: UTF-8 bytes, and u4[N+1] offsets."""

    text: npt.NDArray[np.uint8]
    offsets: Numbers

    @classmethod
    def of(cls, names: Iterable[bytes]) -> "NameTexts":
        """Join names."""
        parts = list(names)
        ends = np.cumsum([0, *map(len, parts)])
        if ends[-1] >= 1 << 32:
            raise KnowledgeBaseError("the names have more than 4 GiB; an index cannot hold them")
        return cls(np.frombuffer(b"".join(parts), np.uint8), ends.astype(np.uint32))


class FoundNames(NamedTuple):
    """Names found for Q queries, most similar first."""

    n_found: npt.NDArray[np.int32]  # i4[Q]
    name: npt.NDArray[np.int32]  # i4[Q, limit], numbers of names
    scores: npt.NDArray[np.float32]  # f4[Q, limit, len(SCORES)]


class FuzzyIndex(NamedTuple):
    """An index of N names with B buckets of tokens, a power of two."""

    text: npt.NDArray[np.uint8]  # u1, the names, UTF-8
    offsets: Numbers  # u4[N+1], of the names
    starts: Numbers  # u4[B+1], of the buckets in `postings`
    postings: Numbers  # u4, numbers of names
    weight: npt.NDArray[np.uint8]  # u1[B], of tokens: the rarer, the higher
    norm: npt.NDArray[np.float32]  # f4[N], of the names' weights

    @classmethod
    def build(
        cls,
        names: NameTexts,
        weight: npt.NDArray[np.uint8] | None = None,
        room: Callable[[int], Numbers] | None = None,
    ) -> "FuzzyIndex":
        """Index names.

        weight  weights of another index, so that the scores of both compare
        room    makes the array of postings, by far the largest, of a given length
        """
        from sgtb.native import count_name_tokens, fill_name_index

        n = len(names.offsets) - 1
        bits = min(max(n.bit_length() + 1, _BITS[0]), _BITS[1])
        buckets = 1 << bits if weight is None else len(weight)
        with ThreadPool(min(cores(), _MAX_THREADS) if n > _FEW else 1) as pool:
            ranges = [*pairwise(n * i // pool.n_threads for i in range(pool.n_threads + 1))]
            counts = np.zeros((len(ranges), buckets), np.uint32)
            pool.run(
                count_name_tokens,
                [(names, *range_, own) for range_, own in zip(ranges, counts, strict=True)],
            )
            total = counts.sum(axis=0, dtype=np.uint32)
            if weight is None:
                rarity = log2((n + 1) / np.maximum(total, 1))
                weight = np.clip(np.round(_SCALE * rarity), 1, 255).astype(np.uint8)
            counts[:, total > MAX_POSTINGS] = 0
            starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0, dtype=np.int64))])
            size = int(starts[-1])
            postings = np.zeros(size, np.uint32) if room is None else room(size)
            norm = np.zeros(n, np.float32)
            index = cls(*names, starts.astype(np.uint32), postings, weight, norm)
            # Within a bucket, the names of a range are after those of earlier ones. Counts become
            # the places where the names of a range begin.
            place = index.starts[:-1].copy()
            for own in counts:
                place += own
                np.subtract(place, own, out=own)
            pool.run(
                fill_name_index,
                [
                    (names, *range_, weight, index.starts, next_, postings, norm)
                    for range_, next_ in zip(ranges, counts, strict=True)
                ],
            )
        return index

    @property
    def unfit_array(self) -> str:
        """An array whose length does not fit the others; "": all fit."""
        buckets = len(self.weight)
        if buckets.bit_count() != 1:
            return "weight"
        if len(self.starts) != buckets + 1:
            return "starts"
        return "" if len(self.offsets) == len(self.norm) + 1 else "norm"

    def __bool__(self) -> bool:
        """Whether there are names."""
        return len(self.offsets) > 1

    def search(self, names: Sequence[str], limit: int, *, containing: bool = False) -> FoundNames:
        """Find at most `limit` similar names each, or names that contain all words and more."""
        from sgtb.native import search_names

        n = len(names)
        found = FoundNames(
            np.zeros(n, np.int32), np.zeros((n, limit), np.int32),
            np.zeros((n, limit, len(SCORES)), np.float32),
        )  # fmt: skip
        queries = NameTexts.of(name.encode("utf-8", "replace") for name in names)
        search_names(self, queries, READ_POSTINGS, COMPARED, containing, found)
        return found

    def name(self, number: int) -> str:
        """Return a name by its number."""
        return bytes(self.text[self.offsets[number] : self.offsets[number + 1]]).decode()


def most_similar(
    indexes: Sequence[FuzzyIndex], names: Sequence[str], limit: int, containing: bool
) -> SimilarNames:
    """Return the most similar names of all indexes."""
    found = [index.search(names, limit, containing=containing) for index in indexes]
    if len(indexes) == 1:
        ((one,), (index,)) = found, indexes
        kept = np.arange(limit) < one.n_found[:, None]
        ends = np.concatenate([[0], np.cumsum(one.n_found, dtype=np.int64)])
        return SimilarNames(ends, [*map(index.name, one.name[kept].tolist())], one.scores[kept])
    offsets, chosen, scores = [0], list[str](), [np.zeros((0, len(SCORES)), np.float32)]
    for i in range(len(names)):
        both = [
            (-float(one.scores[i, j, 0]), index.name(int(one.name[i, j])), one.scores[i, j])
            for one, index in zip(found, indexes, strict=True)
            for j in range(one.n_found[i])
        ]
        # Names of entities changed since the build are in both.
        unique = {item[1]: item for item in both}
        both = sorted(unique.values(), key=lambda item: item[:2])
        chosen += [name for _, name, _ in both[:limit]]
        scores += [row[None] for _, _, row in both[:limit]]
        offsets.append(len(chosen))
    return SimilarNames(np.array(offsets, np.int64), chosen, np.concatenate(scores))


def first_names(found: SimilarNames, kept: npt.NDArray[np.bool_], limit: int) -> SimilarNames:
    """Return at most `limit` names each, of those to be kept."""
    known = np.flatnonzero(kept)
    owner = np.repeat(np.arange(len(found.offsets) - 1), np.diff(found.offsets))[known]
    first = np.arange(len(owner)) - np.searchsorted(owner, owner) < limit
    ends = np.searchsorted(owner[first], np.arange(len(found.offsets)))
    names = [found.names[i] for i in known[first].tolist()]
    return SimilarNames(ends.astype(np.int64), names, found.scores[known[first]])
