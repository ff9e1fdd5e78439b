"""Site: what a dump says about its wiki: language, namespaces, how titles are written."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote_to_bytes
from xml.parsers import expat

from sgtb.wikipedia.dump.language_editions import (
    ENGLISH_NAMESPACES,
    LANGUAGES,
    NAMESPACES,
    SISTERS,
    namespace_aliases,
)

FILE, CATEGORY = 6, 14
"""Numbers of the namespaces whose links show no text."""

_LONGEST = 255  # bytes of a title; MediaWiki stores no longer ones
_DOTLESS = frozenset({"az", "kaa", "tr"})
"""Languages that write the capital of i with a dot."""

_PLAIN = re.compile(r"[A-Za-z0-9](?: ?[A-Za-z0-9.,'()!-])*")
_SPACES = re.compile("[ _\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_DIRECTION_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]")
_ESCAPED = re.compile("%[0-9A-Fa-f]{2}")
_IMPOSSIBLE = re.compile(
    r"[\[\]{}|<>\x00-\x1f\x7f\ufffd]|~~~|&(?:[A-Za-z0-9]+|#\d+|#x[0-9A-Fa-f]+);"
    r"|^\.\.?(?:/|$)|/\.\.?(?:/|$)|%[0-9A-Fa-f]{2}"
)
_SITEINFO = re.compile(rb"<siteinfo[\s>].*?</siteinfo\s*>", re.DOTALL)
_WIKI_LANGUAGE = re.compile(rb"<mediawiki\s[^>]*?xml:lang\s*=\s*[\"']([\w-]+)[\"']")
_HOST = re.compile(r"(?:https?:)?//([\w-]+)\.(?:m\.)?([\w-]+)\.org(?:[/:]|$)")
_FAMILIES = "wiktionary wikibooks wikinews wikiquote wikisource wikiversity wikivoyage".split()


@dataclass(frozen=True)
class Site:
    """A wiki.

    dbname          its name, such as "enwiki"; "" where unknown
    language        its language code, such as "en"
    namespaces      namespace numbers by name and alias, lower case, with spaces
    case_sensitive  numbers of the namespaces whose titles may begin with a small letter
    hidden          prefixes, lower case, of links that show no text: those of files and
                    categories, and the codes of the other language editions
    """

    dbname: str
    language: str
    namespaces: Mapping[str, int] = field(hash=False)
    case_sensitive: frozenset[int]
    hidden: frozenset[str] = field(repr=False)

    @classmethod
    def parse(cls, xml: bytes) -> Self:
        """Read the beginning of a dump; what it does not say is as in `default`."""
        info = _SITEINFO.search(xml)
        if info is None:
            return cls.default()
        elements = _elements(info[0])
        if elements is None:
            return cls.default()
        values = {name: text for name, _, text in elements}
        declared = _WIKI_LANGUAGE.search(xml, 0, info.start())
        dbname, language = _identity(
            values.get("dbname", ""),
            values.get("base", ""),
            declared[1].decode() if declared else "",
        )
        spaces = [
            (int(attributes["key"]), attributes.get("case", values.get("case", "")), text)
            for name, attributes, text in elements
            if name == "namespace" and re.fullmatch(r"-?\d{1,9}", attributes.get("key", ""))
        ]
        local = {_folded(text): number for number, _, text in spaces if text}
        sensitive = {number for number, case, _ in spaces if case == "case-sensitive"}
        if not spaces and values.get("case") == "case-sensitive":
            sensitive.add(0)
        return cls._make(dbname, language, local or ENGLISH_NAMESPACES, frozenset(sensitive))

    @classmethod
    def default(cls) -> Self:
        """Return the English Wikipedia, for dumps that do not say what they are from."""
        return cls._make("", "en", ENGLISH_NAMESPACES, frozenset())

    @classmethod
    def _make(
        cls, dbname: str, language: str, local: Mapping[str, int], sensitive: frozenset[int]
    ) -> Self:
        # What the dump itself says comes last: it holds where names clash.
        namespaces = {**NAMESPACES, **namespace_aliases(language), **local}
        names = [name for name, number in namespaces.items() if number in (FILE, CATEGORY)]
        hidden = {*names, *(name.replace(" ", "_") for name in names), *(LANGUAGES - {language})}
        return cls(dbname, language, namespaces, sensitive, frozenset(hidden))

    def title(self, target: str) -> str | None:
        """Return the normal title of the main-namespace page that a link's target means.

        None for all else: other namespaces, other wikis, a section of the same page, and what
        cannot be a title. HTML entities must be decoded already.
        """
        plain = target.replace("_", " ")
        if _PLAIN.fullmatch(plain) and len(plain) <= _LONGEST:  # most targets by far
            return plain if 0 in self.case_sensitive else self._capital(plain)
        place = self.place(target)
        return place[1] if place is not None and place[0] == 0 else None

    def category(self, target: str) -> str | None:
        """Return the name of the category that a link files its page under.

        None for all else, also for a link that shows a category (":Category:Physics").
        """
        if target.lstrip(" _").startswith(":"):
            return None
        place = self.place(target)
        return place[1] if place is not None and place[0] == CATEGORY else None

    def place(self, target: str) -> tuple[int, str] | None:
        """Return the number of a target's namespace, and its title there in normal form.

        None: another wiki, a section of the same page, or what cannot be a title.
        """
        text = _clean(target)
        if text is None:
            return None
        number = 0
        text = text.partition("#")[0].strip(" ").removeprefix(":").lstrip(" ")
        while (colon := text.find(":")) > 0:
            prefix = _lower(text[:colon].rstrip(" "))
            if prefix in self.namespaces:
                number = self.namespaces[prefix]
                text = text[colon + 1 :].lstrip(" ")
                break
            if not self._is_own_prefix(prefix):
                if prefix in LANGUAGES or prefix in SISTERS:
                    return None
                break
            text = text[colon + 1 :].lstrip(" ").removeprefix(":").lstrip(" ")
        if not text or text.startswith(":") or _IMPOSSIBLE.search(text):
            return None
        if number not in self.case_sensitive:
            text = self._capital(text)
        return (number, text) if len(text.encode()) <= _LONGEST else None

    def normal(self, title: str) -> str:
        """Return a page's own title, as a dump gives it, in normal form, namespace and all."""
        if _PLAIN.fullmatch(title) and len(title) <= _LONGEST:
            return title if 0 in self.case_sensitive else self._capital(title)
        place = self.place(title)
        if place is not None and place[0] == 0:
            return place[1]
        return unicodedata.normalize("NFC", _SPACES.sub(" ", title).strip(" "))

    def _capital(self, text: str) -> str:
        first = text[0]
        # Titles keep ß, ŉ, ǅ and the small letters of Georgian.
        upper = "İ" if first == "i" and self.language in _DOTLESS else first.upper()
        if upper == first:
            return text
        if text.isascii():
            return upper + text[1:]
        if len(upper) != 1 or "\u10d0" <= first <= "\u10ff" or unicodedata.category(first) == "Lt":
            return text
        return unicodedata.normalize("NFC", upper + text[1:])

    def _is_own_prefix(self, prefix: str) -> bool:
        return prefix == self.language or (prefix == "w" and self.language == "en")


def _clean(target: str) -> str | None:
    """Return a target in NFC, with single spaces, percent signs resolved; None: not UTF-8."""
    text = target
    if "%" in text and _ESCAPED.search(text):
        try:
            text = unquote_to_bytes(text).decode("utf-8")
        except UnicodeDecodeError:
            return None
    if not text.isascii():
        text = unicodedata.normalize("NFC", _DIRECTION_MARKS.sub("", text))
    return _SPACES.sub(" ", text).strip(" ")


def _lower(name: str) -> str:
    return name.lower().replace("i̇", "i")  # the small form of İ takes two code points


def _folded(name: str) -> str:
    return _lower(_SPACES.sub(" ", unicodedata.normalize("NFC", name)).strip(" "))


def _identity(dbname: str, base: str, declared: str) -> tuple[str, str]:
    """Return a wiki's name and language by what its dump tells of them."""
    host = _HOST.match(base)
    if host is not None and host[1] in LANGUAGES:
        family = "wiki" if host[2] == "wikipedia" else host[2]
        return dbname or f"{host[1].replace('-', '_')}{family}", host[1]
    stem = re.sub(rf"(wiki|{'|'.join(_FAMILIES)})$", "", dbname).replace("_", "-")
    return dbname, stem if stem in LANGUAGES else declared.lower() or "en"


def _elements(xml: bytes) -> list[tuple[str, dict[str, str], str]] | None:
    """Return name, attributes and text of all elements in a piece of XML; None: not XML."""
    found: list[tuple[str, dict[str, str], str]] = []
    open_ones: list[tuple[str, dict[str, str], list[str]]] = []
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = lambda name, attributes: open_ones.append((name, attributes, []))
    parser.CharacterDataHandler = lambda text: open_ones[-1][2].append(text)

    def close(_name: str) -> None:
        name, attributes, text = open_ones.pop()
        found.append((name, attributes, "".join(text).strip()))

    parser.EndElementHandler = close
    try:
        parser.Parse(xml, True)
    except (expat.ExpatError, ValueError):
        return None
    return found
