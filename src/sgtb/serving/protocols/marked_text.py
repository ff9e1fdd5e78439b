"""Texts with marked mentions, in the two formats of DBpedia Spotlight.

    <annotation text="Homer saw Troy."><surfaceForm name="Troy" offset="10"/></annotation>
    Homer saw [[Troy]].

Clients do not escape texts in the first one, so it is not parsed as XML: only a quote ends a value.
"""

import re
import sys
from typing import NamedTuple

from sgtb.core.errors import RequestError
from sgtb.linking.links import Span
from sgtb.serving.protocols.request_spans import given_span

_ATTRIBUTES = r"((?:\s+[A-Za-z]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*+)\s*/?>"
_ANNOTATION = re.compile(r"<annotation" + _ATTRIBUTES)
_FORM = re.compile(r"<surfaceForm" + _ATTRIBUTES)
_ATTRIBUTE = re.compile(r"([A-Za-z]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_MARKED = re.compile(r"\[\[([^\[\]]*)\]\]")
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_OFFSET = re.compile(r"\s*([0-9]{1,9})\s*")


class Spotted(NamedTuple):
    """A text and its given mentions."""

    text: str
    spans: tuple[Span, ...]


def read_spots(text: str) -> Spotted:
    """Read a text in either format."""
    return read_xml(text) if _ANNOTATION.search(text) else read_markup(text)


def read_xml(text: str) -> Spotted:
    """Read an `<annotation>` with its `<surfaceForm>`s."""
    annotation = _ANNOTATION.search(text)
    whole = None if annotation is None else _attributes(annotation[1]).get("text")
    if annotation is None or whole is None:
        raise RequestError('there is no <annotation text="…"> in the text')
    spans = []
    for form in _FORM.finditer(text, annotation.end()):
        attributes = _attributes(form[1])
        name, offset = attributes.get("name", ""), attributes.get("offset", "")
        at = _OFFSET.fullmatch(offset)
        if not name or at is None:
            raise RequestError(
                f"a surfaceForm has the name {name!r:.40} and the offset {offset!r:.40}; "
                "it needs both"
            )
        spans.append(given_span(whole, int(at[1]), int(at[1]) + len(name), name))
    return Spotted(whole, tuple(spans))


def read_markup(text: str) -> Spotted:
    """Read mentions in double brackets; text before a bar is ignored."""
    parts: list[str] = []
    spans, at, length = [], 0, 0
    for mark in _MARKED.finditer(text):
        name = mark[1].rpartition("|")[2]
        before = text[at : mark.start()]
        start = length + len(before)
        if name.strip():
            spans.append(Span(start, start + len(name)))
        parts += [before, name]
        at, length = mark.end(), start + len(name)
    if not spans:
        raise RequestError(
            'the text marks no mention; write <annotation text="…"><surfaceForm name="…" '
            'offset="…"/></annotation>, or [[double brackets]] around mentions'
        )
    return Spotted("".join([*parts, text[at:]]), tuple(spans))


def _attributes(text: str) -> dict[str, str]:
    return {
        found[1]: _ENTITY.sub(_character, found[2] if found[3] is None else found[3])
        for found in _ATTRIBUTE.finditer(text)
    }


def _character(entity: "re.Match[str]") -> str:
    name, decimal, hexadecimal = entity.groups()
    if name:
        return _NAMED[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code <= sys.maxunicode else entity[0]
