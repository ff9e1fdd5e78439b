"""The lead sentence: where an article says what it is about, and in bold by which names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sgtb.wikipedia.wikitext.markup import Extract

MAX_DESCRIPTION = 250
_LEAD_LINES = 30  # notes and the cells of a table may stand before the lead
_LEAST_LEAD = 40
_MOST_LEAD = 2000

_STOP = re.compile(r"[.!?][\"”»’')\]]*(?=\s+[^\s\W_a-z]|\s+[\"“„«(\[]|\s*$)|[。！？।]")
_NO_STOP = re.compile(
    r"(?:^|[\s(\[.])(?:[^\W\d_]|\d{1,2}|St|Ste|Dr|Mr|Mrs|Ms|Jr|Sr|Prof|Rev|Hon|Gen|Col|Lt|Sgt|Capt"
    r"|Mt|Ft|vs|ca|cf|al|approx|lit|Inc|Ltd|Co|Corp|Bros|No|Nos|Nr|Op|Vol|pp|fl|geb|gest|bzw|Jh|Hl"
    r"|Dipl|Ing|etc|esp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|pron|née|orig|abbr|lat)\.$"
)

_LEFT_EMPTY = (
    (re.compile(r"\(\s*(?:[,;]\s*)+"), "("),
    (re.compile(r"(?:\s*[,;])*\s*\)"), ")"),
    (re.compile(r"\s*\(\s*\)"), ""),
    (re.compile(r"\s+([,;])"), r"\1"),
)


@dataclass(frozen=True, slots=True)
class Lead:
    """The first sentence of an article, and the names in bold that stand in it."""

    description: str
    names: tuple[str, ...]


def lead(page: Extract) -> Lead:
    """Find the lead of a page; both parts are empty where it has no text."""
    start, line, names_it = _lead_line(page)
    bold = [(a - start, b - start) for a, b in page.bold if start <= a < start + len(line)]
    sentence = _first_sentence(line, bold)
    end = start + len(sentence) if names_it else start
    names = {" ".join(page.text[a:b].split()): None for a, b in page.bold if start <= a < b <= end}
    return Lead(_shortened(_tidy(sentence)), tuple(names))


def _lead_line(page: Extract) -> tuple[int, str, bool]:
    """Return where the lead's line starts, the line, and whether it names its subject in bold.

    It is the first with a bold name that looks like a sentence; else the first that looks like
    one; else the first of all.
    """
    lines, at = [], 0
    for line in page.text[: _LEAD_LINES * _MOST_LEAD].split("\n", _LEAD_LINES)[:_LEAD_LINES]:
        lines.append((at, line))
        at += len(line) + 1
    sentences = [
        (at, line) for at, line in lines if len(line) >= _LEAST_LEAD or _STOP.search(line[2:])
    ]
    bold = [start for start, _ in page.bold if start < at]
    for at, line in sentences:
        if any(at <= start < at + len(line) for start in bold):
            return at, line, True
    return (*(sentences or lines)[0], False)


def _first_sentence(line: str, bold: Sequence[tuple[int, int]]) -> str:
    line = line[:_MOST_LEAD]
    for stop in _STOP.finditer(line):
        before = line[: stop.end()]
        if before.count("(") > before.count(")") or _NO_STOP.search(before[-12:]):
            continue
        if any(a < stop.end() <= b for a, b in bold):
            continue  # it belongs to a name
        return before
    return line


def _tidy(text: str) -> str:
    """Return a sentence with single spaces, and without what templates left empty in brackets."""
    text = " ".join(text.split())
    if "(" in text:
        for pattern, instead in _LEFT_EMPTY:
            text = pattern.sub(instead, text)
    return text


def _shortened(text: str) -> str:
    if len(text) <= MAX_DESCRIPTION:
        return text
    cut = text[: MAX_DESCRIPTION - 1]
    words = cut.rsplit(" ", 1)[0] if " " in cut[MAX_DESCRIPTION // 2 :] else cut
    return words.rstrip(" ,;:(") + "…"
