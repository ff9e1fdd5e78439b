"""Name search: the token ranges of a text that may be names, known or unknown.

Unknown names are capitalised words that form one name which the knowledge base lacks. They are
mentions without candidates. A known name that is only a part of one is no mention: "Inter
Miami" means neither Inter Milan nor Miami."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from sgtb.core.records import Tokens
from sgtb.kb.layout import MAX_KEY
from sgtb.native import find_name_ranges, find_name_runs
from sgtb.native import token_shape_bits as w
from sgtb.text.normalization import spells

Range = tuple[int, int]  # first and last token of a name
Ranges = list[Range]
ListedNames = list[tuple[int, int, float]]
"""First and last token and link probability of names; NaN: links were not counted."""
Ends = list[tuple[int, float]]

_BREAKS = re.compile("\t|\r\n|[\n\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029]")  # as in `str.splitlines`
RARE = 0.2
"""The least link probability of single words in headlines, of names with lower-case words other
than particles, and of single words that a capitalised article is separated from."""
_SMALL_WORDS = 3  # words of a name in lower case
_TOKENS_A_WORD = 4
"""How many tokens a word may have on average: "J." has two, one in Devanagari has several."""


class NameRun(NamedTuple):
    """First and last token of a range that looks like one name; whether it follows a title."""

    first: int
    last: int
    titled: bool


class NameSearch:
    """A text in which names are searched.

    sentences  first token and the one after the last of each
    capitals   names without a capital, a digit or a script without case are left out

    ranges     token ranges that may be names, ordered by `first`, then by `last`, which is included
    """

    def __init__(
        self,
        text: str,
        tokens: Tokens,
        sentences: Sequence[tuple[int, int]],
        shape_of: Mapping[str, int],
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
        first, last = np.empty((2, n * max_tokens), np.int32)
        self._page = SimpleNamespace(
            shapes=shapes,
            starts=tokens.starts,
            ends=tokens.ends,
            after_break=_after_break(text, tokens),
        )
        self.lines = np.array(sentences, np.int64).reshape(-1, 2)
        limits = SimpleNamespace(
            named=named, max_words=min(max_words, n), max_tokens=max_tokens, max_length=MAX_KEY
        )
        out = SimpleNamespace(first=first, last=last)
        n_found = find_name_ranges(self._page, self.lines, limits, positions, out)
        self.shapes, self.positions = shapes.tolist(), positions.tolist()
        self.shape_array, self.position_array = shapes, positions
        self.ranges = SimpleNamespace(first=first[:n_found], last=last[:n_found])
        self.words = frozenset(tokens.texts)

    def runs(self) -> list[NameRun]:
        """Return the token ranges that look like one name, known or not, in order."""
        first, last = np.empty((2, len(self.shapes)), np.int32)
        titled = np.zeros(len(self.shapes), np.uint8)
        out = SimpleNamespace(first=first, last=last, titled=titled)
        n = find_name_runs(self._page, self.lines, out)
        return [*map(NameRun, *(column[:n].tolist() for column in (first, last, titled)))]

    def names(self) -> list[str]:
        """Return the text of each range that may be a name."""
        starts = np.frombuffer(self.tokens.starts, np.int64)[self.ranges.first]
        ends = np.frombuffer(self.tokens.ends, np.int64)[self.ranges.last]
        return [self.text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]

    def small_ranges(self) -> Ranges:
        """Return the ranges of one to three lower-case words that are no function words.

        Words are separated by one character.
        """
        starts = np.frombuffer(self.tokens.starts, np.int64)
        ends = np.frombuffer(self.tokens.ends, np.int64)
        plain = self._page.shapes & w.PLAIN > 0
        joined = np.append(plain[:-1] & plain[1:] & (starts[1:] == ends[:-1] + 1), False)
        found: Ranges = []
        first = last = np.flatnonzero(plain)
        for _ in range(_SMALL_WORDS):
            found += zip(first.tolist(), last.tolist(), strict=True)
            longer = joined[last]
            first, last = first[longer], last[longer] + 1
        return found

    def texts_of(self, ranges: Ranges) -> list[str]:
        """Return the text of some ranges."""
        starts, ends = self.tokens.starts, self.tokens.ends
        return [self.text[starts[first] : ends[last]] for first, last in ranges]

    def listed(self, probabilities: Sequence[float | None]) -> ListedNames:
        """Return the ranges that are names, given the link probability of each; None: no name."""
        first, last = self.ranges.first.tolist(), self.ranges.last.tolist()
        ranges = zip(first, last, probabilities, strict=True)
        return [(i, j, p) for i, j, p in ranges if p is not None]

    def choose(self, listed: ListedNames) -> Ranges:
        """Return first and last token of the mentions, from the ranges that are names."""
        texts = self.tokens.texts
        known: dict[int, Ends] = {}  # by first token: last token and probability, shortest first
        for i, last, probability in listed:
            known.setdefault(i, []).append((last, probability))
        chosen: Ranges = []
        doubtful: list[int] = []
        free = 0
        for i, ends in known.items():
            if i < free:
                continue
            last, _ = self._longest(i, ends)
            if last < 0:
                if ends[0][0] == i and self.doubtful(i):
                    doubtful.append(i)
                continue
            if last > i and self._droppable(i):
                after, probability = self._longest(i + 1, known.get(i + 1, []))
                rare = after == i + 1 and probability < RARE and self.shapes[i] & w.NAME
                if after >= last and not rare:  # but The Hague
                    continue
            chosen.append((i, last))
            free = last + 1
        # A word that is part of a longer name is a name by itself: "Brian May" makes "May" one.
        parts = {text for i, last in chosen if last > i for text in texts[i : last + 1]}
        return sorted(chosen + [(i, i) for i in doubtful if texts[i] in parts])

    def _longest(self, i: int, ends: Ends) -> tuple[int, float]:
        """Return the longest mention that begins with token i: last token or -1, probability."""
        for last, probability in reversed(ends):
            may_be = self._may_be_phrase if last > i else self._may_be_word
            if may_be(i, last, probability):
                return last, probability
        return -1, 0.0

    def _may_be_word(self, i: int, _: int, probability: float) -> bool:
        """Whether a single word that is a name is one here."""
        position = self.positions[i]
        if self.shapes[i] & w.COMMON:  # US, but neither It nor us
            return bool(self.shapes[i] & w.UPPER and not position & w.LOUD)
        rare = probability < RARE
        return not self.doubtful(i) and not (rare and position & w.HEADLINE)

    def doubtful(self, i: int) -> bool:
        """Whether a word's capital is explained by its position, or by the calendar."""
        shape = self.shapes[i]
        if shape & (w.COMMON | w.DATE):
            return not shape & w.COMMON
        if not (self.capitals and self.positions[i] & (w.FRESH | w.HEADLINE)):
            return False
        lower = self.tokens.texts[i].lower()
        return lower in self.words and bool(self.shape_of[lower] & w.SMALL)

    def _may_be_phrase(self, i: int, last: int, probability: float) -> bool:
        """Whether several words that are a name are one here: "The Who", but not "to be"."""
        words = [shape for shape in self.shapes[i : last + 1] if shape & w.WORD]
        if self.capitals and words[-1] & w.PLAIN:  # "Delta team", but not "The police"
            capital = any(shape & w.NAME and not shape & w.COMMON for shape in words)
            return capital and not probability < RARE
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


def _after_break(text: str, tokens: Tokens) -> bytearray:
    """Return per token whether a line break, and an empty line or a tab, stand before it."""
    found = bytearray(len(tokens))
    for sign in _BREAKS.finditer(text):
        i = bisect_right(tokens.starts, sign.start())
        if i < len(tokens):
            wide = sign[0] == "\t" or found[i] & w.LINE
            found[i] |= w.WIDE if wide else w.LINE
    return found


# Unknown names: names that the knowledge base lacks.


MAX_WORDS = 8  # longer sequences of capitalised words are no names
_HEADLINE_WORDS = 3
"""Words of an unknown name between signs in a line without lower-case words: a table cell."""
_LONGEST_ACRONYM = 10
_GOVERNMENTS = frozenset(
    "City Commonwealth County Duchy Emirate Government Kingdom Municipality Principality Province "
    "Republic State Sultanate Town Village".split()
)
"""Words that mean the place that "of" joins to them."""


class UnknownNames:
    """The unknown names of a text, given its known ones.

    known    ranges of the known names that are mentions, in order
    unknown  ranges of the others, in order
    """

    def __init__(self, search: NameSearch, known: Ranges) -> None:
        self._search, self._shapes = search, search.shapes
        self._texts = search.tokens.texts
        runs = search.runs()
        self.known: Ranges = known
        self.unknown: Ranges = []
        # A single word is an unknown name only after a title.
        several = [run for run in runs if run.titled or run.last > run.first]
        dropped = {part for run in several for part in self._resolve(run)}
        self.known = [one for one in known if one not in dropped]
        self._add_short_forms(runs)
        self._add_abbreviations()

    def _resolve(self, run: NameRun) -> Ranges:
        """Add a run to the unknown names if it is one; return the known names within it."""
        search, shapes = self._search, self._shapes
        first, last, titled = run
        begin = bisect_left(self.known, (first, -1))
        inside = self.known[begin : bisect_left(self.known, (last + 1, -1))]
        before = begin and self.known[begin - 1][1] >= first
        if before or (inside and inside[-1][1] > last) or search.positions[first] & w.LOUD:
            return []  # a known name reaches beyond it, or capitals say nothing
        if last > first and search.positions[first] & w.FRESH and search.doubtful(first):
            first = self._next_name(first, last)
            if inside and inside[0][0] < first:
                return []
        while inside and inside[0] == (first, first) and last > first and shapes[first] & w.UPPER:
            # US Marines, NATO Summit: what follows an acronym is another name.
            first, titled, inside = self._next_name(first, last), False, inside[1:]
        words = sum(shape & w.CAPITAL > 0 for shape in shapes[first : last + 1])
        if not self._is_name(first, last, words, titled, bool(inside)):
            return []
        if inside and self._is_governed(inside[-1], last):
            return inside[:-1]
        if inside and self._explained(inside, first, last):
            return []
        self.unknown.append((first, last))
        return inside

    def _next_name(self, i: int, last: int) -> int:
        return next(j for j in range(i + 1, last + 1) if j == last or self._shapes[j] & w.CAPITAL)

    def _is_name(self, first: int, last: int, words: int, titled: bool, parts: bool) -> bool:
        """Whether a run may be an unknown name."""
        if not (words > 1 or (titled and not parts)) or words > MAX_WORDS:
            return False
        if len(self._texts[last]) == 1:  # Group A
            return False
        if not self._search.positions[first] & w.HEADLINE:
            return True
        beside = (first - 1, last + 1)
        alone = not any(0 <= i < len(self._texts) and self._has_letters(i) for i in beside)
        return alone and words <= _HEADLINE_WORDS - parts

    def _has_letters(self, i: int) -> bool:
        return bool(self._shapes[i] & w.WORD) and not self._texts[i][0].isdigit()

    def _is_governed(self, name: Range, last: int) -> bool:
        """Whether a run is a place with its government: "State of Delaware"."""
        begin, end = name
        joined = end == last and begin > 1 and self._shapes[begin - 1] & w.OF > 0
        return joined and self._texts[begin - 2] in _GOVERNMENTS

    def _explained(self, inside: Ranges, first: int, last: int) -> bool:
        """Whether known names explain a run: a full name at its end, or all but a suffix."""
        begin, end = inside[-1]
        rest = self._shapes[end + 1 : last + 1]
        if not rest:
            return end > begin
        return begin == first and all(shape & (w.SUFFIX | w.PERIOD) for shape in rest)

    def _add_short_forms(self, runs: Sequence[NameRun]) -> None:
        """Add single words that are family names of unknown names."""
        surnames = set()
        for first, last in self.unknown:
            shapes = self._shapes[first : last + 1]
            if last > first and not any(shape & (w.HEAD | w.SUFFIX) for shape in shapes):
                surnames.add(self._texts[last])
        if surnames:
            self._add(
                (first, last)
                for first, last, _ in runs
                if first == last
                and self._texts[first] in surnames
                and not (first and self._shapes[first - 1] & w.THE)
            )

    def _add_abbreviations(self) -> None:
        """Add abbreviations that the text defines: "Delta Relief Fund (DRF)", or the other way."""
        texts = self._texts
        if "(" not in self._search.words:
            return
        places = (i for i, text in enumerate(texts) if text == "(" and 0 < i < len(texts) - 2)
        defined = {text for i in places for text in self._defined(i)}
        if defined:
            self._add((i, i) for i, text in enumerate(texts) if text in defined)

    def _defined(self, i: int) -> Iterator[str]:
        """Yield the abbreviation that is defined at an opening bracket."""
        texts = self._texts
        for ranges in (self.known, self.unknown):
            at = bisect_left(ranges, (i, -1))
            before = ranges[at - 1] if at and ranges[at - 1][1] == i - 1 else None
            after = ranges[at] if at < len(ranges) and ranges[at][0] == i + 1 else None
            if before and texts[i + 2] == ")" and self._abbreviates(texts[i + 1], before):
                yield texts[i + 1]
            closed = after and after[1] + 1 < len(texts) and texts[after[1] + 1] == ")"
            if after and closed and self._abbreviates(texts[i - 1], after):
                yield texts[i - 1]

    def _abbreviates(self, text: str, name: Range) -> bool:
        capitals = sum(c.isupper() for c in text)
        if capitals < 2 or len(text) > _LONGEST_ACRONYM or name[0] == name[1]:
            return False
        words = (word for word in self._texts[name[0] : name[1] + 1] if word[0].isalnum())
        return spells(text.replace(".", "").lower(), " ".join(words).lower())

    def _add(self, ranges: Iterator[Range]) -> None:
        """Add ranges that overlap no mention."""
        taken = {i for a, b in (*self.known, *self.unknown) for i in range(a, b + 1)}
        self.unknown += [one for one in ranges if taken.isdisjoint(range(one[0], one[1] + 1))]
        self.unknown.sort()
