"""Mentions: names of the knowledge base found in a text, and spans given by a caller checked.

Names are found token by token, so in scripts that put no space between words only what stands
between other signs is. Spans are code points of the text as it was given.
"""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from sgtb.core.errors import RequestError
from sgtb.core.records import Mention, Tokens
from sgtb.kb import KnowledgeBase
from sgtb.linking.links import Span
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.linking.mentions.name_search import NameSearch, Shapes
from sgtb.text.normalization import normal_name
from sgtb.text.tokenization import touched_tokens

_REMEMBERED = 1 << 16
"""How many strings a finder knows the answer for before it starts anew: some 10 MB."""
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s)")
_SEEN = re.compile(r"[^\s\ufeff\u200b]")  # as `tokenize` sees it


class NameFinder:
    """Finds the names of a knowledge base in texts, and remembers what it looked up."""

    def __init__(self, kb: KnowledgeBase, settings: MentionSettings | None = None) -> None:
        self.kb = kb
        self.settings = settings or MentionSettings()
        self._shapes = Shapes()
        self.forget()

    def forget(self) -> None:
        """Look up everything again; done by itself when the knowledge base was refreshed."""
        self._state = self.kb.state
        self._known: dict[str, float | None] = {}

    def find(
        self, text: str, tokens: Tokens, sentences: Sequence[tuple[int, int]]
    ) -> tuple[Mention, ...]:
        """Return the mentions, in order, none within another.

        Of names that overlap the one that begins first is taken, of those the longest; without
        the article before it, if that is a name too.
        """
        if self.kb.state is not self._state:
            self.forget()
        if not tokens:
            return ()
        search = NameSearch(
            text,
            tokens,
            sentences,
            self._shapes,
            capitals=self.settings.capitals,
            max_words=self.settings.max_words,
        )
        found = search.choose(self._probabilities(search.names()))
        places = ((tokens.starts[i], tokens.ends[last], i, last + 1) for i, last in found)
        return tuple(Mention(*place, text=text[place[0] : place[1]]) for place in places)

    def _probabilities(self, names: Sequence[str]) -> list[float | None]:
        """Return the link probability of each usable name; NaN: not counted; None: not usable."""
        known = self._known  # this very one: another thread may forget meanwhile
        if len(known) > _REMEMBERED:
            self._known = known = {}
        new = [*{*names}.difference(known)]
        if new:
            heads = self.kb.name_heads(new)
            counts = zip(new, *(column.tolist() for column in heads), strict=True)
            known.update((name, self._usable(name, *head)) for name, *head in counts)
        return [known[name] for name in names]

    def _usable(self, name: str, known: bool, linked: int, pages: int) -> float | None:
        if not known:
            return None
        normal = normal_name(name)
        if len(normal) < self.settings.min_characters or _is_number(normal):
            return None
        probability = linked / pages if pages else math.nan
        return None if probability < self.settings.min_link_probability else probability


def _is_number(normal: str) -> bool:
    """Whether a name says nothing but how many or which: "7 4", "1990s"."""
    return all(
        _ORDINAL.fullmatch(word) or not any(c.isalpha() for c in word) for word in normal.split()
    )


def checked_spans(text: str, spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return the spans in the order of the text; a RequestError if one cannot be a mention."""
    for span in spans:
        _check_span(text, span)
    ordered = tuple(sorted(spans, key=lambda span: (span.start, span.end)))
    for one, other in pairwise(ordered):
        if other.start < one.end:
            raise RequestError(
                f"the spans {one.start} to {one.end} and {other.start} to {other.end} overlap; "
                "leave one of them out"
            )
    return ordered


def _check_span(text: str, span: Span) -> None:
    for key, value in (("start", span.start), ("end", span.end)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise RequestError(
                f"the {key} of a span is {value!r}; it must be a whole number of code points"
            )
    where = f"the span {span.start} to {span.end} of a text of {len(text)} code points"
    if not 0 <= span.start < span.end <= len(text):
        raise RequestError(
            f"{where}: start and end must be 0 <= start < end <= {len(text)}; count code points, "
            "not bytes or UTF-16 units"
        )
    if _SEEN.search(text, span.start, span.end) is None:
        raise RequestError(f"{where} is only white space; give the place of a name")


def token_range(tokens: Tokens, start: int, end: int) -> tuple[int, int]:
    """Return the first token that a span touches and the one after the last; there must be one."""
    first, stop = touched_tokens(tokens, start, end)
    if first == stop:
        raise RequestError(
            f"the span {start} to {end} touches no word or sign; give the place of a name"
        )
    return first, stop
