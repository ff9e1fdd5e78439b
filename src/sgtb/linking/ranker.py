"""The ranker: a linear model of candidates, read into one feature.

It sees what trees cannot: single words. Every clue of the context meets every kind word of the
candidate's title ("national", "team", "tennis"), and the pair has a weight. Beside these crosses
it sees the local features, cut into bins. Trained by AdaGrad on the softmax of each
mention's candidates. Crosses are hashed on the fly: writing them down would take gigabytes.

    score(c) = Σ over kinds k of c, clues x: w[k × x]  +  Σ over features f: v[f, bin of f]
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.linking.choices import Choices
from sgtb.linking.contexts import Contexts
from sgtb.linking.eights import EIGHT, above, load, store, zeros
from sgtb.linking.facts import EntityFacts
from sgtb.linking.name_prints import known_print
from sgtb.linking.segments import group_of
from sgtb.ragged import Ragged

BITS = 18
BINS = 24
_RATE, _DECAY, _EPOCHS, _EASE, _SURE = 0.05, 1e-4, 2, 1e-2, 1e-3

Hashes = npt.NDArray[np.uint32]


class Crosses(NamedTuple):
    """What is crossed with what.

    Every candidate has `kinds` (of its entity, those that the mention says itself left out) and
    `marks` (its type, and whether its title says more than the mention). All of them
    meet the clues of the mention's place. The kinds and the type also meet the words of document
    and sentence.

    Candidates have few kinds and share them: of a dozen, half are persons of no kind. Who is
    `alike` in a mention meets the same clues there, who is `worded_alike` the same words.
    """

    kind_offsets: Longs  # per candidate
    kinds: Hashes
    n_worded: Ints  # per candidate, how many of its kinds meet words
    document: Ints  # of each mention
    place_offsets: Longs
    place_clues: Hashes
    sentence_offsets: Longs
    sentence_clues: Hashes
    document_offsets: Longs
    document_clues: Hashes
    alike: Ints  # per candidate, the first of its mention with the same kinds and marks
    worded_alike: Ints  # per candidate, the first of its document with the same worded kinds


def crosses(
    choices: Choices,
    contexts: Contexts,
    facts: EntityFacts,
    title_equal: Floats,
    rest_words: Floats,
) -> Crosses:
    """Prepare the sides of all crosses. The last two are features: says the title more?"""
    names = Ragged.joined([known_print(name).words for name in contexts.names], np.uint64)
    most = int(np.diff(facts.kind_clues.offsets)[choices.entity].sum())
    offsets = np.zeros(choices.n_candidates + 1, np.int64)
    kinds = np.zeros(most + (_MARKS + 1) * choices.n_candidates, np.uint32)
    n_worded = np.zeros(choices.n_candidates, np.int32)
    list_kinds(
        choices.candidate_offsets, choices.entity, names, facts.kind_clues, facts.kind_words,
        facts.type_clue, title_equal, rest_words, offsets, kinds, n_worded,
    )  # fmt: skip
    document = group_of(choices.mention_offsets).astype(np.int32)
    return Crosses(
        offsets, kinds[: offsets[-1]], n_worded, document,
        contexts.place_clues.offsets, contexts.place_clues.values,
        contexts.sentence_clues.offsets, contexts.sentence_clues.values,
        contexts.document_clues.offsets, contexts.document_clues.values,
        *twins(choices.candidate_offsets, document, offsets, kinds, n_worded),
    )  # fmt: skip


_NO_KIND = np.uint32(crc32(b"no kind"))
_EQUAL = np.array([crc32(f"equal:{a}{b}".encode()) for a in (0, 1) for b in (0, 1)], np.uint32)
_MARKS = 3


@kernel
def list_kinds(
    candidate_offsets: Ints, entity: Ints, names: Ragged, kind_clues: Ragged, kind_words: Ragged,
    type_clue: Hashes, title_equal: Floats, rest_words: Floats, offsets: Longs, kinds: Hashes,
    n_worded: Ints,
) -> None:  # fmt: skip
    """Write the kinds that a mention does not say itself, then the marks, of every candidate."""
    at = 0
    for m in range(candidate_offsets.shape[0] - 1):
        for c in range(candidate_offsets[m], candidate_offsets[m + 1]):
            e = int64(entity[c])
            begin = at
            for k in range(kind_clues.offsets[e], kind_clues.offsets[e + 1]):
                said = False
                for w in range(names.offsets[m], names.offsets[m + 1]):
                    said = said or names.items[w] == kind_words.items[k]
                if not said:
                    kinds[at] = kind_clues.items[k]
                    at += 1
            if at == begin:
                kinds[at] = _NO_KIND
                at += 1
            n_worded[c] = at - begin + 1
            same = _EQUAL[2 * int(title_equal[c]) + (1 if rest_words[c] == 0 else 0)]
            kinds[at] = type_clue[e]
            kinds[at + 1] = same
            kinds[at + 2] = type_clue[e] ^ same
            at += _MARKS
            offsets[c + 1] = at


def twins(
    candidate_offsets: Ints, document: Ints, offsets: Longs, kinds: Hashes, n_worded: Ints
) -> tuple[Ints, Ints]:
    """Return who is alike and who is worded alike, as `Crosses` has them."""
    n = len(n_worded)
    per_document = np.bincount(document, np.diff(candidate_offsets)).max(initial=1)
    table = np.full(1 << int(2 * per_document).bit_length(), -1, np.int64)
    alike, worded_alike = np.zeros(n, np.int32), np.zeros(n, np.int32)
    find_twins(candidate_offsets, document, offsets, kinds, n_worded, table, alike, worded_alike)
    return alike, worded_alike


@kernel
def find_twins(
    candidate_offsets: Ints, document: Ints, offsets: Longs, kinds: Hashes, n_worded: Ints,
    table: Longs, alike: Ints, worded_alike: Ints,
) -> None:  # fmt: skip
    """Find candidates of the same kinds by a hash table, at least half of which stays empty.

    It holds candidates. Those of documents before are as good as none: no document clears it.
    """
    mask = table.shape[0] - 1
    here = int64(0)
    for m in range(candidate_offsets.shape[0] - 1):
        begin = int64(candidate_offsets[m])
        if m > 0 and document[m] != document[m - 1]:
            here = begin
        for c in range(begin, int64(candidate_offsets[m + 1])):
            first, n = offsets[c], int64(n_worded[c])
            at = int64(0)
            for k in range(first, first + n):  # of 31 bits times 32: one of 63
                at = ((at ^ int64(kinds[k])) & 0x7FFFFFFF) * 0x9E3779B1 >> 16
            at &= mask
            twin = table[at]
            while twin >= here and not (
                n_worded[twin] == n and _equal(kinds, first, offsets[twin], n)
            ):
                at = (at + 1) & mask
                twin = table[at]
            if twin < here:
                twin = c
                table[at] = c
            worded_alike[c] = twin
            own = begin
            rest = offsets[c + 1] - first - n
            while own < c and not (
                worded_alike[own] == twin
                and offsets[own + 1] - offsets[own] - n == rest
                and _equal(kinds, first + n, offsets[own] + n, rest)
            ):
                own += 1
            alike[c] = own


@inner
def _equal(kinds: Hashes, i: int, j: int, n: int) -> bool:
    for k in range(n):  # noqa: SIM110 (kernels have no generators)
        if kinds[i + k] != kinds[j + k]:
            return False
    return True


@dataclass(frozen=True)
class Cuts:
    """Where features are cut into bins: `values` f4[F, BINS - 1], ascending, padded with inf."""

    values: Floats

    @classmethod
    def of(cls, features: Floats) -> "Cuts":
        """Choose cuts that make bins of about equal size."""
        levels = np.linspace(0, 1, BINS + 1)[1:-1]
        values = np.full((features.shape[1], BINS - 1), np.inf, np.float32)
        for f in range(features.shape[1]):
            cuts = np.unique(np.quantile(features[:, f], levels, method="lower"))
            values[f, : len(cuts)] = cuts
        return cls(values)

    def apply(self, features: Floats) -> Bytes:
        """Return the bin of every value."""
        n, short = features.shape[1], max(EIGHT - features.shape[1], 0)
        if short:  # eight columns at least are looked at
            features = np.pad(features, ((0, 0), (0, short)))
        out = np.zeros(features.shape, np.uint8)
        count_cuts(np.ascontiguousarray(features), *self._in_eights, out)
        return np.ascontiguousarray(out[:, :n])

    @cached_property
    def _in_eights(self) -> tuple[Longs, Longs, Floats]:
        """Eight columns at a time: the first of them, where their cuts begin, and the cuts."""
        short = max(EIGHT - len(self.values), 0)
        values = np.pad(self.values, ((0, short), (0, 0)), constant_values=np.inf)
        # The last eight may overlap those before: nobody looks beyond the last column.
        columns = np.minimum(np.arange(0, len(values), EIGHT), len(values) - EIGHT)
        eights = [values[first : first + EIGHT].T for first in columns]
        cuts = [own[(own < np.inf).any(axis=1)] for own in eights]  # few columns have all
        return columns, np.cumsum([0, *map(len, cuts)]), np.concatenate(cuts).ravel()


@kernel
def count_cuts(features: Floats, columns: Longs, offsets: Longs, cuts: Floats, out: Bytes) -> None:
    """Count the cuts below every value: all of them, which is faster than to search.

    Four rows at a time, for no count waits for another.
    """
    last = features.shape[0] - 1
    for r in range(0, last + 1, 4):
        r1, r2, r3 = min(r + 1, last), min(r + 2, last), min(r + 3, last)
        for i in range(columns.shape[0]):
            f = columns[i]
            x0, x1 = load(features[r], f), load(features[r1], f)
            x2, x3 = load(features[r2], f), load(features[r3], f)
            n0 = n1 = n2 = n3 = zeros()
            for k in range(offsets[i], offsets[i + 1]):
                cut = load(cuts, EIGHT * k)
                n0, n1 = n0 + above(x0, cut), n1 + above(x1, cut)
                n2, n3 = n2 + above(x2, cut), n3 + above(x3, cut)
            store(n0, out[r], f)
            store(n1, out[r1], f)
            store(n2, out[r2], f)
            store(n3, out[r3], f)


@dataclass(frozen=True)
class Ranker:
    """Weights of crosses f8[2**bits], and of bins f8[F, BINS]."""

    weights: Doubles
    bin_weights: Doubles

    @classmethod
    def train(
        cls, choices: Choices, sides: Crosses, bins: Bytes, mentions: Longs,
        rng: np.random.Generator, bits: int = BITS,
    ) -> "Ranker":  # fmt: skip
        """Learn from the gold of the mentions given."""
        weights, seen = np.zeros(1 << bits), np.zeros(1 << bits)
        bin_weights = np.zeros((bins.shape[1], BINS))
        bin_seen = np.zeros_like(bin_weights)
        size = np.diff(choices.candidate_offsets)
        useful = mentions[(choices.gold[mentions] >= 0) & (size[mentions] > 1)]
        for _ in range(_EPOCHS):
            learn_ranks(
                choices.candidate_offsets, choices.gold, sides, bins, rng.permutation(useful),
                weights, seen, bin_weights, bin_seen, np.zeros(int(size.max(initial=1))),
            )  # fmt: skip
        return cls(weights, bin_weights)


@dataclass(frozen=True)
class Rankers:
    """Two rankers of the same crosses. Asked together, they look up each of them once."""

    local: Ranker
    joint: Ranker

    @cached_property
    def weights(self) -> Doubles:
        """The weights of crosses of both, side by side: f8[2**bits, 2]."""
        both = self.local.weights, self.joint.weights
        size = max(map(len, both))  # who has fewer takes fewer bits of a hash: its weights repeat
        return np.stack([np.resize(weights, size) for weights in both], axis=1)

    def scores(
        self, choices: Choices, sides: Crosses, bins: tuple[Bytes, Bytes], mentions: Longs
    ) -> Doubles:
        """Return the scores of all candidates of the mentions given, 0 elsewhere: f8[2, C].

        bins  what each of them sees
        """
        out = np.zeros((2, choices.n_candidates))
        near, far = np.zeros((choices.n_candidates, 2)), np.full((choices.n_candidates, 2), np.nan)
        tell_ranks(
            choices.candidate_offsets, sides, *bins, mentions, self.weights, self.local.bin_weights,
            self.joint.bin_weights, near, far, out,
        )  # fmt: skip
        return out


@inner
def _place(kind: np.uint32, clue: np.uint32, mask: np.uint32) -> np.uint32:
    """Hash a pair; multiplying spreads the bits, and shifting brings the high ones down."""
    mixed = np.uint32(kind * np.uint32(0x9E3779B1)) ^ np.uint32(clue * np.uint32(0x85EBCA6B))
    return (mixed ^ (mixed >> np.uint32(15))) & mask


@inner
def _meet(
    kinds: Hashes, first: int, last: int, clues: Hashes, start: int, stop: int, weights: Doubles
) -> float:
    mask = np.uint32(weights.shape[0] - 1)
    total = 0.0
    for i in range(first, last):
        for j in range(start, stop):
            total += weights[_place(kinds[i], clues[j], mask)]
    return total


@inner
def _blame(
    kinds: Hashes, first: int, last: int, clues: Hashes, start: int, stop: int, slope: float,
    weights: Doubles, seen: Doubles,
) -> None:  # fmt: skip
    mask = np.uint32(weights.shape[0] - 1)
    for i in range(first, last):
        for j in range(start, stop):
            _step(weights, seen, int64(_place(kinds[i], clues[j], mask)), slope)


@inner
def _step(weights: Doubles, seen: Doubles, place: int, slope: float) -> None:
    slope += _DECAY * weights[place]
    seen[place] += slope * slope
    weights[place] -= _RATE * slope / np.sqrt(seen[place] + _EASE)


@inner
def _near(sides: Crosses, m: int, c: int, weights: Doubles) -> float:
    """Return what a candidate meets around its mention."""
    first, last = sides.kind_offsets[c], sides.kind_offsets[c + 1]
    worded = first + sides.n_worded[c]
    total = _meet(
        sides.kinds, first, last, sides.place_clues, sides.place_offsets[m],
        sides.place_offsets[m + 1], weights,
    )  # fmt: skip
    return total + _meet(
        sides.kinds, first, worded, sides.sentence_clues, sides.sentence_offsets[m],
        sides.sentence_offsets[m + 1], weights,
    )  # fmt: skip


@inner
def _far(sides: Crosses, m: int, c: int, weights: Doubles) -> float:
    """Return what a candidate meets in the document."""
    first, d = sides.kind_offsets[c], sides.document[m]
    return _meet(
        sides.kinds, first, first + sides.n_worded[c], sides.document_clues,
        sides.document_offsets[d], sides.document_offsets[d + 1], weights,
    )  # fmt: skip


@kernel
def learn_ranks(
    candidate_offsets: Ints, gold: Ints, sides: Crosses, bins: Bytes, order: Longs,
    weights: Doubles, seen: Doubles, bin_weights: Doubles, bin_seen: Doubles, scores: Doubles,
) -> None:  # fmt: skip
    """Take one AdaGrad step per mention."""
    for m in order:
        start, n = int64(candidate_offsets[m]), candidate_offsets[m + 1] - candidate_offsets[m]
        top, total = -1e300, 0.0
        for i in range(n):
            c = start + i
            scores[i] = _near(sides, m, c, weights) + _far(sides, m, c, weights)
            for f in range(bins.shape[1]):
                scores[i] += bin_weights[f, bins[c, f]]
            top = max(top, scores[i])
        for i in range(n):
            scores[i] = np.exp(scores[i] - top)
            total += scores[i]
        for i in range(n):
            slope = scores[i] / total - (1.0 if i == gold[m] else 0.0)
            if abs(slope) < _SURE:
                continue
            c, d = start + i, sides.document[m]
            first, last = sides.kind_offsets[c], sides.kind_offsets[c + 1]
            worded = first + sides.n_worded[c]
            _blame(
                sides.kinds, first, last, sides.place_clues, sides.place_offsets[m],
                sides.place_offsets[m + 1], slope, weights, seen,
            )  # fmt: skip
            _blame(
                sides.kinds, first, worded, sides.sentence_clues, sides.sentence_offsets[m],
                sides.sentence_offsets[m + 1], slope, weights, seen,
            )  # fmt: skip
            _blame(
                sides.kinds, first, worded, sides.document_clues, sides.document_offsets[d],
                sides.document_offsets[d + 1], slope, weights, seen,
            )  # fmt: skip
            for f in range(bins.shape[1]):
                _step(bin_weights[f], bin_seen[f], int64(bins[c, f]), slope)


@kernel
def tell_ranks(
    candidate_offsets: Ints, sides: Crosses, local: Bytes, joint: Bytes, mentions: Longs,
    weights: Doubles, local_weights: Doubles, joint_weights: Doubles, near: Doubles, far: Doubles,
    out: Doubles,
) -> None:  # fmt: skip
    """Write the scores of the candidates of some mentions, as two rankers have them.

    local, joint  the bins that they see, and the weights of these
    near, far     room for what those meet that others are alike; far is NaN in the beginning
    """
    for m in mentions:
        first, last = int64(candidate_offsets[m]), int64(candidate_offsets[m + 1])
        for c in range(first, last):
            own, other = sides.alike[c], sides.worded_alike[c]
            if own == c:
                near[c, 0], near[c, 1] = _near_both(sides, m, c, weights)
            if np.isnan(far[other, 0]):
                far[other, 0], far[other, 1] = _far_both(sides, m, c, weights)
            out[0, c], out[1, c] = near[own, 0] + far[other, 0], near[own, 1] + far[other, 1]
        for c in range(first, last, 4):
            _add_bins(c, last - 1, local, local_weights, out[0])
            _add_bins(c, last - 1, joint, joint_weights, out[1])


@inner
def _add_bins(c: int, last: int, bins: Bytes, bin_weights: Doubles, out: Doubles) -> None:
    """Add the weights of bins to four candidates at a time, for no sum waits for another."""
    c1, c2, c3 = min(c + 1, last), min(c + 2, last), min(c + 3, last)
    a, b, d, e = out[c], out[c1], out[c2], out[c3]
    for f in range(bins.shape[1]):
        a += bin_weights[f, bins[c, f]]
        b += bin_weights[f, bins[c1, f]]
        d += bin_weights[f, bins[c2, f]]
        e += bin_weights[f, bins[c3, f]]
    out[c], out[c1], out[c2], out[c3] = a, b, d, e


@inner
def _near_both(sides: Crosses, m: int, c: int, weights: Doubles) -> tuple[float, float]:
    """Return what a candidate meets around its mention."""
    first, last = sides.kind_offsets[c], sides.kind_offsets[c + 1]
    worded = first + sides.n_worded[c]
    a, b = _meet_both(
        sides.kinds, first, last, sides.place_clues, sides.place_offsets[m],
        sides.place_offsets[m + 1], weights,
    )  # fmt: skip
    x, y = _meet_both(
        sides.kinds, first, worded, sides.sentence_clues, sides.sentence_offsets[m],
        sides.sentence_offsets[m + 1], weights,
    )  # fmt: skip
    return a + x, b + y


@inner
def _far_both(sides: Crosses, m: int, c: int, weights: Doubles) -> tuple[float, float]:
    """Return what a candidate meets in the document."""
    first, d = sides.kind_offsets[c], sides.document[m]
    return _meet_both(
        sides.kinds, first, first + sides.n_worded[c], sides.document_clues,
        sides.document_offsets[d], sides.document_offsets[d + 1], weights,
    )  # fmt: skip


@inner
def _meet_both(
    kinds: Hashes, first: int, last: int, clues: Hashes, start: int, stop: int, weights: Doubles
) -> tuple[float, float]:
    mask = np.uint32(weights.shape[0] - 1)
    a, b = 0.0, 0.0
    for i in range(first, last):
        for j in range(start, stop):
            place = _place(kinds[i], clues[j], mask)
            a += weights[place, 0]
            b += weights[place, 1]
    return a, b
