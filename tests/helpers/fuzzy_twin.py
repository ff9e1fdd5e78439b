"""The slow twin of the fuzzy index: tokens, weights and scores of names, one name at a time."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

_MASK = (1 << 64) - 1


def token_hash(kind: int, text: str) -> int:
    """Return the hash of a word (kind 1) or of a trigram (kind 2)."""
    state = 0xCBF29CE484222325
    for byte in (kind, *text.encode()):
        state = ((state ^ byte) * 0x100000001B3) & _MASK
    mixed = ((state ^ (state >> 33)) * 0xFF51AFD7ED558CCD) & _MASK
    return mixed ^ (mixed >> 33)


def word_hashes(name: str) -> set[int]:
    """Return the hashes of the words of a name."""
    return {token_hash(1, word) for word in name.split(" ") if word}


def token_hashes(name: str) -> set[int]:
    """Return the hashes of its words and trigrams."""
    padded = f" {name} "
    return word_hashes(name) | {token_hash(2, padded[i : i + 3]) for i in range(len(padded) - 2)}


def edits(one: str, other: str) -> int:
    """Return insertions, deletions, substitutions and swaps of neighbours from one to the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row, older = row, [i], before
        for j, b in enumerate(other, 1):
            best = min(row[j - 1] + 1, last[j] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, older[j - 2] + 1)
            row.append(best)
        before = last
    return row[-1]


class FuzzyTwin:
    """An index of names; `buckets` is a power of two."""

    def __init__(self, names: Sequence[str], buckets: int) -> None:
        self.names, self._buckets = names, buckets
        counts = Counter(
            bucket for name in names for bucket in (token % buckets for token in token_hashes(name))
        )
        self._weight = {
            bucket: min(max(round(8 * math.log2((len(names) + 1) / n)), 1), 255)
            for bucket, n in counts.items()
        }
        self._most = round(8 * math.log2(len(names) + 1))

    def weight(self, token: int) -> int:
        """Return the weight of a token; one of no name is as rare as can be."""
        return self._weight.get(token % self._buckets, min(max(self._most, 1), 255))

    def squares(self, tokens: set[int]) -> int:
        """Return the sum of squared weights."""
        return sum(self.weight(token) ** 2 for token in tokens)

    def scores(self, query: str, name: str) -> list[float]:
        """Return the scores of a name."""
        own, other = token_hashes(query), token_hashes(name)
        norms = math.sqrt(self.squares(own)) * np.float32(math.sqrt(self.squares(other)))
        both, either = (
            word_hashes(query) & word_hashes(name),
            word_hashes(query) | word_hashes(name),
        )
        shared, all_words = (sum(map(self.weight, words)) for words in (both, either))
        longest = max(len(query[:64]), len(name[:64]))
        return [
            self.squares(own & other) / norms,
            shared / all_words if all_words > 0 else 1.0,
            1 - edits(query[:64], name[:64]) / longest if query else 0.0,
            float(_digits(query) == _digits(name)),
        ]

    def similar(self, query: str, containing: bool) -> list[tuple[int, list[float]]]:
        """Return the names with a common bucket, or with all words and more; most similar first."""
        buckets = {token % self._buckets for token in token_hashes(query)}
        words = word_hashes(query)
        found = []
        for i, name in enumerate(self.names):
            if containing:
                fits = bool(words) and words < word_hashes(name)
            else:
                fits = any(token % self._buckets in buckets for token in token_hashes(name))
            if fits:
                found.append((i, self.scores(query, name)))
        return sorted(found, key=lambda item: (-np.float32(item[1][0]), item[0]))


def _digits(name: str) -> str:
    return "".join(c for c in name if c in "0123456789")
