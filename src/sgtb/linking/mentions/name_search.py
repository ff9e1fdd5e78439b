"""Name search: the token ranges of a text that may be names, and the choice among known names."""

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sgtb.core.records import Tokens
from sgtb.kb.layout import MAX_KEY
from sgtb.native import find_name_ranges
from sgtb.native import token_shape_bits as w
from sgtb.text.normalization import STOP_WORDS

# Word shapes: what a token looks like to someone who looks for names, as bits.


_COMMON = STOP_WORDS | frozenset(
    "about above after again against all almost along already also although always am among "
    "another any anyone anything are around away back because before behind being below between "
    "both can could did do does down during each either else even ever every everyone everything "
    "few first finally further here hence him how however if indeed inside instead into just last "
    "later least less like many maybe me meanwhile might mine more moreover most much must my near "
    "neither never next no nobody none nor nothing now off often once one only other others our "
    "ours out outside over own perhaps rather same second several shall should since so some "
    "someone something sometimes soon still such than them then there these those though three "
    "through throughout thus today together tomorrow too towards two under unless until up upon us "
    "very we well what whatever when whenever where whether while whom whose why within without "
    "would yes yesterday yet you your yours n't 're 'll 've 'd 'm".split()
)
_DATE = frozenset(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday".split()
)
_PARTICLE = frozenset(
    "af al ap av bin da dal de del della der den di dos du el ibn la le ten ter van von zu".split()
)
_LINK = _PARTICLE | frozenset(
    "a an and as at by dans das des do e en et for from in into les los n no of on or sur the to "
    "und upon vs with y".split()
)
_LEAD = frozenset(
    "the a an and are as at but by did does during for from had has if in into inside is like near "
    "of on or outside since so than that this to under until was were when where while with "
    "without after against among before between".split()
)
_TITLE = frozenset(
    "ambassador archbishop archduke assistant attorney bishop captain cardinal chairman chancellor "
    "chief coach colonel commissioner congressman consul corporal deputy director dr emperor "
    "empress executive farm finance foreign general governor interior justice king lord major "
    "marshal mayor minister mr mrs ms officer patriarch pope premier president prime prince "
    "princess prof professor queen rabbi representative secretary senator sergeant sheikh sir "
    "spokesman sultan trade treasury tsar vice".split()
)
_SIGNS: dict[str, int] = {
    **dict.fromkeys(".'’-–‐‑:!·־", w.INNER),
    ",": w.INNER | w.COMMA,
    **dict.fromkeys(("&", "/", "'s", "’s", "'S", "’S"), w.FREE),
    **dict.fromkeys('"“„«‘', w.QUOTE),
}
_LISTS = (
    (w.COMMON, _COMMON),
    (w.DATE, _DATE),
    (w.THE, frozenset(("the",))),
    (w.LEAD, _LEAD),
    (w.TITLE, _TITLE),
)
_SMALL_LISTS = ((w.LINK, _LINK), (w.PARTICLE, _PARTICLE))
_LONGEST = 100


class Shapes(dict[str, int]):
    """The shape of every token met; starts anew when there are too many."""

    def __missing__(self, text: str) -> int:
        found = shape_of(text)
        if len(text) <= _LONGEST:
            if len(self) >= 1 << 18:
                self.clear()
            self[text] = found
        return found


def shape_of(text: str) -> int:
    """Return the bits of a token."""
    if text in _SIGNS:
        return _SIGNS[text]
    if not any(c.isalnum() for c in text):
        return _sign(text)
    lower = text.lower()
    shape: int = w.WORD | sum(bit for bit, words in _LISTS if lower in words)
    if text.isupper() and sum(c.isalpha() for c in text) > 1:
        shape |= w.UPPER
    if not _is_small(text) or any(c.isdigit() for c in text):
        shape |= w.NAME
        return shape
    shape |= w.SMALL | sum(bit for bit, words in _SMALL_LISTS if text in words)
    return shape if shape & (w.COMMON | w.LINK) else shape | w.PLAIN


def _is_small(text: str) -> bool:
    # Georgian letters have capitals that nobody begins a name with: not small, but without case.
    return text.islower() and any(c.title() != c for c in text)


def _sign(text: str) -> int:
    if all(c in "\u200c\u200d" or unicodedata.category(c)[0] == "M" for c in text):
        return int(w.MARK)
    return int(w.INNER) if all(unicodedata.category(c) == "Cf" for c in text) else 0


Ranges = list[tuple[int, int]]
Ends = list[tuple[int, float]]

_LOUD_PROBABILITY = 0.2
"""The least link probability of a single word among words that are all in capitals."""
_TOKENS_A_WORD = 4
"""How many tokens a word may have on average: "J." has two, one in Devanagari has several."""


class NameRanges(NamedTuple):
    """Token ranges that may be names, ordered by first, then by last token.

    first, last  i4[N], `last` included
    """

    first: np.ndarray
    last: np.ndarray


class _PageTokens(NamedTuple):
    shapes: np.ndarray
    starts: Any
    ends: Any
    after_empty_line: np.ndarray


class _NameLimits(NamedTuple):
    named: int
    max_words: int
    max_tokens: int
    max_length: int


class NameSearch:
    """A text in which names are searched.

    sentences  first token and the one after the last of each
    capitals   names without a capital, a digit or a script without case are left out
    """

    def __init__(
        self,
        text: str,
        tokens: Tokens,
        sentences: Sequence[tuple[int, int]],
        shape_of: Shapes,
        *,
        capitals: bool,
        max_words: int,
    ) -> None:
        self.text, self.tokens, self.shape_of = text, tokens, shape_of
        self.capitals = capitals
        n = len(tokens)
        shapes = np.fromiter(map(shape_of.__getitem__, tokens.texts), np.int32, n)
        # A token has at least one code point.
        max_tokens = min(_TOKENS_A_WORD * max_words, MAX_KEY, n)
        named = w.NAME if capitals else w.NAME | w.PLAIN
        positions = np.zeros(n, np.uint8)
        out = NameRanges(*np.empty((2, n * max_tokens), np.int32))
        n_found = find_name_ranges(
            _PageTokens(shapes, tokens.starts, tokens.ends, _after_empty_line(text, tokens)),
            np.array(sentences, np.int64).reshape(-1, 2),
            _NameLimits(named, min(max_words, n), max_tokens, MAX_KEY),
            positions,
            out,
        )
        self.shapes, self.positions = shapes.tolist(), positions.tolist()
        self.ranges = NameRanges(out.first[:n_found], out.last[:n_found])
        self.words = frozenset(tokens.texts)

    def names(self) -> list[str]:
        """Return the text of each range."""
        starts = np.frombuffer(self.tokens.starts, np.int64)[self.ranges.first]
        ends = np.frombuffer(self.tokens.ends, np.int64)[self.ranges.last]
        return [self.text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]

    def choose(self, probabilities: Sequence[float | None]) -> Ranges:
        """Return first and last token of the mentions, from the link probability of each range.

        None: not a name; NaN: a name whose links were not counted.
        """
        texts = self.tokens.texts
        known: dict[int, Ends] = {}  # by first token: last token and probability, shortest first
        ranges = zip(*(column.tolist() for column in self.ranges), probabilities, strict=True)
        for i, last, probability in ranges:
            if probability is not None:
                known.setdefault(i, []).append((last, probability))
        chosen: Ranges = []
        doubtful: list[int] = []
        free = 0
        for i, ends in known.items():
            if i < free:
                continue
            last = self._longest(i, ends)
            if last < 0:
                if ends[0][0] == i and self._doubtful(i):
                    doubtful.append(i)
                continue
            after = self._longest(i + 1, known.get(i + 1, []))
            if after >= last > i and self._droppable(i):
                continue
            if after < 0 and last == i and self._cut(i):
                continue
            chosen.append((i, last))
            free = last + 1
        # A word that is part of a longer name is a name by itself: "Brian May" makes "May" one.
        parts = {text for i, last in chosen if last > i for text in texts[i : last + 1]}
        return sorted(chosen + [(i, i) for i in doubtful if texts[i] in parts])

    def _longest(self, i: int, ends: Ends) -> int:
        """Return the last token of the longest mention that begins with token i; -1: none."""
        for last, probability in reversed(ends):
            if self._may_be_phrase(i, last) if last > i else self._may_be_word(i, probability):
                return last
        return -1

    def _may_be_word(self, i: int, probability: float) -> bool:
        """Whether a single word that is a name is one here."""
        loud = self.positions[i] & w.LOUD
        if self.shapes[i] & w.COMMON:
            return bool(self.shapes[i] & w.UPPER and not loud)  # US, but neither It nor us
        return not self._doubtful(i) and not (loud and probability < _LOUD_PROBABILITY)

    def _doubtful(self, i: int) -> bool:
        """Whether a word's capital is explained by its position, or by the calendar."""
        shape = self.shapes[i]
        if shape & (w.COMMON | w.DATE):
            return not shape & w.COMMON
        if not (self.capitals and self.positions[i] & (w.FRESH | w.HEADLINE)):
            return False
        lower = self.tokens.texts[i].lower()
        return lower in self.words and bool(self.shape_of[lower] & w.SMALL)

    def _may_be_phrase(self, i: int, last: int) -> bool:
        """Whether several words that are a name are one here: "The Who", but not "to be"."""
        words = [shape for shape in self.shapes[i : last + 1] if shape & w.WORD]
        return any(not shape & w.COMMON for shape in words) or (
            not self.positions[i] & w.LOUD and all(shape & w.NAME for shape in words)
        )

    def _droppable(self, i: int) -> bool:
        """Whether the first word of a name is rather the text's own: "In London", "the Beatles".

        Within a sentence a capital shows that it is not: "episodes of The Simpsons".
        """
        shape, position = self.shapes[i], self.positions[i]
        if shape & w.UPPER and not position & w.LOUD:
            return False
        return bool(shape & w.LEAD and (position & w.FRESH or not shape & w.NAME))

    def _cut(self, i: int) -> bool:
        """Whether a word continues as an unknown name: "James Dean" does not mean a James."""
        j = i + 1
        texts, starts, ends = self.tokens.texts, self.tokens.starts, self.tokens.ends
        if self.positions[i] & w.HEADLINE or j == len(texts) or self.shapes[i] & w.UPPER:
            return False
        return (
            self.text[ends[i] : starts[j]] == " "
            and len(texts[j]) > 1
            and texts[j][0].isupper()
            and not self.shapes[j] & (w.UPPER | w.COMMON | w.DATE | w.TITLE)
        )


def _after_empty_line(text: str, tokens: Tokens) -> np.ndarray:
    """Return per token whether two line breaks or more, of any kind, stand before it."""
    starts, ends = np.frombuffer(tokens.starts, np.int64), np.frombuffer(tokens.ends, np.int64)
    found = np.zeros(len(tokens), np.uint8)
    for i in np.flatnonzero(starts[1:] - ends[:-1] > 1).tolist():
        found[i + 1] = len(f".{text[ends[i] : starts[i + 1]]}.".splitlines()) > 2
    return found
