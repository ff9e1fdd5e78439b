"""The normal form of names and words: what is compared, counted and looked up."""

import re
import unicodedata
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b")
_SILENT = str.maketrans("", "", ".'’")

STOP_WORDS = frozenset(
    "the a an of in on at to and or for by with from is was were be been as it its he she his her "
    "they their that this which who said will has have had not but i".split()
)
"""Words that say nothing about a subject."""


@lru_cache(maxsize=1 << 17)
def normal_words(text: str) -> tuple[str, ...]:
    """Return the words of a text: no case, no diacritics, no punctuation, no possessive.

    Full stops and apostrophes join what they stand in, so that "U.S." is one word.
    """
    if text.isascii() and text.isalpha():  # nearly every token
        return (text.lower(),)
    plain = unicodedata.normalize("NFKD", _POSSESSIVE.sub("", text))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return tuple(_WORD.findall(plain.translate(_SILENT).lower()))


def normal_name(text: str) -> str:
    """Return the normal form of a name: its words with single spaces."""
    return " ".join(normal_words(text))
