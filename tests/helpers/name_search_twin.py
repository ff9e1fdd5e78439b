"""The slow twin of the name search: one token after the other, in plain Python."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from sgtb.core.records import Tokens
from sgtb.kb.layout import MAX_KEY
from sgtb.native import token_shape_bits as w

Spans = tuple[tuple[int, int], ...]

_LOUD_PROBABILITY = 0.2
"""The least link probability of a single word among words that are all in capitals."""
_SEVERAL = 3
"""How many words at least make a line all in capitals a headline, and not a name."""
_TOKENS_A_WORD = 4
"""How many tokens a word may have on average: "J." has two, one in Devanagari has several."""
_QUOTES = frozenset('"“„«‘')


class Try(NamedTuple):
    """A token that a name may begin with, and all that may be one from there on.

    fresh     it begins a sentence or a quotation, and would have a capital anyway
    headline  all words around have capitals
    loud      all letters around are capitals
    ends      last token and text of each possible name, shortest first
    """

    first: int
    fresh: bool
    headline: bool
    loud: bool
    ends: list[tuple[int, str]]


class SlowNameSearch:
    """A text while names are looked for in it."""

    def __init__(
        self,
        text: str,
        tokens: Tokens,
        shapes: list[int],
        *,
        capitals: bool,
        max_words: int,
    ) -> None:
        self.text = text
        self.texts, self.starts, self.ends = tokens.texts, tokens.starts, tokens.ends
        self.shapes = shapes
        self.capitals = capitals
        self.max_words = max_words
        self.named = w.NAME if capitals else w.NAME | w.PLAIN
        self.small = {
            word for word, shape in zip(tokens.texts, shapes, strict=True) if shape & w.SMALL
        }

    def tries(self, first: int, stop: int) -> Iterator[Try]:
        """Yield the places of a sentence where a name may begin."""
        words = [shape for shape in self.shapes[first:stop] if shape & w.WORD]
        headline = not any(shape & w.PLAIN for shape in words)
        loud = sum(shape & w.UPPER > 0 for shape in words) >= _SEVERAL and not any(
            shape & w.SMALL for shape in words
        )
        fresh = True  # nothing but signs since the sentence began
        for i in range(first, stop):
            shape = self.shapes[i]
            if not shape & w.WORD:
                fresh = fresh or self.texts[i] in _QUOTES
                continue
            if self._may_start(i, first, stop):
                yield Try(i, fresh, headline, loud, self._ends(i, stop))
            fresh = False

    def _may_start(self, i: int, first: int, stop: int) -> bool:
        shape = self.shapes[i]
        if i > first and self.shapes[i - 1] & w.MARK and self._glued(i):
            return False  # in the middle of a word
        if shape & self.named:
            return True
        following = self.shapes[i + 1] if i + 1 < stop else 0
        return bool(
            (shape & (w.THE | w.PARTICLE) and following & self.named)
            or (shape & w.PARTICLE and following & w.PARTICLE)  # van der Sar
        )

    def _ends(self, i: int, stop: int) -> list[tuple[int, str]]:
        """Return the last token and the text of whatever from token i on may be a name."""
        text, most = self.text, self.max_words
        start, end = self.starts[i], -1
        words, linked, comma = 0, False, False
        ends = []
        for j in range(i, min(stop, i + _TOKENS_A_WORD * most)):
            shape, begins, ends_at = self.shapes[j], self.starts[j], self.ends[j]
            glued = begins == end
            if ends_at - start > MAX_KEY or (
                0 <= end < begins - 1 and _has_empty_line(text[end:begins])
            ):
                break
            if shape & w.WORD:
                words += not glued
                name_like = glued or shape & self.named or (linked and shape & w.PLAIN)
                if words > most or not (name_like or shape & w.LINK):
                    break
                may_end = name_like and not comma
                linked = shape & w.LINK > 0
            elif glued and shape & (w.INNER | w.MARK):
                may_end = shape & w.MARK > 0
            elif shape & w.FREE:
                may_end = False
            else:
                break
            if may_end and not self._goes_on(j, stop):
                ends.append((j, text[start:ends_at]))
            comma = (comma or shape & w.COMMA > 0) and not shape & (w.LINK | w.FREE)
            end = ends_at
        return ends

    def _glued(self, i: int) -> bool:
        return self.ends[i - 1] == self.starts[i]

    def _goes_on(self, j: int, stop: int) -> bool:
        """Whether the word of token j goes on with the next one."""
        if j + 1 == stop:
            return False
        one, other = self.shapes[j], self.shapes[j + 1]
        return bool(other & w.MARK or (one & w.MARK and other & w.WORD)) and self._glued(j + 1)

    def choose(self, tries: list[Try], answers: dict[str, float]) -> Spans:
        """Return the mentions among all tries."""
        chosen: list[tuple[int, int]] = []
        doubtful: list[int] = []
        free = 0
        for attempt, following in zip_longest(tries, tries[1:]):
            i = attempt.first
            if i < free:
                continue
            last = self._longest(attempt, answers)
            if last < 0:
                if attempt.ends and attempt.ends[0][1] in answers and self._doubtful(attempt):
                    doubtful.append(i)
                continue
            after = -1
            if following is not None and following.first == i + 1:
                after = self._longest(following, answers)
            if after >= last > i and self._droppable(attempt):
                continue
            if after < 0 and last == i and self._cut(attempt):
                continue
            chosen.append((i, last))
            free = last + 1
        # A word that is part of a longer name is a name by itself: "Brian May" makes "May" one.
        parts = {text for i, last in chosen if last > i for text in self.texts[i : last + 1]}
        chosen += [(i, i) for i in doubtful if self.texts[i] in parts]
        return tuple((self.starts[i], self.ends[last]) for i, last in sorted(chosen))

    def _longest(self, attempt: Try, answers: dict[str, float]) -> int:
        """Return the last token of the longest mention; -1: there is none."""
        for last, name in reversed(attempt.ends):
            probability = answers.get(name)
            if probability is not None and (
                self._may_be_phrase(attempt, last)
                if last > attempt.first
                else self._may_be_word(attempt, probability)
            ):
                return last
        return -1

    def _may_be_word(self, attempt: Try, probability: float) -> bool:
        """Whether a single word that is a name is one here."""
        shape = self.shapes[attempt.first]
        if shape & w.COMMON:
            return bool(shape & w.UPPER) and not attempt.loud  # US, but neither It nor us
        if self._doubtful(attempt):
            return False
        return not attempt.loud or not probability < _LOUD_PROBABILITY

    def _doubtful(self, attempt: Try) -> bool:
        """Whether a word's capital is explained by where it stands, or by the calendar."""
        shape = self.shapes[attempt.first]
        if shape & w.COMMON:
            return False
        if shape & w.DATE:
            return True
        weak = self.capitals and (attempt.fresh or attempt.headline)
        return weak and self.texts[attempt.first].lower() in self.small

    def _may_be_phrase(self, attempt: Try, last: int) -> bool:
        """Whether several words that are a name are one here: "The Who", but not "to be"."""
        words = [s for s in self.shapes[attempt.first : last + 1] if s & w.WORD]
        return any(not s & w.COMMON for s in words) or (
            not attempt.loud and all(s & w.NAME for s in words)
        )

    def _droppable(self, attempt: Try) -> bool:
        """Whether the first word of a name is rather the text's own: "In London", "the Beatles".

        Within a sentence the capital says that it is not: "episodes of The Simpsons".
        """
        shape = self.shapes[attempt.first]
        if shape & w.UPPER and not attempt.loud:
            return False
        return bool(shape & w.LEAD) and (attempt.fresh or not shape & w.NAME)

    def _cut(self, attempt: Try) -> bool:
        """Whether a word goes on as a name nobody knows: "James Dean" does not mean a James."""
        i, j = attempt.first, attempt.first + 1
        if attempt.headline or j == len(self.texts) or self.shapes[i] & w.UPPER:
            return False
        following = self.texts[j]
        return (
            self.text[self.ends[i] : self.starts[j]] == " "
            and len(following) > 1
            and following[0].isupper()
            and not self.shapes[j] & (w.UPPER | w.COMMON | w.DATE | w.TITLE)
        )


def _has_empty_line(gap: str) -> bool:
    """Whether there are two line breaks or more, of any kind."""
    return len(f".{gap}.".splitlines()) > 2
