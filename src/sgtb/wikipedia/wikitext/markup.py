"""Extract: plain text, links and bold ranges of a page's wikitext.

    >>> page = extract("'''Ants''' are [[eusocial]] [[insect]]s.{{cn}}", frozenset())
    >>> page.text
    'Ants are eusocial insects.'
    >>> page.links[1].target, page.links[1].anchor
    ('insect', 'insects')

Templates are not expanded: their output is not part of the text, but the links in their arguments
are reported. Any input gives a result, in linear time.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from html.entities import html5
from typing import Any, NamedTuple

from sgtb.native import Lexicon, read_wikitext


class WikiLink(NamedTuple):
    """A link of a page; a tuple, because pages have many and dataclasses are slow to construct."""

    target: str
    """As written before the first bar, with #section, leading colon and namespace; character
    references are decoded, comments removed, white space is single."""
    anchor: str
    """The visible text with the trail; empty if nothing is shown."""
    start: int
    """Start of the anchor in the text, in code points; -1: not in the text."""
    end: int
    line: int
    """Line of the text that has, or would have, the link."""
    flags: int
    """Context, by bits of `sgtb.native`: IN_TEMPLATE, IN_REF, ...; HIDDEN: shows nothing, such as
    File:."""


@dataclass(frozen=True, slots=True)
class Extract:
    """Visible content of a page."""

    text: str
    """Paragraphs, list items, headings and table cells, one per line; no line is empty."""
    links: tuple[WikiLink, ...]
    """All links, in the order of the source."""
    bold: tuple[tuple[int, int], ...]
    """Bold ranges of the text."""


def extract(wikitext: str, hidden: frozenset[str]) -> Extract:
    """Return the plain text, links and bold ranges of a page.

    hidden  lower-case prefixes of links that show no text, such as "file", "category" and "de"
    """
    return _extract(wikitext, hidden)[0]


def _extract(wikitext: str, hidden: frozenset[str]) -> tuple[Extract, int]:
    """Return a page's extract, and the number of steps of all passes."""
    data = wikitext.encode("utf-8", "replace")
    text, columns, bold, steps = read_wikitext(
        _lexicon(), data, lambda prefix: _normal_prefix(prefix) in hidden
    )
    links = tuple(map(WikiLink._make, zip(*columns, strict=True)))
    return Extract(text, links, bold), steps


_LETTERS = 0x20000
"""All lower-case letters have lower code points."""


@cache
def _lexicon() -> Any:
    """Return the named characters of HTML and all lower-case letters, for the kernel."""
    characters = {name[:-1]: text for name, text in html5.items() if name.endswith(";")}
    lower_case = {letter for letter in map(chr, range(_LETTERS)) if letter.islower()}
    return Lexicon(characters, lower_case)


@lru_cache(maxsize=1 << 12)
def _normal_prefix(written: bytes) -> str:
    return " ".join(written.decode("utf-8", "replace").replace("_", " ").split()).lower()
