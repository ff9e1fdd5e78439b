"""The tagger: predicts PER, ORG, LOC or MISC from a mention and its surroundings.

A multinomial logistic regression on hashed clues, trained by AdaGrad on annotated types.
"""

from dataclasses import dataclass

import numpy as np

from sgtb.core.dtypes import Doubles, Ints, Longs
from sgtb.linking.features.adagrad import AdaGrad
from sgtb.linking.features.contexts import Clues
from sgtb.native import learn_tags, tag_probabilities

TAGS = ("PER", "ORG", "LOC", "MISC")
BITS = 18
OPTIMIZER = AdaGrad(rate=0.1, decay=1e-4, ease=1e-2)
_EPOCHS = 3


@dataclass(frozen=True)
class Tagger:
    """Weights of clues: f8[2**bits, len(TAGS)]."""

    weights: Doubles

    @classmethod
    def train(
        cls, clues: Clues, tags: Ints, rows: Longs, rng: "np.random.Generator", bits: int = BITS
    ) -> "Tagger":
        """Train on some rows; `tags` are indices in TAGS, -1: none."""
        weights = np.zeros((1 << bits, len(TAGS)))
        seen = np.zeros_like(weights)
        known = rows[tags[rows] >= 0]
        for _ in range(_EPOCHS):
            learn_tags(clues, tags, rng.permutation(known), OPTIMIZER, weights, seen)
        return cls(weights)

    def probabilities(self, clues: Clues) -> Doubles:
        """Return f8[M, len(TAGS)]."""
        out = np.zeros((len(clues.indptr) - 1, len(TAGS)))
        tag_probabilities(clues, self.weights, out)
        return out
