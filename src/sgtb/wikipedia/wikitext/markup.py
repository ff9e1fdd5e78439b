"""Wikitext: the plain text and the links of a page, from its MediaWiki markup.

    >>> page = extract("'''Ants''' are [[eusocial]] [[insect]]s.{{cn}}", frozenset())
    >>> page.text
    'Ants are eusocial insects.'
    >>> page.links[1].target, page.links[1].anchor
    ('insect', 'insects')

Templates are not expanded, since their pages may not be at hand: what they show is not in the
text, but the links in their arguments are reported. Any input gives a result, in time linear in
its length.
"""

from collections import deque
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from html.entities import html5
from itertools import repeat
from typing import Any

from sgtb.native import (
    HIDDEN,
    IN_CAPTION,
    IN_LIST,
    IN_REF,
    IN_TABLE,
    IN_TEMPLATE,
    Lexicon,
    read_wikitext,
)

__all__ = [
    "HIDDEN",
    "IN_CAPTION",
    "IN_LIST",
    "IN_REF",
    "IN_TABLE",
    "IN_TEMPLATE",
    "Extract",
    "WikiLink",
    "extract",
]


@dataclass(frozen=True, slots=True)
class WikiLink:
    """A link of a page to another, wherever it stands."""

    target: str
    """As written before the first bar, with #section, leading colon and namespace; character
    references are decoded, comments left out, white space is single."""
    anchor: str
    """The text shown, trail included; empty where nothing is shown."""
    start: int
    """Where the anchor begins in the text, in code points; -1 if the text does not hold it."""
    end: int
    line: int
    """The line of the text it stands in, or would stand in."""
    flags: int
    """Where it stands: IN_TEMPLATE, IN_REF, ... ; HIDDEN: it shows nothing, as File: does."""


@dataclass(frozen=True, slots=True)
class Extract:
    """What a page shows and where it leads."""

    text: str
    """Paragraphs, list items, headings and table cells, one per line; no line is empty."""
    links: tuple[WikiLink, ...]
    """All links, in the order in which they begin in the source."""
    bold: tuple[tuple[int, int], ...]
    """Ranges of the text in bold."""


def extract(wikitext: str, hidden: frozenset[str]) -> Extract:
    """Return the plain text, links and bold ranges of a page.

    `hidden` are the lower-case prefixes whose links show no text where they stand, such as
    "file", "category" and "de".
    """
    return _extract(wikitext, hidden)[0]


def _extract(wikitext: str, hidden: frozenset[str]) -> tuple[Extract, int]:
    """Return a page's extract, and how many steps the passes over it took."""
    data = wikitext.encode("utf-8", "replace")
    text, columns, bold, steps = read_wikitext(
        _lexicon(), data, lambda prefix: _normal_prefix(prefix) in hidden
    )
    return Extract(text, _links(*columns), bold), steps


_LETTERS = 0x20000
"""No lower-case letter has a code point beyond this."""


@cache
def _lexicon() -> Any:
    """Return the named characters of HTML and all lower-case letters."""
    characters = {name[:-1]: text for name, text in html5.items() if name.endswith(";")}
    lower_case = {letter for letter in map(chr, range(_LETTERS)) if letter.islower()}
    return Lexicon(characters, lower_case)


@lru_cache(maxsize=1 << 12)
def _normal_prefix(written: bytes) -> str:
    return " ".join(written.decode("utf-8", "replace").replace("_", " ").split()).lower()


def _links(*columns: list[Any]) -> tuple[WikiLink, ...]:
    """Return links from the columns of their fields.

    The guard against setting a field of a frozen class makes its constructor slow: a page with
    many links would spend most of its time there. Setting all fields of a kind at once is fast.
    """
    links = tuple(map(object.__new__, repeat(WikiLink, len(columns[0]))))
    for set_field, column in zip(_SETTERS, columns, strict=True):
        deque(map(set_field, links, column), 0)
    return links


_SETTERS = [getattr(WikiLink, field.name).__set__ for field in fields(WikiLink)]
