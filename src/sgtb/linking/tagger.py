"""The tagger: PER, ORG, LOC or MISC, told from a mention's name and surroundings.

A multinomial logistic regression on hashed clues, trained by AdaGrad, one mention at a time. It
learns from the annotated types of training documents and is what stands in for them everywhere: on
training documents too, where a tagger that has not seen the document gives the answer.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sgtb.kernels import inner, kernel
from sgtb.learn.dtypes import Doubles, Ints, Longs
from sgtb.linking.contexts import Clues

TAGS = ("PER", "ORG", "LOC", "MISC")
BITS = 18
_RATE, _DECAY, _EPOCHS, _EASE = 0.1, 1e-4, 3, 1e-2

Hashes = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Tagger:
    """Weights of clues: f8[2**bits, len(TAGS)]."""

    weights: Doubles

    @classmethod
    def train(
        cls, clues: Clues, tags: Ints, rows: Longs, rng: np.random.Generator, bits: int = BITS
    ) -> "Tagger":
        """Learn from the rows given; `tags` are places in TAGS, -1 where there is none."""
        weights = np.zeros((1 << bits, len(TAGS)))
        seen = np.zeros_like(weights)
        known = rows[tags[rows] >= 0]
        for _ in range(_EPOCHS):
            order = rng.permutation(known)
            learn_tags(clues.offsets, clues.values, tags, order, weights, seen, np.zeros(len(TAGS)))
        return cls(weights)

    def probabilities(self, clues: Clues) -> Doubles:
        """Return f8[M, len(TAGS)]."""
        out = np.zeros((len(clues.offsets) - 1, len(TAGS)))
        tell_tags(clues.offsets, clues.values, self.weights, out)
        return out


@inner
def _softmax(clues: Hashes, first: int, last: int, weights: Doubles, out: Doubles) -> None:
    n = out.shape[0]
    for t in range(n):
        out[t] = 0.0
    for i in range(first, last):
        place = clues[i] & np.uint32(weights.shape[0] - 1)
        for t in range(n):
            out[t] += weights[place, t]
    top = out[0]
    for t in range(n):
        top = max(top, out[t])
    total = 0.0
    for t in range(n):
        out[t] = np.exp(out[t] - top)
        total += out[t]
    for t in range(n):
        out[t] /= total


@kernel
def learn_tags(
    offsets: Longs, clues: Hashes, tags: Ints, order: Longs, weights: Doubles, seen: Doubles,
    scratch: Doubles,
) -> None:  # fmt: skip
    """Take one AdaGrad step per row."""
    for m in order:
        _softmax(clues, offsets[m], offsets[m + 1], weights, scratch)
        scratch[tags[m]] -= 1.0
        for i in range(offsets[m], offsets[m + 1]):
            place = clues[i] & np.uint32(weights.shape[0] - 1)
            for t in range(scratch.shape[0]):
                slope = scratch[t] + _DECAY * weights[place, t]
                seen[place, t] += slope * slope
                weights[place, t] -= _RATE * slope / np.sqrt(seen[place, t] + _EASE)


@kernel
def tell_tags(offsets: Longs, clues: Hashes, weights: Doubles, out: Doubles) -> None:
    """Write the probabilities of every row."""
    for m in range(offsets.shape[0] - 1):
        _softmax(clues, offsets[m], offsets[m + 1], weights, out[m])
