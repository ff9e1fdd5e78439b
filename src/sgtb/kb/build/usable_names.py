"""Usable names: rules for titles and anchor texts as ids and names."""

import re

from sgtb.kb.layout import MAX_KEY, MAX_SPELLING
from sgtb.text.normalization import normal_name

USABLE, EMPTY, LONG, URL = 0, 1, 2, 3  # uses of an anchor text as a name

_BRACKET = re.compile(r"\s*\([^()]*\)$")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//|www\.|mailto:", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_NOT_IN_IDS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def is_id(text: str) -> bool:
    """Return whether a text can be an id; joiners are allowed, because Persian titles need them."""
    return 0 < _size(text) <= MAX_KEY and not _NOT_IN_IDS.search(text)


def title_problem(title: str) -> str:
    """Return why a title cannot be an entity's; "": it can."""
    if not title or _size(title) > MAX_KEY:
        return f"its title is empty or has more than {MAX_KEY} bytes"
    if not is_id(title):
        return "its title has characters that cannot be shown"
    return ""


def bare_title(title: str) -> str:
    """Return a title without its final bracket; "" if there is none or nothing before it."""
    return _BRACKET.sub("", title) if title.endswith(")") and _BRACKET.search(title) else ""


def title_names(title: str) -> tuple[bool, str]:
    """Return whether a title can be a name, and its usable bare title or ""."""
    bare = bare_title(title)
    return is_name(title), bare if bare and is_name(bare) else ""


def is_name(text: str) -> bool:
    """Return whether a text has a normal form that is not too long."""
    return _size(text) <= MAX_SPELLING and 0 < _size(normal_name(text)) <= MAX_KEY


def anchor_use(anchor: str) -> tuple[int, str]:
    """Return the use of an anchor text, and its normal form if usable."""
    if _size(anchor) > MAX_SPELLING:
        return LONG, ""
    if _URL.match(anchor):
        return URL, ""
    name = normal_name(anchor)
    if not name:
        return EMPTY, ""
    return (USABLE, name) if _size(name) <= MAX_KEY else (LONG, "")


def clean(text: str) -> str:
    """Return a text without control characters and lone surrogates, for a TSV field."""
    if text.isascii():
        return _CONTROL.sub(" ", text).strip() if not text.isprintable() else text
    return _CONTROL.sub(" ", text).encode("utf-8", "replace").decode().strip()


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
