"""Name sharing: mentions that take the candidates of another mention of the document.

Names are normalized. The functions return, per mention, the index of the mention whose candidates
it takes: its own where no rule applies.
"""

import re
from collections.abc import Sequence

from sgtb.core.records import Document

SMALL_WORDS = frozenset(
    "a an and at by for from in of on or the to with de del der des di du e et la las le les los "
    "und van von y".split()
)
"""Words that an acronym may skip."""

_ACRONYM = re.compile(r"(?:[^\W\d_]\.?){2,6}")
_OPENING = re.compile(r"\s*[(\[]\s*")
_POSSESSIVE = re.compile(r"['’]s$")


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


def spells(letters: str, name: str) -> bool:
    """Return whether the initials of a name spell some letters; small words may be skipped."""
    reached = {0}  # numbers of letters spelt so far
    for word in name.split():
        spelt = {at + 1 for at in reached if letters[at : at + 1] == word[0]}
        reached = spelt | reached if word in SMALL_WORDS else spelt
    return len(letters) in reached
