"""Usable names: which titles and anchor texts can be ids and names, and in which form."""

import re

from sgtb.kb.layout import MAX_KEY, MAX_SPELLING
from sgtb.text.normalization import normal_name

USABLE, EMPTY, LONG, URL = 0, 1, 2, 3
"""What becomes of an anchor text as a name."""

_BRACKET = re.compile(r"\s*\([^()]*\)$")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//|www\.|mailto:", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_NOT_IN_IDS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def is_id(text: str) -> bool:
    """Tell whether a text can be an id: not empty, not too long, without control characters.

    Characters that only join or part letters may stand in it: Persian titles need them.
    """
    return 0 < _size(text) <= MAX_KEY and not _NOT_IN_IDS.search(text)


def title_problem(title: str) -> str:
    """Return why no entity can have a title; "": it can."""
    if not title or _size(title) > MAX_KEY:
        return f"its title is empty or has more than {MAX_KEY} bytes"
    if not is_id(title):
        return "its title holds characters that cannot be shown"
    return ""


def bare_title(title: str) -> str:
    """Return a title without the bracket at its end, "" if there is none or nothing before it."""
    return _BRACKET.sub("", title) if title.endswith(")") and _BRACKET.search(title) else ""


def title_names(title: str) -> tuple[bool, str]:
    """Return whether a title can be a name, and the name without its bracket, if it has one."""
    bare = bare_title(title)
    return is_name(title), bare if bare and is_name(bare) else ""


def is_name(text: str) -> bool:
    """Tell whether a text has a normal form, and none that is too long."""
    return _size(text) <= MAX_SPELLING and 0 < _size(normal_name(text)) <= MAX_KEY


def anchor_use(anchor: str) -> tuple[int, str]:
    """Return what an anchor text is good for, and its normal form if it is a name."""
    if _size(anchor) > MAX_SPELLING:
        return LONG, ""
    if _URL.match(anchor):
        return URL, ""
    name = normal_name(anchor)
    if not name:
        return EMPTY, ""
    return (USABLE, name) if _size(name) <= MAX_KEY else (LONG, "")


def clean(text: str) -> str:
    """Return a text that can be a field: without control characters, and UTF-8."""
    if text.isascii():
        return _CONTROL.sub(" ", text).strip() if not text.isprintable() else text
    return _CONTROL.sub(" ", text).encode("utf-8", "replace").decode().strip()


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
