"""Name sharing: mentions that take the candidates of another name of their document."""

import re
from collections.abc import Iterator, Sequence

from sgtb.core.records import Document
from sgtb.text.acronyms import SMALL_WORDS, spells

_ACRONYM = re.compile(r"(?:[^\W\d_]\.?){2,6}")
_OPENING = re.compile(r"\s*[(\[]\s*")
_POSSESSIVE = re.compile(r"['’]s$")
_IN_BRACKETS = re.compile(r"\(([^()\n]{2,80})\)")
_WORD = re.compile(r"[^\s()]+")
_SHORT = re.compile(r"(?=.*[^\W\d_])[\w.&/+'’-]{2,10}")
_SIGNS_OF_SHORT = re.compile(r"[A-Z].*[A-Z]|\d|^[a-z].*[A-Z]")
_LONGEST = 12
"""Words of the long form of an abbreviation."""


def longer_names(names: Sequence[str], is_person: Sequence[bool]) -> list[int]:
    """Find the longest name of a person that contains a name: the paper's heuristic.

    "Meck" takes the candidates of "Anna Meck". Ties in the number of words go to the first name.
    """
    full = [i for i, person in enumerate(is_person) if person and " " in names[i]]
    if not full:
        return list(range(len(names)))
    full.sort(key=lambda i: -names[i].count(" "))  # stable
    padded = [(i, f" {names[i]} ") for i in full]
    longest: dict[str, int | None] = {"": None}
    for name in names:
        if name not in longest:
            within = f" {name} "
            longest[name] = next(
                (i for i, other in padded if within in other and within != other), None
            )
    found = (longest[name] for name in names)
    return [i if other is None else other for i, other in enumerate(found)]


def written_out(
    document: Document, names: Sequence[str], has_candidates: Sequence[bool]
) -> list[int]:
    """Find, for acronyms without candidates, a mention with candidates and matching initials.

    A name right before the acronym in brackets, as in "International Monetary Fund (IMF)", takes
    precedence over the first one in the document.
    """
    taken = list(range(len(names)))
    mentions = document.mentions
    acronyms = [
        i for i in taken if not has_candidates[i] and names[i] and is_acronym(mentions[i].text)
    ]
    full = [i for i in taken if has_candidates[i] and " " in names[i]] if acronyms else []
    best: dict[str, int] = {}
    explained = set()
    for i in acronyms:
        letters = names[i]
        for other in full:
            if letters in explained or not spells(letters, names[other]):
                continue
            best.setdefault(letters, other)
            between = document.text[mentions[other].end : mentions[i].start]
            if mentions[other].end <= mentions[i].start and _OPENING.fullmatch(between):
                best[letters] = other
                explained.add(letters)
    for i in acronyms:
        taken[i] = best.get(names[i], i)
    return taken


def is_acronym(text: str) -> bool:
    """Return whether a name is written as an acronym: IMF, I.M.F., IMF's."""
    letters = _POSSESSIVE.sub("", text)
    return letters.isupper() and _ACRONYM.fullmatch(letters) is not None


def abbreviations(text: str) -> dict[str, str]:
    """Return the abbreviations that a text defines, with their long forms; the first one counts.

    Both orders: "von Willebrand disease (vWD)" and "vWD (von Willebrand disease)". The letters of
    the short form must occur in the long form in their order, the first one at the beginning of a
    word (Schwartz and Hearst, 2003). Short forms are without dots: "I.M.F." defines "IMF", too.
    """
    found: dict[str, str] = {}
    for short, long in _defined(text) if "(" in text else ():
        found.setdefault(_undotted(short), long)
    return found


def _defined(text: str) -> Iterator[tuple[str, str]]:
    for bracket in _IN_BRACKETS.finditer(text):
        inner = re.split(r"[;,]", bracket[1])[0].strip()
        begin = max(bracket.start() - 200, 0)
        before = [*_WORD.finditer(text, begin, bracket.start())]
        if not before or text[before[-1].end() : bracket.start()].strip():
            continue
        if _is_short(inner):
            words = before[-min(_LONGEST, len(inner) + 5, 2 * len(inner)) :]
            window = text[words[0].start() : words[-1].end()]
            if long := _long_form(inner, window):
                yield inner, long
        elif _is_short(short := before[-1][0]):
            long = _long_form(short, inner)
            if long == inner:
                yield short, long


def _is_short(text: str) -> bool:
    """Return whether a word may be an abbreviation: two capitals, a digit, or an inner capital."""
    return bool(_SHORT.fullmatch(text) and _SIGNS_OF_SHORT.search(text))


def _long_form(short: str, window: str) -> str:
    """Return the shortest end of a text that contains the letters of a short form; "": none.

    Initials of whole words take precedence.
    """
    at = len(window)
    letters = [letter for letter in short.lower() if letter.isalnum()]
    lower = window.lower()
    words = [*re.finditer(r"[^\s-]+", lower)]
    for word in reversed(words):
        end = lower[word.start() :].replace("-", " ")
        if word[0] not in SMALL_WORDS and len(letters) > 1 and spells("".join(letters), end):
            return window[word.start() :]
    for i in range(len(letters) - 1, -1, -1):
        at = lower.rfind(letters[i], 0, at)
        while i == 0 and at > 0 and lower[at - 1].isalnum():
            at = lower.rfind(letters[i], 0, at)
        if at < 0:
            return ""
    long = window[at:]
    return long if len(long) > len(short) and len(letters) > 1 else ""


def written_in_full(text: str, defined: dict[str, str]) -> str:
    """Return a name with its abbreviations written out; "": it has none."""
    words = text.split()
    full = [defined.get(_undotted(word), word) for word in words]
    return " ".join(full) if full != words else ""


def _undotted(word: str) -> str:
    return _POSSESSIVE.sub("", word).replace(".", "")
