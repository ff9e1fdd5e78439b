"""Site: language, namespaces and title rules of a dump's wiki."""

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

FILE, CATEGORY = 6, 14  # namespaces whose links show no text
_MAX_TITLE = 255  # bytes; the limit of MediaWiki
_DOTLESS = frozenset({"az", "kaa", "tr"})  # languages in which the capital of i has a dot
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
    """A wiki."""

    dbname: str  # database name, such as "enwiki"; "" if unknown
    language: str  # language code, such as "en"
    namespaces: Mapping[str, int] = field(hash=False)  # numbers by name, in lower case
    case_sensitive: frozenset[int]  # namespaces whose titles may begin with a lower-case letter
    hidden: frozenset[str] = field(repr=False)  # lower-case prefixes of links that show no text

    @classmethod
    def parse(cls, xml: bytes) -> Self:
        """Parse the beginning of a dump; missing information is as in `default`."""
        info = _SITEINFO.search(xml)
        try:
            elements = xml_elements(info[0]) if info else []
        except (expat.ExpatError, ValueError):
            elements = []
        if info is None or not elements:
            return cls.default()
        values = {path.rpartition("/")[2]: text.strip() for path, _, text in elements}
        declared = _WIKI_LANGUAGE.search(xml, 0, info.start())
        written = declared[1].decode() if declared else ""
        dbname, language = _identity(values.get("dbname", ""), values.get("base", ""), written)
        spaces = [
            (int(given["key"]), given.get("case", values.get("case", "")), text.strip())
            for path, given, text in elements
            if path.endswith("/namespace") and re.fullmatch(r"-?\d{1,9}", given.get("key", ""))
        ]
        local = {_folded(text): number for number, _, text in spaces if text}
        sensitive = {number for number, case, _ in spaces if case == "case-sensitive"}
        if not spaces and values.get("case") == "case-sensitive":
            sensitive.add(0)
        return cls._make(dbname, language, local or ENGLISH_NAMESPACES, frozenset(sensitive))

    @classmethod
    def default(cls) -> Self:
        """Return the English Wikipedia, for dumps without site information."""
        return cls._make("", "en", ENGLISH_NAMESPACES, frozenset())

    @classmethod
    def _make(
        cls, dbname: str, language: str, local: Mapping[str, int], sensitive: frozenset[int]
    ) -> Self:
        # The dump's own names come last and take precedence.
        namespaces = {**NAMESPACES, **namespace_aliases(language), **local}
        names = [name for name, number in namespaces.items() if number in (FILE, CATEGORY)]
        hidden = {*names, *(name.replace(" ", "_") for name in names), *(LANGUAGES - {language})}
        return cls(dbname, language, namespaces, sensitive, frozenset(hidden))

    def title(self, target: str) -> str | None:
        """Return the normal title of a link's target in the main namespace.

        None for other namespaces and wikis, sections of the same page, and invalid titles. HTML
        entities must be decoded already.
        """
        plain = target.replace("_", " ")
        if _PLAIN.fullmatch(plain) and len(plain) <= _MAX_TITLE:  # most targets by far
            return plain if 0 in self.case_sensitive else self._capital(plain)
        split = self.split_title(target)
        return split[1] if split is not None and split[0] == 0 else None

    def category(self, target: str) -> str | None:
        """Return the category that a link assigns, unlike ":Category:Physics"; None: another."""
        if target.lstrip(" _").startswith(":"):
            return None
        split = self.split_title(target)
        return split[1] if split is not None and split[0] == CATEGORY else None

    def split_title(self, target: str) -> tuple[int, str] | None:
        """Return namespace and normal title; None: another wiki, a section, or an invalid title."""
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
            if prefix != self.language and (prefix, self.language) != ("w", "en"):
                if prefix in LANGUAGES or prefix in SISTERS:
                    return None
                break
            text = text[colon + 1 :].lstrip(" ").removeprefix(":").lstrip(" ")
        if not text or text.startswith(":") or _IMPOSSIBLE.search(text):
            return None
        if number not in self.case_sensitive:
            text = self._capital(text)
        return (number, text) if len(text.encode()) <= _MAX_TITLE else None

    def normal(self, title: str) -> str:
        """Return the normal form of a page's own title, with its namespace."""
        if _PLAIN.fullmatch(title) and len(title) <= _MAX_TITLE:
            return title if 0 in self.case_sensitive else self._capital(title)
        split = self.split_title(title)
        if split is not None and split[0] == 0:
            return split[1]
        return unicodedata.normalize("NFC", _SPACES.sub(" ", title).strip(" "))

    def _capital(self, text: str) -> str:
        first = text[0]
        # Exceptions: ß, ŉ, ǅ and Georgian letters stay.
        upper = "İ" if first == "i" and self.language in _DOTLESS else first.upper()
        if upper == first:
            return text
        if text.isascii():
            return upper + text[1:]
        if len(upper) != 1 or "\u10d0" <= first <= "\u10ff" or unicodedata.category(first) == "Lt":
            return text
        return unicodedata.normalize("NFC", upper + text[1:])


def _clean(target: str) -> str | None:
    """Return a target in NFC, with single spaces and percent-decoded; None: not UTF-8."""
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
    return name.lower().replace("i̇", "i")  # İ in lower case has two code points


def _folded(name: str) -> str:
    return _lower(_SPACES.sub(" ", unicodedata.normalize("NFC", name)).strip(" "))


def _identity(dbname: str, base: str, declared: str) -> tuple[str, str]:
    """Return database name and language of a wiki."""
    host = _HOST.match(base)
    if host is not None and host[1] in LANGUAGES:
        family = "wiki" if host[2] == "wikipedia" else host[2]
        return dbname or f"{host[1].replace('-', '_')}{family}", host[1]
    stem = re.sub(rf"(wiki|{'|'.join(_FAMILIES)})$", "", dbname).replace("_", "-")
    return dbname, stem if stem in LANGUAGES else declared.lower() or "en"


def xml_elements(xml: bytes) -> list[tuple[str, dict[str, str], str]]:
    """Return path, attributes and text of all elements, in the order of their ends."""
    found: list[tuple[str, dict[str, str], str]] = []
    stack: list[tuple[str, dict[str, str], list[str]]] = []
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        stack.append((f"{stack[-1][0]}/{name}" if stack else name, attributes, []))

    def end(_name: str) -> None:
        path, attributes, text = stack.pop()
        found.append((path, attributes, "".join(text)))

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: stack[-1][2].append(text)
    parser.Parse(xml, True)
    return found
