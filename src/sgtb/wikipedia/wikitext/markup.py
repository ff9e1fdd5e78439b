"""Extract: plain text, links and bold ranges of a page's wikitext; Lead: its first sentence.

    >>> page = extract("'''Ants''' are [[eusocial]] [[insect]]s.{{cn}}", frozenset())
    >>> page.text
    'Ants are eusocial insects.'
    >>> page.links[1].target, page.links[1].anchor
    ('insect', 'insects')

Templates are not expanded: their output is not part of the text, but the links in their arguments
are reported. Any input gives a result, in linear time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from html.entities import html5
from typing import Any, NamedTuple

from sgtb.native import Lexicon, read_wikitext

MAX_DESCRIPTION = 250
_LEAD_LINES = 30  # notes and table cells may precede the lead
_MIN_LEAD = 40
_MAX_LEAD = 2000
_STOP = re.compile(r"[.!?][\"”»’')\]]*(?=\s+[^\s\W_a-z]|\s+[\"“„«(\[]|\s*$)|[。！？।]")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[.])(?:[^\W\d_]|\d{1,2}|St|Ste|Dr|Mr|Mrs|Ms|Jr|Sr|Prof|Rev|Hon|Gen|Col|Lt|Sgt|Capt"
    r"|Mt|Ft|vs|ca|cf|al|approx|lit|Inc|Ltd|Co|Corp|Bros|No|Nos|Nr|Op|Vol|pp|fl|geb|gest|bzw|Jh|Hl"
    r"|Dipl|Ing|etc|esp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|pron|née|orig|abbr|lat)\.$"
)
_EMPTY_BRACKETS = (
    (re.compile(r"\(\s*(?:[,;]\s*)+"), "("),
    (re.compile(r"(?:\s*[,;])*\s*\)"), ")"),
    (re.compile(r"\s*\(\s*\)"), ""),
    (re.compile(r"\s+([,;])"), r"\1"),
)


class WikiLink(NamedTuple):
    """A link of a page; a tuple, because pages have many and dataclasses are slow to construct."""

    target: str
    """As written before the first bar, with #section, leading colon and namespace; character
    references are decoded, comments removed, white space is single."""
    anchor: str  # the visible text with the trail; empty if nothing is shown
    start: int  # start of the anchor in the text, in code points; -1: not in the text
    end: int
    line: int  # line of the text that has, or would have, the link
    flags: int
    """Context, by bits of `sgtb.native`: IN_TEMPLATE, IN_REF, ...; HIDDEN: shows nothing, such as
    File:."""


@dataclass(frozen=True, slots=True)
class Extract:
    """Visible content of a page."""

    text: str  # paragraphs, list items, headings and table cells, one per line; no line is empty
    links: tuple[WikiLink, ...]  # all links, in the order of the source
    bold: tuple[tuple[int, int], ...]  # bold ranges of the text


def extract(wikitext: str, hidden: frozenset[str]) -> Extract:
    """Return what a page shows; `hidden` are lower-case prefixes of links without text."""
    return _extract(wikitext, hidden)[0]


def _extract(wikitext: str, hidden: frozenset[str]) -> tuple[Extract, int]:
    """Return a page's extract, and the number of steps of all passes."""
    data = wikitext.encode("utf-8", "replace")
    text, columns, bold, steps = read_wikitext(
        _lexicon(), data, lambda prefix: _normal_prefix(prefix) in hidden
    )
    links = tuple(map(WikiLink._make, zip(*columns, strict=True)))
    return Extract(text, links, bold), steps


_LETTERS = 0x20000  # all lower-case letters have lower code points


@cache
def _lexicon() -> Any:
    """Return the named characters of HTML and all lower-case letters, for the kernel."""
    characters = {name[:-1]: text for name, text in html5.items() if name.endswith(";")}
    lower_case = {letter for letter in map(chr, range(_LETTERS)) if letter.islower()}
    return Lexicon(characters, lower_case)


@lru_cache(maxsize=1 << 12)
def _normal_prefix(written: bytes) -> str:
    return " ".join(written.decode("utf-8", "replace").replace("_", " ").split()).lower()


@dataclass(frozen=True, slots=True)
class Lead:
    """The first sentence of an article, and the bold names in it."""

    description: str
    names: tuple[str, ...]


def lead(page: Extract) -> Lead:
    """Return the lead of a page; empty if the page has no text."""
    start, line, has_bold = _lead_line(page)
    bold = [(a - start, b - start) for a, b in page.bold if start <= a < start + len(line)]
    sentence = first_sentence(line, bold)
    end = start + len(sentence) if has_bold else start
    names = {" ".join(page.text[a:b].split()): None for a, b in page.bold if start <= a < b <= end}
    return Lead(description_of(sentence), tuple(names))


def description_of(sentence: str) -> str:
    """Return a sentence with single spaces, shortened, without brackets that templates emptied."""
    text = " ".join(sentence.split())
    if "(" in text:
        for pattern, replacement in _EMPTY_BRACKETS:
            text = pattern.sub(replacement, text)
    if len(text) <= MAX_DESCRIPTION:
        return text
    cut = text[: MAX_DESCRIPTION - 1]
    words = cut.rsplit(" ", 1)[0] if " " in cut[MAX_DESCRIPTION // 2 :] else cut
    return words.rstrip(" ,;:(") + "…"


def _lead_line(page: Extract) -> tuple[int, str, bool]:
    """Return start and text of the lead's line, and whether it has a bold name.

    That is the first sentence-like line with a bold name, else the first sentence-like line, else
    the first line.
    """
    lines, at = [], 0
    for line in page.text[: _LEAD_LINES * _MAX_LEAD].split("\n", _LEAD_LINES)[:_LEAD_LINES]:
        lines.append((at, line))
        at += len(line) + 1
    sentences = [
        (at, line) for at, line in lines if len(line) >= _MIN_LEAD or _STOP.search(line[2:])
    ]
    bold = [start for start, _ in page.bold if start < at]
    for at, line in sentences:
        if any(at <= start < at + len(line) for start in bold):
            return at, line, True
    return (*(sentences or lines)[0], False)


def first_sentence(line: str, bold: Sequence[tuple[int, int]] = ()) -> str:
    """Return the first sentence of a line; it does not end within a bold name."""
    line = line[:_MAX_LEAD]
    for stop in _STOP.finditer(line):
        before = line[: stop.end()]
        if before.count("(") > before.count(")") or _ABBREVIATION.search(before[-12:]):
            continue
        if any(a < stop.end() <= b for a, b in bold):
            continue  # part of a name
        return before
    return line
