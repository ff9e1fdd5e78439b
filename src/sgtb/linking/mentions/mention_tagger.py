"""MentionTagger: a linear model that finds mentions, learned from annotated documents.

Each token is outside of mentions, begins one or continues one. Clues are the token and its
neighbours: words, endings, shapes, positions, and what the rules and the knowledge base say about
them. Clues are hashed; weights are trained by AdaGrad on the softmax over the three tags.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from sgtb.core.adagrad import AdaGrad
from sgtb.core.byte_cache import ByteCache
from sgtb.core.dtypes import Bools, Doubles, Ints, Longs
from sgtb.core.ragged import Ragged
from sgtb.core.records import Mention
from sgtb.linking.mentions.name_search import NameSearch, Ranges
from sgtb.native import learn_tags, tag_probabilities
from sgtb.native import token_shape_bits as w

OUTSIDE, BEGIN, INSIDE = range(3)
MENTION_TAGS = ("outside", "begin", "inside")
OPTIMIZER = AdaGrad(rate=0.1, decay=1e-5, ease=1e-2)
_EPOCHS = 4

Hashes = npt.NDArray[np.uint32]

# Columns: what is observed at a token.
_WORD, _PATTERN, _START, _ENDING, _RULE, _PLACE, _SHARE, _REPEATED, _BITS = range(9)
_CLUES: tuple[tuple[tuple[int, int], ...], ...] = (
    *(((_WORD, at),) for at in (-2, -1, 0, 1, 2)),
    *(((_PATTERN, at),) for at in (-1, 0, 1)),
    *(((_RULE, at),) for at in (-1, 0, 1)),
    *(((column, 0),) for column in (_START, _ENDING, _BITS)),
    ((_WORD, -1), (_WORD, 0)),
    ((_WORD, 0), (_WORD, 1)),
    ((_PATTERN, -1), (_PATTERN, 0)),
    ((_PATTERN, 0), (_PATTERN, 1)),
    ((_PATTERN, -1), (_PATTERN, 0), (_PATTERN, 1)),
    ((_RULE, -1), (_RULE, 0)),
    ((_RULE, 0), (_RULE, 1)),
    ((_RULE, -1), (_RULE, 0), (_RULE, 1)),
    ((_RULE, -2), (_RULE, -1), (_RULE, 0), (_RULE, 1), (_RULE, 2)),
    ((_RULE, 0), (_WORD, 0)),
    ((_RULE, 0), (_WORD, -1)),
    ((_RULE, 0), (_WORD, 1)),
    ((_RULE, 0), (_PATTERN, 0), (_PLACE, 0)),
    ((_RULE, 0), (_ENDING, 0)),
    ((_RULE, 0), (_BITS, 0)),
    ((_RULE, 0), (_RULE, 1), (_BITS, 0), (_BITS, 1)),
    ((_RULE, 0), (_RULE, -1), (_BITS, 0), (_BITS, -1)),
    ((_SHARE, 0), (_RULE, 0)),
    ((_SHARE, 0), (_PLACE, 0)),
    ((_REPEATED, 0), (_PATTERN, 0), (_RULE, 0)),
    ((_REPEATED, 0), (_PLACE, 0), (_RULE, 0)),
    ((_PATTERN, 0), (_PLACE, 0)),
    ((_PATTERN, 0), (_WORD, -1)),
    ((_PATTERN, 0), (_WORD, 1)),
    ((_PLACE, 0), (_WORD, 0)),
)
"""The columns and places, relative to the token, that make each clue."""
_KNOWN, _UNKNOWN = 1, 3
"""What the rules say: 0, or known or unknown name, plus one where it continues."""
_SHARES = np.array([0.1, 0.2, 0.4, 0.6, 0.8])


class RuleMentions(NamedTuple):
    """What rules find in a text.

    search         the text, its tokens, and ranges that may be names
    known, unknown  the mentions
    probabilities  link probabilities of `search.ranges`; NaN: not counted; None: not usable
    """

    search: NameSearch
    known: Ranges
    unknown: Ranges
    probabilities: Sequence[float | None]

    def shares(self) -> Doubles:
        """Return the largest link probability of a known name with each token.

        f8[n]; NaN: not counted; -1: no such name
        """
        out = np.full(len(self.search.tokens), -1.0)
        ranges = zip(*(column.tolist() for column in self.search.ranges), strict=True)
        for (first, last), probability in zip(ranges, self.probabilities, strict=True):
            if probability is not None:
                own = out[first : last + 1]
                own[~(own >= probability)] = probability
        return out


class TokenHashes(ByteCache[str, tuple[int, ...]]):
    """Cache of the hashes of word, pattern, start and ending of tokens."""

    def __init__(self) -> None:
        super().__init__("token hashes", 6 << 20, _token_hashes)


def _token_hashes(text: str) -> tuple[int, ...]:
    lower = text.lower()
    parts = (lower, _pattern(text), lower[:3], lower[-3:])
    return tuple(crc32(part.encode("utf-8", "surrogatepass")) for part in parts)


def _pattern(text: str) -> str:
    """Return the kinds of the characters of a token, each run of a kind once or twice."""
    kinds = [
        "X" if c.isupper() else "x" if c.islower() else "0" if c.isdigit() else c for c in text
    ]
    kept = [c for i, c in enumerate(kinds) if i < 2 or kinds[i - 2 : i] != [c, c]]
    return "".join(kept[:12])


def mention_clues(rules: RuleMentions, hashes: TokenHashes) -> Hashes:
    """Return the clues of every token: u4[n, len(_CLUES)]."""
    columns = _columns(rules, hashes)
    line = np.repeat(np.arange(len(rules.search.lines)), np.diff(rules.search.lines)[:, 0])
    shifted = {
        (column, at): _shifted(columns[column], line, at)
        for column, at in {part for parts in _CLUES for part in parts}
    }
    out = np.empty((columns.shape[1], len(_CLUES)), np.uint32)
    for number, parts in enumerate(_CLUES):
        mixed = np.full(columns.shape[1], number + 1, np.uint32)
        for part in parts:
            mixed = (mixed ^ shifted[part]) * np.uint32(0x9E3779B1)
            mixed ^= mixed >> np.uint32(15)
        out[:, number] = mixed
    return out


def _columns(rules: RuleMentions, hashes: TokenHashes) -> Hashes:
    search = rules.search
    texts = search.tokens.texts
    n = len(texts)
    rule = np.zeros(n, np.uint32)
    for kind, ranges in ((_KNOWN, rules.known), (_UNKNOWN, rules.unknown)):
        for first, last in ranges:
            rule[first] = kind
            rule[first + 1 : last + 1] = kind + 1
    shares = rules.shares()
    share = np.where(np.isnan(shares), 10, np.searchsorted(_SHARES, shares))
    share = np.where(shares < 0, 11, share)
    named = {text for text, found in zip(texts, rule.tolist(), strict=True) if found}
    repeated = [(text in named) + 2 * (text.lower() in search.words) for text in texts]
    place = np.array(search.positions, np.uint32)
    bits = np.array(search.shapes, np.uint32)
    own = np.array([hashes[text] for text in texts], np.uint32).reshape(n, 4)
    return np.stack(
        [*own.T, rule, place, share.astype(np.uint32), np.array(repeated, np.uint32), bits]
    )


def _shifted(column: Hashes, line: Longs, at: int) -> Hashes:
    """Return the values `at` tokens further in the same sentence; 1 where there is none."""
    if at == 0:
        return column
    out = np.ones_like(column)
    to, of = (slice(None, -at), slice(at, None)) if at > 0 else (slice(-at, None), slice(None, at))
    out[to] = np.where(line[to] == line[of], column[of], 1)
    return out


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

    def ranges(self, clues: Hashes, search: NameSearch) -> Ranges:
        """Return first and last token of the mentions of a text."""
        out = np.zeros((len(clues), len(MENTION_TAGS)))
        tag_probabilities(_rows(clues), self.weights, out)
        tags = out.argmax(axis=1)
        begins = np.zeros(len(tags), np.bool_)
        begins[search.lines[:, 0][search.lines[:, 0] < len(tags)]] = True
        return [*_trimmed(_ranges(tags, begins), search.shapes)]


def _rows(clues: Hashes) -> Ragged:
    n, width = clues.shape
    return Ragged(np.arange(n + 1, dtype=np.int64) * width, clues.ravel())


def _ranges(tags: Longs, new_line: Bools) -> Ranges:
    """Return the token ranges of tags; what continues nothing begins."""
    inside = tags != OUTSIDE
    before = np.concatenate([[False], inside[:-1]])
    (first,) = (inside & ((tags == BEGIN) | ~before | new_line)).nonzero()
    begins = np.zeros(len(tags) + 1, np.bool_)
    begins[first] = True
    ends = inside & ~np.concatenate([inside[1:] & ~begins[1:-1], [False]])
    return [*zip(first.tolist(), ends.nonzero()[0].tolist(), strict=True)]


def _trimmed(ranges: Ranges, shapes: Sequence[int]) -> Ranges:
    """Return ranges without signs at their ends."""
    trimmed = []
    for first, last in ranges:
        while first <= last and not shapes[first] & w.WORD:
            first += 1
        while last > first and not shapes[last] & w.WORD:
            last -= 1
        if first <= last:
            trimmed.append((first, last))
    return trimmed
