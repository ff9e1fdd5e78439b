"""MentionTagger: a linear model that finds mentions, learned from annotated documents.

Each token is outside of mentions, begins one or continues one. Clues are the token and its
neighbours: words, endings, shapes, positions, and what the rules and the knowledge base say about
them. Clues are hashed; weights are trained by AdaGrad on the softmax over the three tags.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from struct import pack
from types import SimpleNamespace
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Bools, Doubles, Ints, Longs
from sgtb.core.ragged import Ragged
from sgtb.core.records import Mention
from sgtb.core.settings import AdaGrad
from sgtb.linking.mentions.name_search import ListedNames, NameSearch, Ranges
from sgtb.native import learn_tags, mix_clues, tag_probabilities
from sgtb.native import token_shape_bits as w

OUTSIDE, BEGIN, INSIDE = range(3)
MENTION_TAGS = ("outside", "begin", "inside")
OPTIMIZER = AdaGrad(rate=0.1, decay=1e-5, ease=1e-2)
_EPOCHS = 4

Hashes = npt.NDArray[np.uint32]

_COLUMNS = ("word", "pattern", "start", "ending", "rule", "place", "share", "repeated", "bits")
"""What is observed at a token, in the order of the compiled core; the first four are hashes of its
text."""
_HASHED = 4
_TEMPLATES = """
    word-2  word-1  word0  word1  word2  pattern-1  pattern0  pattern1  rule-1  rule0  rule1
    start0  ending0  bits0  word-1,word0  word0,word1
    pattern-1,pattern0  pattern0,pattern1  pattern-1,pattern0,pattern1
    rule-1,rule0  rule0,rule1  rule-1,rule0,rule1  rule-2,rule-1,rule0,rule1,rule2
    rule0,word0  rule0,word-1  rule0,word1  rule0,pattern0,place0  rule0,ending0  rule0,bits0
    rule0,rule1,bits0,bits1  rule0,rule-1,bits0,bits-1
    share0,rule0  share0,place0  repeated0,pattern0,rule0  repeated0,place0,rule0
    pattern0,place0  pattern0,word-1  pattern0,word1  place0,word0
"""
"""The columns and places, relative to the token, that make each clue."""
_CLUES = tuple(
    tuple((_COLUMNS.index(name), int(at)) for name, at in re.findall(r"([a-z]+)(-?\d)", clue))
    for clue in _TEMPLATES.split()
)
_PARTS = Ragged.of(([number for part in clue for number in part] for clue in _CLUES), np.int64)
_KNOWN, _UNKNOWN = 1, 3
"""What the rules say: 0, or known or unknown name, plus one where it continues."""
_SHARES = (0.1, 0.2, 0.4, 0.6, 0.8)
_UNCOUNTED, _NO_NAME = 10, 11
"""Upper ends of the bins of link probabilities, and the bins without one."""


class RuleMentions(NamedTuple):
    """What rules find in a text."""

    search: NameSearch  # the text, its tokens, and ranges that may be names
    known: Ranges  # mentions
    unknown: Ranges  # mentions
    listed: ListedNames  # ranges that are names, and their link probabilities

    def shares(self) -> bytearray:
        """Return the bin of the largest link probability of a known name with each token.

        _UNCOUNTED: links were not counted; _NO_NAME: no such name
        """
        out = bytearray([_NO_NAME]) * len(self.search.tokens)
        for first, last, probability in self.listed:
            counted = probability == probability
            share = bisect_left(_SHARES, probability) if counted else _UNCOUNTED
            for i in range(first, last + 1):
                if out[i] >= _UNCOUNTED or share > out[i]:
                    out[i] = share
        return out


def token_hashes(text: str) -> bytes:
    """Return the hashes of word, pattern, start and ending of a token, packed: u4[4]."""
    lower = text.lower()
    parts = (lower, _pattern(text), lower[:3], lower[-3:])
    return pack("=4I", *(crc32(part.encode("utf-8", "surrogatepass")) for part in parts))


def _pattern(text: str) -> str:
    """Return the kinds of the characters of a token, each run of a kind once or twice."""
    kinds = [
        "X" if c.isupper() else "x" if c.islower() else "0" if c.isdigit() else c for c in text
    ]
    kept = [c for i, c in enumerate(kinds) if i < 2 or kinds[i - 2 : i] != [c, c]]
    return "".join(kept[:12])


def mention_clues(rules: RuleMentions, hashes: Mapping[str, bytes]) -> Hashes:
    """Return the clues of every token: u4[n, len(_CLUES)].

    hashes  from `token_hashes`
    """
    out = np.empty((len(rules.search.tokens), len(_CLUES)), np.uint32)
    mix_clues(_observed(rules, hashes), rules.search.lines, _PARTS, out)
    return out


def _observed(rules: RuleMentions, hashes: Mapping[str, bytes]) -> SimpleNamespace:
    """Return what is observed at each token."""
    search, texts = rules.search, rules.search.tokens.texts
    rule = bytearray(len(texts))
    for kind, ranges in ((_KNOWN, rules.known), (_UNKNOWN, rules.unknown)):
        for first, last in ranges:
            rule[first] = kind
            rule[first + 1 : last + 1] = bytes([kind + 1]) * (last - first)
    named = {*compress(texts, rule)}
    repeated = {text: (text in named) + 2 * (text.lower() in search.words) for text in search.words}
    hashed = np.frombuffer(b"".join(map(hashes.__getitem__, texts)), np.uint32)
    return SimpleNamespace(
        hashes=hashed.reshape(-1, _HASHED),
        rule=rule,
        position=search.position_array,
        share=rules.shares(),
        repeated=bytes(map(repeated.__getitem__, texts)),
        shape=search.shape_array,
    )


def gold_tags(n: int, mentions: Sequence[Mention]) -> Ints:
    """Return the tags of n tokens."""
    tags = np.full(n, OUTSIDE, np.int32)
    for mention in mentions:
        tags[mention.first : mention.stop] = INSIDE
        tags[mention.first] = BEGIN
    return tags


@dataclass(frozen=True)
class MentionTagger:
    """Weights of clues: f8[2**bits, 3]."""

    weights: Doubles

    @classmethod
    def train(
        cls, clues: Hashes, tags: Ints, rng: "np.random.Generator", bits: int
    ) -> "MentionTagger":
        """Train on tokens with clues u4[n, K] and tags."""
        weights = np.zeros((1 << bits, len(MENTION_TAGS)))
        seen = np.zeros_like(weights)
        for _ in range(_EPOCHS):
            order = rng.permutation(len(tags))
            learn_tags(_rows(clues), tags, order, OPTIMIZER, weights, seen)
        return cls(weights)

    def ranges(self, rules: RuleMentions, hashes: Mapping[str, bytes]) -> Ranges:
        """Return first and last token of the mentions of a text.

        hashes  from `token_hashes`
        """
        search = rules.search
        probability = np.empty((len(search.tokens), len(MENTION_TAGS)))
        tag_probabilities(_rows(mention_clues(rules, hashes)), self.weights, probability)
        is_word = search.shape_array & w.WORD > 0
        return tagged_ranges(probability.argmax(axis=1), search.lines, is_word)


def tagged_ranges(tags: Longs, lines: Longs, is_word: Bools) -> Ranges:
    """Return the ranges of tagged tokens, without signs at their ends.

    What continues nothing in its line begins a name.
    """
    inside = tags != OUTSIDE
    begins = tags == BEGIN
    begins[1:] |= inside[1:] & ~inside[:-1]
    begins[lines[lines[:, 0] < lines[:, 1], 0]] = True
    (words,) = (inside & is_word).nonzero()
    borders = np.diff(np.cumsum(begins)[words], prepend=-1, append=-1).nonzero()[0]
    first, last = words[borders[:-1]], words[borders[1:] - 1]
    return [*zip(first.tolist(), last.tolist(), strict=True)]


def _rows(clues: Hashes) -> Ragged:
    n, width = clues.shape
    return Ragged(np.arange(n + 1, dtype=np.int64) * width, clues.ravel())
