"""The ranker: a linear model of candidates, whose score is a feature.

It sees single words, which trees cannot. Every clue of the context is crossed with every kind word
of the candidate's title ("national", "team", "tennis"), and each cross has a weight; so has each
bin of the other features. Trained by AdaGrad on the softmax over each mention's candidates. Crosses
are hashed on the fly: stored, they would take gigabytes.

    score(c) = Σ over kinds k of c, clues x: w[k × x]  +  Σ over features f: v[f, bin of f]
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from zlib import crc32

import numpy as np

from sgtb.core.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.core.ragged import Ragged
from sgtb.core.settings import AdaGrad
from sgtb.core.sparse_matrix import group_of
from sgtb.core.thread_pool import ThreadPool
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.entities.background import name_fingerprints
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.features.contexts import Contexts
from sgtb.native import (
    count_cuts,
    find_alike,
    learn_ranks,
    learn_tags,
    list_kinds,
    score_candidates,
    tag_probabilities,
)

BITS = 18
BINS = 24
OPTIMIZER = AdaGrad(rate=0.05, decay=1e-4, ease=1e-2)
MIN_SLOPE = 1e-3  # candidates with a smaller gradient are skipped in training
_EPOCHS, _ORDERS = 2, 2


class Crosses(NamedTuple):
    """Both sides of the crosses.

    A candidate has kinds (those of its entity that are not in the mention) and marks (its type, and
    whether its title has more words than the mention). All are crossed with the clues of the
    mention's position; kinds and type also with the words of sentence and document.

    Candidates often share their kinds, so the scores of equal ones are computed once.
    """

    kinds: Ragged  # u4, per candidate
    n_worded: Ints  # per candidate, number of kinds that are crossed with words
    document: Ints  # of each mention
    place_clues: Ragged  # u4, per mention
    sentence_clues: Ragged
    document_clues: Ragged  # per document
    alike: Ints  # per candidate, the first of its mention with equal kinds and marks
    worded_alike: Ints  # per candidate, the first of its document with equal worded kinds


def crosses(
    candidates: CandidateTable,
    contexts: Contexts,
    facts: EntityFacts,
    title_equal: Floats,
    rest_words: Floats,
) -> Crosses:
    """Collect both sides of all crosses; the last two arguments are features."""
    distinct = name_fingerprints([*dict.fromkeys(contexts.names)]).words
    names = distinct.take(contexts.name_numbers)
    most = int(np.diff(facts.kind_clues.indptr)[candidates.entity].sum())
    offsets = np.zeros(candidates.n_candidates + 1, np.int64)
    kinds = np.zeros(most + (_MARKS + 1) * candidates.n_candidates, np.uint32)
    n_worded = np.zeros(candidates.n_candidates, np.int32)
    list_kinds(
        candidates.candidate_offsets, candidates.entity, names, facts.kind_clues, facts.kind_words,
        facts.type_clue, np.ascontiguousarray(title_equal), np.ascontiguousarray(rest_words),
        _NO_KIND, _EQUAL, offsets, kinds, n_worded,
    )  # fmt: skip
    listed = Ragged(offsets, kinds[: offsets[-1]])
    document = group_of(candidates.mention_offsets).astype(np.int32)
    return Crosses(
        listed, n_worded, document,
        contexts.place_clues, contexts.sentence_clues, contexts.document_clues,
        *twins(candidates.candidate_offsets, document, listed, n_worded),
    )  # fmt: skip


_NO_KIND = crc32(b"no kind")
_EQUAL = np.array([crc32(f"equal:{a}{b}".encode()) for a in (0, 1) for b in (0, 1)], np.uint32)
_MARKS = 3


def twins(
    candidate_offsets: Ints, document: Ints, kinds: Ragged, n_worded: Ints
) -> tuple[Ints, Ints]:
    """Return `alike` and `worded_alike` of `Crosses`."""
    alike, worded_alike = np.empty_like(n_worded), np.empty_like(n_worded)
    find_alike(candidate_offsets, document, kinds, n_worded, alike, worded_alike)
    return alike, worded_alike


@dataclass(frozen=True)
class Cuts:
    """Bin thresholds: `values` f4[F, BINS - 1], ascending, padded with inf."""

    values: Floats

    @classmethod
    def of(cls, features: Floats) -> "Cuts":
        """Choose quantiles as thresholds."""
        levels = np.linspace(0, 1, BINS + 1)[1:-1]
        values = np.full((features.shape[1], BINS - 1), np.inf, np.float32)
        for f in range(features.shape[1]):
            cuts = np.unique(np.quantile(features[:, f], levels, method="lower"))
            values[f, : len(cuts)] = cuts
        return cls(values)

    def apply(self, features: Floats) -> Bytes:
        """Return the bins of the first columns: numbers of thresholds below the values."""
        out = np.empty((len(features), len(self.values)), np.uint8)
        count_cuts(np.ascontiguousarray(features), self.values, out)
        return out


@dataclass(frozen=True)
class Ranker:
    """Weights of crosses f8[2**bits], and of bins f8[F, BINS]."""

    weights: Doubles
    bin_weights: Doubles

    @classmethod
    def train(
        cls, candidates: CandidateTable, sides: Crosses, bins: Bytes, mentions: Longs,
        rng: "np.random.Generator", bits: int = BITS,
    ) -> "Ranker":  # fmt: skip
        """Train on the gold of some mentions, in several random orders; average the weights.

        A single one depends on its order: accuracy on a left-out domain differed by three points.
        """
        size = np.diff(candidates.candidate_offsets)
        useful = mentions[(candidates.gold[mentions] >= 0) & (size[mentions] > 1)]
        weights = np.zeros((_ORDERS, 1 << bits))
        bin_weights = np.zeros((_ORDERS, bins.shape[1], BINS))

        def learn(number: int, *orders: Longs) -> None:
            own, own_bins = weights[number], bin_weights[number]
            seen, bin_seen = np.zeros_like(own), np.zeros_like(own_bins)
            for order in orders:
                learn_ranks(
                    candidates.candidate_offsets, candidates.gold, sides, bins, order,
                    OPTIMIZER, MIN_SLOPE, own, seen, own_bins, bin_seen,
                )  # fmt: skip

        with ThreadPool() as pool:
            epochs = range(_EPOCHS)
            orders = [[rng.permutation(useful) for _ in epochs] for _ in range(_ORDERS)]
            pool.run(learn, [(number, *own) for number, own in enumerate(orders)])
        return cls(weights.mean(axis=0), bin_weights.mean(axis=0))


@dataclass(frozen=True)
class Rankers:
    """Two rankers of the same crosses, evaluated together to hash each cross once."""

    local: Ranker
    joint: Ranker

    @cached_property
    def weights(self) -> Doubles:
        """Cross weights of both, side by side: f8[2**bits, 2]."""
        both = self.local.weights, self.joint.weights
        size = max(map(len, both))  # weights of the smaller one repeat
        return np.stack([np.resize(weights, size) for weights in both], axis=1)

    def scores(
        self, candidates: CandidateTable, sides: Crosses, bins: tuple[Bytes, Bytes], mentions: Longs
    ) -> Doubles:
        """Return the scores of the candidates of some mentions, 0 elsewhere: f8[2, C].

        bins  of each ranker
        """
        out = np.zeros((2, candidates.n_candidates))
        score_candidates(
            candidates.candidate_offsets, sides, *bins, mentions, self.weights,
            self.local.bin_weights, self.joint.bin_weights, out,
        )  # fmt: skip
        return out


# The tagger: predicts PER, ORG, LOC or MISC from a mention and its surroundings.


TAGS = ("PER", "ORG", "LOC", "MISC")
TAG_BITS = 18
TAG_OPTIMIZER = AdaGrad(rate=0.1, decay=1e-4, ease=1e-2)
_TAG_EPOCHS = 3


@dataclass(frozen=True)
class Tagger:
    """Weights of clues: f8[2**bits, len(TAGS)]."""

    weights: Doubles

    @classmethod
    def train(
        cls,
        clues: Ragged,
        tags: Ints,
        rows: Longs,
        rng: "np.random.Generator",
        bits: int = TAG_BITS,
    ) -> "Tagger":
        """Train on some rows; `tags` are indices in TAGS, -1: none."""
        weights = np.zeros((1 << bits, len(TAGS)))
        seen = np.zeros_like(weights)
        known = rows[tags[rows] >= 0]
        for _ in range(_TAG_EPOCHS):
            learn_tags(clues, tags, rng.permutation(known), TAG_OPTIMIZER, weights, seen)
        return cls(weights)

    def probabilities(self, clues: Ragged) -> Doubles:
        """Return f8[M, len(TAGS)]."""
        out = np.zeros((len(clues.indptr) - 1, len(TAGS)))
        tag_probabilities(clues, self.weights, out)
        return out
