"""Word shapes: what a token looks like to someone who looks for names, as bits."""

import unicodedata

from sgtb.text.normalization import STOP_WORDS

WORD = 1
"""It has a letter or a digit."""
NAME = 2
"""A word that may be a name by its looks: with a capital, with a digit, or without case."""
UPPER = 4
"""A word whose letters, two or more, are all capitals."""
SMALL = 8
"""A word whose letters are all small ones."""
COMMON = 16
"""A word of grammar, in whatever case: no name by itself, except in capitals (US, WHO)."""
DATE = 32
"""A month or a day of the week."""
LINK = 64
"""A small word that names have inside."""
PARTICLE = 128
"""A small word that family names begin with."""
THE = 256
INNER = 512
"""A sign that may follow a word of a name at once, and be followed by another."""
COMMA = 1024
"""An inner sign that more often ends a name."""
FREE = 2048
"""A sign that may stand between the words of a name."""
PLAIN = 4096
"""A small word that is neither of grammar nor a link."""
TITLE = 8192
"""A word that stands between a country or a company and a person."""
LEAD = 16384
"""A word of grammar that sentences often have right before a name."""
MARK = 32768
"""A sign that goes on with the word before it: a vowel of Devanagari, a joiner."""

_COMMON = STOP_WORDS | frozenset(
    "about above after again against all almost along already also although always am among "
    "another any anyone anything are around away back because before behind being below between "
    "both can could did do does down during each either else even ever every everyone everything "
    "few first finally further here hence him how however if indeed inside instead into just last "
    "later least less like many maybe me meanwhile might mine more moreover most much must my near "
    "neither never next no nobody none nor nothing now off often once one only other others our "
    "ours out outside over own perhaps rather same second several shall should since so some "
    "someone something sometimes soon still such than them then there these those though three "
    "through throughout thus today together tomorrow too towards two under unless until up upon us "
    "very we well what whatever when whenever where whether while whom whose why within without "
    "would yes yesterday yet you your yours n't 're 'll 've 'd 'm".split()
)
_DATE = frozenset(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday".split()
)
_PARTICLE = frozenset(
    "af al ap av bin da dal de del della der den di dos du el ibn la le ten ter van von zu".split()
)
_LINK = _PARTICLE | frozenset(
    "a an and as at by dans das des do e en et for from in into les los n no of on or sur the to "
    "und upon vs with y".split()
)
_INNER = frozenset(".,'’-–‐‑:!·־")
_FREE = frozenset(("&", "/", "'s", "’s", "'S", "’S"))
_LEAD = frozenset(
    "the a an and are as at but by did does during for from had has if in into inside is like near "
    "of on or outside since so than that this to under until was were when where while with "
    "without after against among before between".split()
)
_TITLE = frozenset(
    "ambassador archbishop archduke assistant attorney bishop captain cardinal chairman chancellor "
    "chief coach colonel commissioner congressman consul corporal deputy director dr emperor "
    "empress executive farm finance foreign general governor interior justice king lord major "
    "marshal mayor minister mr mrs ms officer patriarch pope premier president prime prince "
    "princess prof professor queen rabbi representative secretary senator sergeant sheikh sir "
    "spokesman sultan trade treasury tsar vice".split()
)
_LISTS = (
    (COMMON, _COMMON),
    (DATE, _DATE),
    (THE, frozenset(("the",))),
    (LEAD, _LEAD),
    (TITLE, _TITLE),
)
_SMALL_LISTS = ((LINK, _LINK), (PARTICLE, _PARTICLE))
_LONGEST = 100


class Shapes(dict[str, int]):
    """The shape of every token met; starts anew when there are too many."""

    def __missing__(self, text: str) -> int:
        found = shape_of(text)
        if len(text) <= _LONGEST:
            if len(self) >= 1 << 18:
                self.clear()
            self[text] = found
        return found


def shape_of(text: str) -> int:
    """Return the bits of a token."""
    if text in _INNER:
        return INNER | COMMA * (text == ",")
    if text in _FREE:
        return FREE
    if not any(c.isalnum() for c in text):
        return _sign(text)
    lower = text.lower()
    shape = WORD | sum(bit for bit, words in _LISTS if lower in words)
    if text.isupper() and sum(c.isalpha() for c in text) > 1:
        shape |= UPPER
    if not _is_small(text) or any(c.isdigit() for c in text):
        return shape | NAME
    shape |= SMALL | sum(bit for bit, words in _SMALL_LISTS if text in words)
    return shape if shape & (COMMON | LINK) else shape | PLAIN


def _is_small(text: str) -> bool:
    # Georgian letters have capitals that nobody begins a name with: not small, but without case.
    return text.islower() and any(c.title() != c for c in text)


def _sign(text: str) -> int:
    if all(c in "\u200c\u200d" or unicodedata.category(c)[0] == "M" for c in text):
        return MARK
    return INNER if all(unicodedata.category(c) == "Cf" for c in text) else 0
