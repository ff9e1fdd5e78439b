"""DumpPage: a <page> element of a dump; Dropped: an unreadable part with the reason."""

import html
import re
from dataclasses import dataclass
from typing import NamedTuple
from xml.parsers import expat

from sgtb.wikipedia.dump.decompression import GAP
from sgtb.wikipedia.dump.language_editions import redirect_target
from sgtb.wikipedia.dump.site import Site, xml_elements

DAMAGED = "compressed data is damaged"


@dataclass(frozen=True, slots=True)
class DumpPage:
    """A page in its last revision."""

    title: str  # in normal form; with the namespace's name if not in the main namespace
    namespace: int  # number; 0: articles
    id: int  # 0 if the dump has none
    redirect: str | None  # target; None: not a redirect; "": to another namespace
    text: str  # wikitext
    line: int  # line of <page>, from the chunk's first line, which is 1


@dataclass(frozen=True, slots=True)
class Dropped:
    """An unreadable part of a dump."""

    file: str
    line: int  # first line
    title: str  # title of the page; "" if not found
    reason: str
    bytes: int  # size of the XML that is left out

    def __str__(self) -> str:
        what = f"page {self.title!r}" if self.title else f"{self.bytes:,} bytes"
        return f"{self.file}, line {self.line}: {what} left out: {self.reason}"


class BadPageError(Exception):
    """An unreadable page; internal to sgtb.wikipedia."""


class _Fields(NamedTuple):
    title: str | None
    namespace: str | None
    id: str | None
    redirect: str | None
    text: str


def read_page(xml: bytes, site: Site, line: int) -> DumpPage:
    """Parse a <page> element."""
    fields = _read_quickly(xml) or _read_carefully(xml)
    name = (fields.title or "").strip()
    if not name:
        raise BadPageError("no title")
    number = 0 if fields.id is None else _number(fields.id, "id")
    if fields.namespace is None:
        namespace, _ = site.split_title(name) or (0, "")
    else:
        namespace = _number(fields.namespace, "namespace")
    target = fields.redirect
    if target is None and (written := redirect_target(fields.text)) is not None:
        target = html.unescape(written)
    redirect = None if target is None else site.title(target) or ""
    return DumpPage(
        site.normal(name), namespace, id=number, redirect=redirect, text=fields.text, line=line
    )


def title_in(xml: bytes) -> str:
    """Return the title in a damaged page, "" if there is none."""
    match = _TITLE.search(xml, 0, 1 << 16)
    return _decoded(match[1].decode("utf-8", "replace")).strip() if match else ""


def _damage(xml: bytes) -> str | None:
    """Return a description of bytes that are not allowed in XML; None if there are none."""
    if GAP in xml:
        return DAMAGED
    try:
        xml.decode("utf-8")
    except UnicodeDecodeError as error:
        line = xml.count(b"\n", 0, error.start) + 1
        return f"byte 0x{xml[error.start]:02x} in line {line} of the page is not UTF-8"
    control = _CONTROL.search(xml)
    if control is not None:
        line = xml.count(b"\n", 0, control.start()) + 1
        return f"control character 0x{control[0][0]:02x} in line {line} of the page"
    return None


_TITLE = re.compile(rb"<title(?:\s[^<>]*)?>([^<]*)</title\s*>")
_HEAD = re.compile(
    rb"<page(?:\s[^<>]*)?>\s*<title>([^<]*)</title>\s*(?:<ns>(-?\d+)</ns>\s*)?<id>(\d+)</id>\s*"
    rb"(?:<redirect title=\"([^\"<]*)\"\s*(?:/>|></redirect>)\s*)?"
    rb"(?:<restrictions>[^<]*</restrictions>\s*)?<revision>"
)
_TEXT = re.compile(rb"<text(?:\s[^<>]*)?>")
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_REFERENCE = re.compile(r"&(?:(lt|gt|quot|amp|apos)|#(\d+)|#x([0-9A-Fa-f]+));")
_NAMED = {"lt": "<", "gt": ">", "quot": '"', "amp": "&", "apos": "'"}


def _read_quickly(xml: bytes) -> _Fields | None:
    """Parse a page as MediaWiki writes it; None: use `_read_carefully`.

    Text and surrounding elements are parsed separately and without element callbacks, which is
    several times as fast.
    """
    head = _HEAD.match(xml)
    opening = None if head is None else _TEXT.search(xml, head.end())
    if head is None or opening is None or b"\r" in xml:
        return None
    start = end = opening.end()
    if xml[start - 2] != ord("/"):
        end = xml.find(b"<", start)
        if not xml.startswith(b"</text>", end):
            return None
    around = xml[:start] + xml[end:]
    if b"<!" in around or b"<?" in around or around.count(b"<revision") > 1:
        return None
    try:
        expat.ParserCreate("utf-8").Parse(around, True)
        text = _characters(xml[start:end])
    except (expat.ExpatError, UnicodeDecodeError):
        return None
    parts = [None if part is None else _decoded(part.decode()) for part in head.groups()]
    title, namespace, number, redirect = parts
    return _Fields(title, namespace, number, redirect=redirect, text=text)


def _characters(xml: bytes) -> str:
    """Return the text of XML without elements."""
    if b"&" not in xml and b"]]>" not in xml and xml.isascii():
        if len(xml.translate(None, _CONTROLS)) < len(xml):
            raise expat.ExpatError
        return xml.decode("ascii")
    parts: list[str] = []
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True  # otherwise one call per reference and line
    parser.CharacterDataHandler = parts.append
    parser.Parse(b"<t>" + xml + b"</t>", True)
    return "".join(parts)


def _decoded(text: str) -> str:
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return _NAMED[match[1]]
    code = int(match[2]) if match[2] else int(match[3], 16)
    return chr(code) if code < 0x110000 else "\ufffd"


def _read_carefully(xml: bytes) -> _Fields:
    """Parse a page as any well-formed XML."""
    try:
        elements = xml_elements(xml)
    except (expat.ExpatError, ValueError) as error:
        reason = _damage(xml)
        if reason is None:
            line = getattr(error, "lineno", 1)
            what = expat.ErrorString(getattr(error, "code", 4)) or "not well-formed"
            reason = f"line {line} of the page is not XML ({what})"
        raise BadPageError(reason) from None
    found: dict[str, str] = {}
    redirect = None
    for path, attributes, text in elements:
        if path == "page/redirect":
            redirect = attributes.get("title", redirect)
        elif path == "page/revision":  # of several, the last one counts
            found["text"] = found.pop("page/revision/text", "")
        found[path] = text
    title, namespace, number = map(found.get, ("page/title", "page/ns", "page/id"))
    return _Fields(title, namespace, number, redirect=redirect, text=found.get("text", ""))


def _number(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadPageError(f"the {what} is {text[:40]!r}, not a number") from None
