"""FuzzyNames: names of a knowledge base with a spelling similar to a given one.

Every name is split into three pieces, four beyond ten characters. Fewer edits than pieces leave
one piece intact and near its place (Li et al., Pass-Join, 2011). An index by pieces gives the names
to compare:

    intern|ational| moneta|ry fund      27 characters, cut at i · 27 // 4
    piece 1 -> hash("ational", 1, 27) -> a bucket -> the numbers of names that have it too

A swap of two letters is one edit but may change two pieces. With one edit no name is missed, with
two or three about one in a hundred. A name takes its letters and about thirty bytes.
"""

import threading
from array import array
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from itertools import islice
from types import ModuleType
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Bytes, Floats, Ints, Longs, Words
from sgtb.core.errors import MissingExtraError
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.text.normalization import normal_name

SHORTEST = 4
"""Minimum length of names, in characters: shorter ones are similar to too many others."""
LONGEST = 256
"""Maximum length of names."""
_BATCH = 1 << 16
_ALL = 1 << 30
_HIGH_PIECES = 4

# Polynomial hash in BASE modulo 2**64. BASE is odd and so has an inverse, which lets prefix sums
# give the hash of any piece.
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_MIX = np.array([0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53], np.uint64)
_NUMBER = np.uint64(0xFFFFFFFF)
"""Bits of a key that hold the number of the name; the others hold its hash."""


class FuzzyName(NamedTuple):
    """A name of the knowledge base; similarity is 1 − edits / characters."""

    name: str
    edits: int
    similarity: float


class FuzzyNames:
    """Finds similarly spelt names. Thread-safe."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._fuzzy, self._distance = _rapidfuzz()
        self._kb = kb
        self._guard = threading.Lock()
        self._index: _Index | None = None

    def forget(self) -> None:
        """Drop the index; the next lookup rebuilds it."""
        with self._guard:
            self._index = None

    def candidates(self, name: str, top: int) -> tuple[Ints, Floats]:
        """Return the candidates of the nearest names, likeliest first, and their priors.

        A prior is the mean of the names' own priors, weighted by similarity, so it is below 1.
        """
        near = self.nearest(name)
        # All candidates: one that is low in each list may be high in the mean.
        lists = self._kb.candidate_lists([other.name for other in near], _ALL)
        weight = np.array([other.similarity for other in near]) / max(len(near), 1)
        weighted = lists.prior * np.repeat(weight, np.diff(lists.offsets))
        entity, place = np.unique(lists.entity, return_inverse=True)
        prior = np.bincount(place, weighted, len(entity)).astype(np.float32)
        popularity = np.nan_to_num(self._kb.rows["popularity"][entity], nan=-np.inf)
        order = np.lexsort((entity, -popularity, -prior))[:top]
        return entity[order].astype(np.int32), prior[order]

    def nearest(self, name: str) -> tuple[FuzzyName, ...]:
        """Return the names with the fewest edits (optimal string alignment), in byte order.

        Digits must agree: 1994 is not a misspelt 1998.
        """
        name = normal_name(name).encode("utf-8", "replace").decode()
        if not SHORTEST <= len(name) <= LONGEST:
            return ()
        index = self._built()
        others = index.texts(index.sharing_a_piece(name))
        if not others:
            return ()
        most = allowed_edits(len(name))
        edits = self._fuzzy.cdist(
            [name], others, scorer=self._distance.OSA.distance, score_cutoff=most, dtype=np.int32
        )[0]
        near = [
            FuzzyName(others[i], int(edits[i]), 1 - int(edits[i]) / max(len(name), len(others[i])))
            for i in np.flatnonzero(edits <= most).tolist()
            if edits[i] <= allowed_edits(len(others[i])) and _digits(name) == _digits(others[i])
        ]
        fewest = min((other.edits for other in near), default=0)
        return tuple(other for other in near if other.edits == fewest)

    @property
    def bytes_per_name(self) -> float:
        """Memory of the index per name."""
        index = self._built()
        held = len(index.blob) + sum(part.nbytes for part in index[1:])
        return held / max(len(index.offsets) - 1, 1)

    def _built(self) -> "_Index":
        with self._guard:
            if self._index is None:
                self._index = _Index.build(self._kb.names())
            return self._index


def allowed_edits(size: int) -> int:
    """Return the maximum number of edits, by the length of the shorter name."""
    return 1 if size <= 5 else 2 if size <= 10 else 3


class _Index(NamedTuple):
    """Index of names by the hashes of their pieces.

    blob     the names, UTF-8
    offsets  i8[N+1]  of the names in the blob
    starts   i8[B+1]  of the buckets in `numbers`
    numbers  i4       of names, ascending within a bucket
    """

    blob: bytes
    offsets: Longs
    starts: Longs
    numbers: Ints

    @classmethod
    def build(cls, names: Iterable[str]) -> "_Index":
        """Build the index."""
        blobs, keys = [], [np.zeros(0, np.uint64)]
        offsets = array("q", [0])
        for batch in _batches(iter(names)):
            encoded = [name.encode() for name in batch]
            first = len(offsets) - 1
            blobs.append(b"".join(encoded))
            sizes = np.array([len(name) for name in encoded], np.int64)
            offsets.extend((np.cumsum(sizes) + offsets[-1]).tolist())
            keys.append(_piece_keys(np.frombuffer(blobs[-1], np.uint8), sizes, first))
        all_keys = np.concatenate(keys)
        del keys
        all_keys.sort()
        bits = max(len(offsets).bit_length() - 1, 1)  # about as many buckets as names
        bounds = np.arange((1 << bits) + 1)
        starts = np.searchsorted(all_keys >> np.uint64(64 - bits), bounds.astype(np.uint64))
        return cls(
            b"".join(blobs), np.array(offsets, np.int64), starts.astype(np.int64),
            (all_keys & _NUMBER).astype(np.int32),
        )  # fmt: skip

    def sharing_a_piece(self, name: str) -> Ints:
        """Return the numbers of names of similar length that share a piece with a name."""
        flat = np.frombuffer(name.encode(), np.uint8)
        char_at = _char_places(flat)
        probes = _probes(len(name))
        begin, end = char_at[probes.begin], char_at[probes.end]
        hashes = _Hashes.of(flat).pieces(begin, end, probes.length, probes.piece)
        bits = (len(self.starts) - 1).bit_length() - 1
        buckets = np.unique(hashes >> np.uint64(64 - bits)).astype(np.int64)
        parts = [
            self.numbers[start:end]
            for start, end in zip(
                self.starts[buckets].tolist(), self.starts[buckets + 1].tolist(), strict=True
            )
        ]
        return np.unique(np.concatenate([np.zeros(0, np.int32), *parts]))

    def texts(self, numbers: Ints) -> list[str]:
        """Return names by number."""
        blob, starts, ends = self.blob, self.offsets[numbers], self.offsets[numbers + 1]
        return [
            blob[start:end].decode()
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]


class _Probes(NamedTuple):
    """Slices of a name that may equal a given piece of a name of a given length."""

    begin: Longs
    end: Longs
    length: Longs
    piece: Longs


@lru_cache(maxsize=LONGEST)
def _probes(size: int) -> _Probes:
    """Return where pieces of similar names may be in a name of `size` characters.

    With k edits and k + 1 pieces some piece i is intact, with at most i edits before it and k − i
    after it: the first i with no more than i edits up to its end. This bounds its shift.
    """
    found = []
    reach = allowed_edits(size)
    for length in range(max(size - reach, SHORTEST), size + reach + 1):
        pieces, longer = _pieces(length), size - length
        for piece in range(pieces):
            begin, end = piece * length // pieces, (piece + 1) * length // pieces
            before, behind = piece, pieces - 1 - piece
            found += [
                (begin + shift, end + shift, length, piece)
                for shift in range(-before, before + 1)
                if abs(longer - shift) <= behind and begin + shift >= 0 and end + shift <= size
            ]
    return _Probes(*np.array(found, np.int64).reshape(-1, 4).T)


def _pieces(length: int) -> int:
    """Return the number of pieces: more than the edits allowed.

    Short names get one more, since a swap of two letters may change two pieces.
    """
    return 3 if length <= 10 else _HIGH_PIECES


def _piece_keys(flat: Bytes, sizes: Longs, first: int) -> Words:
    """Return a key for every piece of a batch of names: its hash above the name's number."""
    char_at, hashes = _char_places(flat), _Hashes.of(flat)
    ends = np.searchsorted(char_at, np.cumsum(sizes))
    starts = np.concatenate([[0], ends[:-1]])
    keys = [np.zeros(0, np.uint64)]
    for pieces in (3, _HIGH_PIECES):
        lengths = ends - starts
        wanted = (lengths >= SHORTEST) & ((lengths > 10) == (pieces == _HIGH_PIECES))
        which = np.flatnonzero(wanted)
        length, start = lengths[which], starts[which]
        for piece in range(pieces):
            begin = char_at[start + piece * length // pieces]
            end = char_at[start + (piece + 1) * length // pieces]
            found = hashes.pieces(begin, end, length, np.full(len(which), piece))
            keys.append((found & ~_NUMBER) | (which + first).astype(np.uint64))
    return np.concatenate(keys)


def _char_places(flat: Bytes) -> Longs:
    """Return the byte offset of each character, and the end."""
    return np.append(np.flatnonzero((flat & 0xC0) != 0x80), len(flat))


class _Hashes(NamedTuple):
    """Prefix sums that give the hash of any piece."""

    sums: Words
    inverse: Words

    @classmethod
    def of(cls, flat: Bytes) -> "_Hashes":
        """Compute the sums."""
        powers, inverse = (np.full(len(flat) + 1, base, np.uint64) for base in (_BASE, _INVERSE))
        powers[0] = inverse[0] = 1
        sums = np.zeros(len(flat) + 1, np.uint64)
        np.cumsum(flat * np.cumprod(powers)[:-1], out=sums[1:])
        return cls(sums, np.cumprod(inverse))

    def pieces(self, begin: Longs, end: Longs, length: Longs, piece: Longs) -> Words:
        """Return the hashes of bytes begin[i] to end[i], as pieces of names of length[i]."""
        mixed: Words = (self.sums[end] - self.sums[begin]) * self.inverse[begin]
        mixed += length.astype(np.uint64) * _MIX[0] + piece.astype(np.uint64) * _MIX[1]
        for odd in _MIX:  # mixes all bits into the upper ones
            mixed ^= mixed >> np.uint64(32)
            mixed *= odd
        return mixed


def _batches(names: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(names, _BATCH)):
        yield batch


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def _rapidfuzz() -> tuple[ModuleType, ModuleType]:
    try:
        return import_module("rapidfuzz.process"), import_module("rapidfuzz.distance")
    except ImportError as error:
        raise MissingExtraError(
            f"similar names need the package {error.name or 'rapidfuzz'}: pip install 'sgtb[fuzzy]'"
        ) from None
