"""The slow twin of the fuzzy index: tokens, lists of names and scores in plain Python."""

import math

import numpy as np

MASK = 2**64 - 1


def token_hash(kind, token):
    """Hash a token as hash.hpp does; kind 1: a word, 2: a trigram."""
    state = 0xCBF29CE484222325
    for byte in (kind, *token.encode()):
        state = (state ^ byte) * 0x100000001B3 & MASK
    mixed = (state ^ state >> 33) * 0xFF51AFD7ED558CCD & MASK
    return mixed ^ mixed >> 33


def words(name):
    return {token_hash(1, word) for word in name.split(" ") if word}


def tokens(name):
    padded = f" {name} "
    return words(name) | {token_hash(2, padded[i : i + 3]) for i in range(len(padded) - 2)}


def edits(one, other):
    """Edit distance with swaps of neighbours, by the table."""
    table = [[i + j if i == 0 or j == 0 else 0 for j in range(len(other) + 1)]
             for i in range(len(one) + 1)]  # fmt: skip
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            same = one[i - 1] == other[j - 1]
            best = min(
                table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (not same)
            )  # fmt: skip
            swapped = i > 1 and j > 1 and (one[i - 1], one[i - 2]) == (other[j - 2], other[j - 1])
            table[i][j] = min(best, table[i - 2][j - 2] + 1) if swapped else best
    return table[-1][-1]


def edit_similarity(query, name):
    query, name = query[:64], name[:64]
    return 1 - edits(query, name) / max(len(query), len(name)) if query else 0.0


def digits(name):
    return [c for c in name if c in "0123456789"]


class SlowFuzzyIndex:
    """The names of a list, and the weights of their tokens by bucket."""

    def __init__(self, names, weight, max_postings):
        self.names, self.weight, self.n_buckets = names, [int(w) for w in weight], len(weight)
        self.postings = {}
        for number, name in enumerate(names):
            for token in tokens(name):
                self.postings.setdefault(token % self.n_buckets, []).append(number)
        for bucket, listed in self.postings.items():
            self.postings[bucket] = listed if len(listed) <= max_postings else []
        self.norm = [np.float32(math.sqrt(self.squares(tokens(name)))) for name in names]

    def weight_of(self, hashes):
        return sum(self.weight[h % self.n_buckets] for h in hashes)

    def squares(self, hashes):
        return sum(self.weight[h % self.n_buckets] ** 2 for h in hashes)

    def search(self, query, limit, n_read, n_compared):
        """Return number and scores of the most similar names."""
        buckets = [token % self.n_buckets for token in tokens(query)]
        lists = sorted((len(self.postings.get(b, ())), b) for b in buckets)
        shared = {}
        for size, bucket in lists:
            n_read -= size
            if n_read < 0:
                break
            for number in self.postings.get(bucket, ()):
                shared[number] = shared.get(number, 0) + self.weight[bucket] ** 2
        ranked = sorted((-gain / float(self.norm[i]), i) for i, gain in shared.items())
        return self.compare(query, [i for _, i in ranked[:n_compared]], limit)

    def search_containing(self, query, limit, n_read):
        """Return number and scores of the names with all words of the query and more."""
        lists = [(len(self.postings.get(h % self.n_buckets, ())), h % self.n_buckets)
                 for h in words(query)]  # fmt: skip
        if not lists or min(lists)[0] == 0:
            return []
        listed = self.postings[min(lists)[1]][:n_read]
        return self.compare(
            query, [i for i in listed if words(query) < words(self.names[i])], limit
        )

    def compare(self, query, numbers, limit):
        found = []
        norm = math.sqrt(self.squares(tokens(query)))
        for i in numbers:
            name = self.names[i]
            cosine = self.squares(tokens(query) & tokens(name)) / (norm * float(self.norm[i]))
            every = self.weight_of(words(query) | words(name))
            overlap = self.weight_of(words(query) & words(name)) / every if every else 1.0
            scores = (cosine, overlap, edit_similarity(query, name), digits(query) == digits(name))
            found.append((i, *map(np.float32, scores)))
        return sorted(found, key=lambda one: (-one[1], one[0]))[:limit]
