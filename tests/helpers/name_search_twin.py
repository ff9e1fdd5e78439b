"""The slow twin of the name search: one token after the other, in plain Python."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from sgtb.core.records import Tokens
from sgtb.kb.layout import MAX_KEY
from sgtb.native import token_shape_bits as w

Spans = tuple[tuple[int, int], ...]

_RARE = 0.2
"""The least link probability of names that other signs speak against."""
_SEVERAL = 3
"""How many words at least make a line all in capitals a headline, and not a name."""
_TOKENS_A_WORD = 4
"""How many tokens a word may have on average: "J." has two, one in Devanagari has several."""
_PLAIN_WORDS = 2
"""How many lower-case words a name may have, besides those that link others."""
_QUOTED_WORDS = 3
"""How many words an unknown name may have between quotation marks."""
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
        headline = all(shape & w.LINK or not shape & w.SMALL for shape in words)
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
        words, plain, linked, comma, quoted = 0, 0, False, False, False
        ends = []
        for j in range(i, min(stop, i + _TOKENS_A_WORD * most)):
            shape, begins, ends_at = self.shapes[j], self.starts[j], self.ends[j]
            glued = begins == end
            if ends_at - start > MAX_KEY or (0 <= end < begins and _has_break(text[end:begins])):
                break
            if shape & w.WORD:
                words += not glued
                named = glued or shape & self.named
                plain += bool(shape & w.PLAIN and not named and not linked)
                name_like = named or shape & w.PLAIN
                if words > most or plain > _PLAIN_WORDS or not (name_like or shape & w.LINK):
                    break
                may_end = name_like and not comma and not quoted
                linked = shape & w.LINK > 0
            elif glued and quoted and shape & w.CLOSER:
                may_end = quoted = False
            elif not glued and not quoted and j > i and self.texts[j] in _QUOTES:
                may_end, quoted = False, True
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
            after, rare = -1, False
            if following is not None and following.first == i + 1:
                after = self._longest(following, answers)
                single = after == i + 1 and self.shapes[i] & w.NAME
                rare = single and answers[following.ends[0][1]] < _RARE
            if after >= last > i and self._droppable(attempt) and not rare:
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
                self._may_be_phrase(attempt, last, probability)
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
        return not attempt.headline or not probability < _RARE

    def _doubtful(self, attempt: Try) -> bool:
        """Whether a word's capital is explained by where it stands, or by the calendar."""
        shape = self.shapes[attempt.first]
        if shape & w.COMMON:
            return False
        if shape & w.DATE:
            return True
        weak = self.capitals and (attempt.fresh or attempt.headline)
        return weak and self.texts[attempt.first].lower() in self.small

    def _may_be_phrase(self, attempt: Try, last: int, probability: float) -> bool:
        """Whether several words that are a name are one here: "The Who", but not "to be"."""
        words = [s for s in self.shapes[attempt.first : last + 1] if s & w.WORD]
        if self.capitals and words[-1] & w.PLAIN:
            rare = probability < _RARE
            return not rare and any(s & w.NAME and not s & w.COMMON for s in words)
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

    def runs(self, first: int, stop: int) -> Iterator[tuple[int, int, bool]]:
        """Yield first and last token of what looks like a name, and whether a title precedes it."""
        i, titled = first, False
        while i < stop:
            if self._is_title(i, stop):
                i = self._after_word(i, stop)
                titled = self._beside(i, stop)
            elif not self._is_name_word(i) or self.shapes[i] & w.SUFFIX:
                i, titled = i + 1, False
            else:
                last, following = i, self._next_word(i, stop)
                while following is not None:
                    last = following
                    ended = self.shapes[last] & w.SUFFIX
                    following = None if ended else self._next_word(last, stop)
                yield i, last, titled
                i, titled = last + 1, False

    def _beside(self, j: int, stop: int) -> bool:
        """Whether a token follows the one before it with nothing or one character between."""
        if j >= stop:
            return False
        gap = self.text[self.ends[j - 1] : self.starts[j]]
        return len(gap) < 2 and gap != "\t" and len(f".{gap}.".splitlines()) == 1

    def _is_name_word(self, j: int) -> bool:
        shape = self.shapes[j]
        common = shape & w.COMMON and not shape & w.UPPER
        return bool(shape & w.CAPITAL and not shape & (w.DATE | w.ORDINARY) and not common)

    def _after_word(self, j: int, stop: int) -> int:
        dotted = self.shapes[j] & w.SHORT and j + 1 < stop and self.texts[j + 1] == "."
        return j + 2 if dotted and self._glued(j + 1) else j + 1

    def _is_title(self, j: int, stop: int) -> bool:
        shape = self.shapes[j]
        if not (self._is_name_word(j) and shape & (w.TITLE | w.ROLE)):
            return False
        k = self._after_word(j, stop)
        following = self.shapes[k] if self._beside(k, stop) and self._is_name_word(k) else 0
        if shape & w.MODIFIER:
            return following & (w.TITLE | w.ROLE) > 0
        return shape & w.ROLE > 0 or following > 0

    def _next_word(self, j: int, stop: int) -> int | None:
        """Return the next word of a name after its word j."""
        k = self._after_word(j, stop)
        if not self._beside(k, stop):
            return None
        if self.shapes[k] & w.SUFFIX:
            return k
        between = self._between(j, k, stop)
        if between is None or not all(self._beside(m, stop) for m in range(k, between + 1)):
            return None
        return (
            between if self._is_name_word(between) and not self._is_title(between, stop) else None
        )

    def _between(self, j: int, k: int, stop: int) -> int | None:
        """Return the token after whatever may stand between two words of a name."""
        if self.texts[k] in _QUOTES and not self._glued(k):
            words = k + 1
            while words < stop and self.shapes[words] & w.WORD:
                words += 1
            closed = words < stop and self.shapes[words] & w.CLOSER and self._glued(words)
            return words + 1 if closed and 1 <= words - k - 1 <= _QUOTED_WORDS else None
        if self.shapes[k] & w.PARTICLE:
            while k + 1 < stop and self.shapes[k] & w.PARTICLE:
                k += 1
        elif self.shapes[j] & w.HEAD and self.texts[k] == "of":
            k += 1 + (k + 1 < stop and self.shapes[k + 1] & w.THE > 0)
        elif self.texts[k] == "&":
            k += 1
        return k


def _has_break(gap: str) -> bool:
    """Whether there are two line breaks or more, of any kind, or a tab."""
    return len(f".{gap}.".splitlines()) > 2 or "\t" in gap
