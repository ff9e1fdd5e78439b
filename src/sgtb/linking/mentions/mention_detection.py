"""Mentions: known and unknown names found in a text, and spans given by a caller checked.

Names are found token by token, so in scripts that put no space between words only what stands
between other signs is. Spans are code points of the text as it was given.
"""

import math
import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import compress, pairwise, repeat
from operator import not_
from typing import Any

from sgtb.core.byte_cache import ByteCache
from sgtb.core.errors import RequestError
from sgtb.core.records import Mention, Tokens, from_columns
from sgtb.kb import KnowledgeBase
from sgtb.linking.links import Span
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.linking.mentions.mention_tagger import (
    Hashes,
    MentionTagger,
    RuleMentions,
    mention_clues,
    token_hashes,
)
from sgtb.linking.mentions.name_search import RARE, NameSearch, Ranges, UnknownNames
from sgtb.linking.mentions.token_shapes import shape_of
from sgtb.native import token_shape_bits as w
from sgtb.text.normalization import normal_name
from sgtb.text.tokenization import touched_tokens

_BUDGET = 6 << 20  # size limit of a cache in bytes; it is emptied when full
_SMALL_BUDGET = 2 << 20  # the same for names in lower case
VARIANT_PROBABILITY = 0.1
"""The link probability of names that are only variants, where it was not counted."""
_LISTED_CANDIDATES = 8  # candidates of a name whose spelling is compared
_TAG_WORDS = re.compile(r"[^\W\d_][^\W\d_A-Z]*(?:(?<=[A-Z])[A-Z]+(?![a-z]))?|\d+")
_SHORT_WORD = re.compile(r"[A-Z][a-z]{1,2}")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s)")
_SEEN = re.compile(r"[^\s\ufeff\u200b]")  # as `tokenize` sees it


class NameFinder:
    """Finds the names of a knowledge base in texts, with a cache of look-ups."""

    def __init__(
        self,
        kb: KnowledgeBase,
        settings: MentionSettings | None = None,
        tagger: MentionTagger | None = None,
    ) -> None:
        self.kb, self.tagger = kb, tagger
        self.settings = settings or MentionSettings()
        self._shapes = ByteCache("token shapes", _BUDGET, shape_of)
        self._hashes = ByteCache("token hashes", _BUDGET, token_hashes)
        self.forget()

    def forget(self) -> None:
        """Look up everything again; done by itself when the knowledge base was refreshed."""
        self._state = self.kb.state
        self._known: ByteCache[str, float | None] = ByteCache("link probabilities", _BUDGET)
        look_up = partial(_is_small, self.kb)
        self._small = ByteCache("lower-case names", _SMALL_BUDGET, look_up)

    def find(
        self, text: str, tokens: Tokens, sentences: Sequence[tuple[int, int]]
    ) -> tuple[Mention, ...]:
        """Return the mentions, in order, none within another.

        Of known names that overlap the one that begins first is taken, of those the longest;
        without the article before it, if that is a name too. Capitalised words that form a longer,
        unknown name are one mention instead. Names in lower case are found if the knowledge base
        writes them so. A tagger decides otherwise where it was trained to.
        """
        if not tokens:
            return ()
        rules = self.apply_rules(text, tokens, sentences)
        known, unknown = rules.known, rules.unknown
        if self.settings.capitals:
            if self.tagger is not None:
                known, unknown = self._tagged(self.tagger, rules)
            else:
                known = [*known, *self._small_names(rules.search, [*known, *unknown])]
        found = [*known, *unknown] if self.settings.unknown_names else known
        mentions = self._mentions(rules.search, found) | self._tags(rules.search)
        return tuple(mentions[first] for first in sorted(mentions))

    def apply_rules(
        self, text: str, tokens: Tokens, sentences: Sequence[tuple[int, int]]
    ) -> RuleMentions:
        """Find known and unknown names by rules."""
        if self.kb.state is not self._state:
            self.forget()
        search = NameSearch(
            text,
            tokens,
            sentences,
            self._shapes,
            capitals=self.settings.capitals,
            max_words=self.settings.max_words,
        )
        listed = search.listed(self._probabilities(search.names()))
        names = UnknownNames(search, search.choose(listed))
        return RuleMentions(search, names.known, names.unknown, listed)

    def clues(self, rules: RuleMentions) -> Hashes:
        """Return the clues of a tagger for every token of a text."""
        return mention_clues(rules, self._hashes)

    def _tagged(self, tagger: MentionTagger, rules: RuleMentions) -> tuple[Ranges, Ranges]:
        """Return the known and the unknown names that a tagger finds."""
        found = tagger.ranges(rules, self._hashes)
        names = rules.search.texts_of(found)
        usable = [probability is not None for probability in self._probabilities(names)]
        return [*compress(found, usable)], [*compress(found, map(not_, usable))]

    def _small_names(self, search: NameSearch, taken: Ranges) -> Ranges:
        """Return the names in lower case that overlap no mention; the longest first."""
        ranges = search.small_ranges()
        names = search.texts_of(ranges)
        usable = [
            probability is not None and not probability < RARE and self._small[name]
            for name, probability in zip(names, self._probabilities(names), strict=True)
        ]
        used = {i for first, last in taken for i in range(first, last + 1)}
        found: Ranges = []
        for first, last in sorted(compress(ranges, usable), key=lambda r: (r[0] - r[1], r)):
            if used.isdisjoint(range(first, last + 1)):
                used.update(range(first, last + 1))
                found.append((first, last))
        return found

    def _mentions(self, search: NameSearch, ranges: Ranges) -> dict[int, Mention]:
        """Return the mentions of token ranges, by token; with the full stop of a suffix: "Jr."."""
        tokens, text = search.tokens, search.text
        first, last = [one for one, _ in ranges], [one for _, one in ranges]
        for k, i in enumerate(last):
            if search.shapes[i] & w.SUFFIX and i + 2 < len(tokens):
                last[k] += tokens.texts[i + 1] == "." and not search.positions[i + 2] & w.FRESH
        starts, ends = [tokens.starts[i] for i in first], [tokens.ends[i] for i in last]
        columns: dict[str, Iterable[Any]] = {
            "start": starts, "end": ends, "first": first, "stop": [i + 1 for i in last],
            "text": [text[a:b] for a, b in zip(starts, ends, strict=True)],
            **dict.fromkeys(("gold", "title", "type", "candidates"), repeat(None)),
        }  # fmt: skip
        return dict(zip(first, from_columns(Mention, len(first), columns), strict=True))

    def _tags(self, search: NameSearch) -> dict[int, Mention]:
        """Return hashtags and handles that are known names, by token; their text has spaces."""
        tokens, text = search.tokens, search.text
        if search.words.isdisjoint("#@"):
            return {}
        marks = [i for i, token in enumerate(tokens.texts) if token in ("#", "@")]
        words = {i + 1: _tag_name(text, tokens, i) for i in marks}
        spelt = {i: name for i, name in words.items() if name}
        known = zip(spelt, self._probabilities([*spelt.values()]), strict=True)
        return {
            i: Mention(tokens.starts[i], tokens.ends[i], i, i + 1, spelt[i])
            for i, probability in known
            if probability is not None
        }

    def _probabilities(self, names: Sequence[str]) -> list[float | None]:
        """Return the link probability of each usable name; NaN: not counted; None: not usable."""
        known = self._known  # this very one: another thread may forget meanwhile
        if known.is_full:
            self._known = known = ByteCache("link probabilities", _BUDGET)
        try:
            return [*map(known.__getitem__, names)]
        except KeyError:
            new = [name for name in {*names} if name not in known]
        heads = self.kb.name_heads(new)
        read: dict[str, float | None] = dict.fromkeys(new)  # most are unknown
        (found,) = heads.known.nonzero()
        counts = (column[found].tolist() for column in (heads.linked, heads.pages, heads.variant))
        for i, *head in zip(found.tolist(), *counts, strict=True):
            read[new[i]] = self._usable(new[i], *head)
        known.keep_plain(read)
        return [*map(known.__getitem__, names)]

    def _usable(self, name: str, linked: int, pages: int, variant: bool) -> float | None:
        normal = normal_name(name)
        if len(normal) < self.settings.min_characters or _is_number(normal):
            return None
        if self.settings.capitals and _SHORT_WORD.fullmatch(name) and _is_acronym(self.kb, name):
            return None
        unknown = VARIANT_PROBABILITY if variant else math.nan
        probability = linked / pages if pages else unknown
        return None if probability < self.settings.min_link_probability else probability


def _is_small(kb: KnowledgeBase, name: str) -> bool:
    """Whether an entity has a name in lower case: its title, or with several words any name.

    Titles begin with a capital: of one with lower-case words only after it, the first word is
    one, too ("Yellow fever"); a single word must be listed in lower case as well.
    """
    several = " " in name
    for number in kb.candidate_lists([name], _LISTED_CANDIDATES).entity.tolist():
        title = kb.title_of(number)
        if several and title[1:] == name[1:]:
            return True
        if (several or title.lower() == name) and kb.has_spelling(number, name):
            return True
    return False


def _is_acronym(kb: KnowledgeBase, name: str) -> bool:
    """Whether entities have a name in capitals only: "Arm" is not ARM, and "Ms" not MS."""
    numbers = kb.candidate_lists([name], _LISTED_CANDIDATES).entity.tolist()
    capitals = name.upper()
    return any(kb.has_spelling(number, capitals) for number in numbers) and not any(
        kb.has_spelling(number, name) for number in numbers
    )


def _tag_name(text: str, tokens: Tokens, mark: int) -> str:
    """Return the words of the hashtag or handle after a mark; empty: there is none."""
    start, following = tokens.starts[mark], mark + 1
    if following == len(tokens) or tokens.starts[following] != tokens.ends[mark]:
        return ""
    if start and text[start - 1].isalnum():  # an address
        return ""
    words = _TAG_WORDS.findall(tokens.texts[following].replace("_", " "))
    return " ".join(words) if len(words) > 1 else ""


def _is_number(normal: str) -> bool:
    """Whether a name consists of numbers only: "7 4", "1990s"."""
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
