"""Acronyms: letters that stand for the words of a name."""

SMALL_WORDS = frozenset(
    "a an and at by for from in of on or the to with de del der des di du e et la las le les los "
    "und van von y".split()
)
"""Words that an acronym may skip."""


def spells(letters: str, name: str) -> bool:
    """Return whether the initials of a name spell some letters; small words may be skipped."""
    reached = {0}  # numbers of letters spelt so far
    for word in name.split():
        spelt = {at + 1 for at in reached if letters[at : at + 1] == word[0]}
        reached = spelt | reached if word in SMALL_WORDS else spelt
    return len(letters) in reached
