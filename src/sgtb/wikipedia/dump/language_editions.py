"""Language editions of Wikipedia: codes, namespaces, redirect keywords, disambiguation templates.

The tables have what a dump does not contain. Editions that are missing from a table still work,
because MediaWiki accepts the English words in every edition.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

_TABLES: dict[str, Any] = tomllib.loads(
    files("sgtb.wikipedia.dump").joinpath("language_editions.toml").read_text("utf-8")
)


def _words(table: str) -> list[str]:
    return [word.replace("_", " ") for word in _TABLES[table].split()]


LANGUAGES = frozenset(_TABLES["languages"].split())
"""Language codes, as used in interlanguage links."""
SISTERS = frozenset(_TABLES["sisters"].split())  # prefixes of links to sister projects
NAMESPACES: Mapping[str, int] = _TABLES["namespaces"]
"""English namespace names and their aliases, valid in every edition; lower case."""
ENGLISH_NAMESPACES: Mapping[str, int] = _TABLES["english_namespaces"]
"""Further namespaces of the English Wikipedia, for dumps without site information."""


def namespace_aliases(language: str) -> dict[str, int]:
    """Return further names of namespaces in an edition, lower case: former and gendered ones."""
    return {
        name.replace("_", " ").lower(): int(number)
        for number, table in _TABLES["aliases"].items()
        for code, _, name in (entry.partition(":") for entry in table.split())
        if code == language
    }


REDIRECT_WORDS = tuple(_words("redirect"))
"""The redirect keyword in its local spellings, without the # before it."""
_KEYWORD = "|".join(re.escape(word).replace(r"\ ", "[ _]") for word in REDIRECT_WORDS)
_REDIRECT_LINE = re.compile(
    rf"\s*[#＃](?:{_KEYWORD})\s*:?\s*\[\[([^\[\]|\n]*)(?:\|[^\[\]\n]*)?\]\]", re.IGNORECASE
)


def redirect_target(text: str) -> str | None:
    """Return the redirect target in a page's text, as written; None: not a redirect."""
    match = _REDIRECT_LINE.match(text.removeprefix("\ufeff"))
    return match[1].strip() if match else None


DISAMBIGUATION_TEMPLATES = frozenset(map(str.casefold, _words("disambiguation")))
"""Templates of disambiguation pages and lists of name bearers; case folded."""
_DISAMBIGUATION_ENDS = (" disambiguation", "disambig", " dab", " homonymes", "の曖昧さ回避")
_REFERRING = ("r ", "voir ", "redirect ", "nota ", "other ")
"""Prefixes of templates that only refer to disambiguation pages: redirect labels, hatnotes."""
DISAMBIGUATION_ENDINGS = frozenset(map(str.casefold, _words("endings")))
"""Qualifiers in parentheses at the end of titles of disambiguation pages; case folded."""
_TEMPLATE = re.compile(r"\{\{([^{}|\[\]<>]{1,100})")
_MAGIC_WORD = "__DISAMBIG__"


def is_disambiguation(title: str, text: str) -> bool:
    """Return whether a page is a disambiguation page, by its title and templates."""
    if title.endswith(")"):
        _, _, ending = title[:-1].rpartition("(")
        if ending.casefold() in DISAMBIGUATION_ENDINGS:
            return True
    text = without_sections(without_sections(text, "<!--", "-->"), "<nowiki>", "</nowiki>")
    if _MAGIC_WORD in text:
        return True
    return any(_marks_disambiguation(name) for name in _TEMPLATE.findall(text))


@lru_cache(maxsize=1 << 14)
def _marks_disambiguation(template: str) -> bool:
    name = " ".join(template.replace("_", " ").split()).casefold()
    name = name.removeprefix("template:").lstrip()
    if name in DISAMBIGUATION_TEMPLATES:
        return True
    return name.endswith(_DISAMBIGUATION_ENDS) and not name.startswith(_REFERRING)


def without_sections(text: str, opening: str, closing: str) -> str:
    """Return a text without everything between two marks; an unclosed mark is kept."""
    kept, end = [], 0
    while (start := text.find(opening, end)) >= 0:
        stop = text.find(closing, start + len(opening))
        if stop < 0:
            break
        kept.append(text[end:start])
        end = stop + len(closing)
    return "".join((*kept, text[end:]))
