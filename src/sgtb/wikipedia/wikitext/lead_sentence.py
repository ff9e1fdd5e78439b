"""Lead: the first sentence of an article and the bold names in it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sgtb.wikipedia.wikitext.markup import Extract

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
    """Return a sentence as a description: tidied and shortened."""
    return _shortened(_tidy(sentence))


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


def _tidy(text: str) -> str:
    """Return a sentence with single spaces, without brackets that templates left empty."""
    text = " ".join(text.split())
    if "(" in text:
        for pattern, replacement in _EMPTY_BRACKETS:
            text = pattern.sub(replacement, text)
    return text


def _shortened(text: str) -> str:
    if len(text) <= MAX_DESCRIPTION:
        return text
    cut = text[: MAX_DESCRIPTION - 1]
    words = cut.rsplit(" ", 1)[0] if " " in cut[MAX_DESCRIPTION // 2 :] else cut
    return words.rstrip(" ,;:(") + "…"
