"""NIF as it goes over the wire: what a client asks for, and its answer, both in Turtle.

A context is a text. What refers to it with a beginning and an end is a mention, unless it is said
to be a sentence, a word or the like: GERBIL gives the mentions of a benchmark without saying more
of them than that they are strings.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from starlette.requests import Request

from sgtb.core.errors import MissingExtraError, RequestError
from sgtb.formats.codecs.nif import NIF
from sgtb.linking.links import Link, Span
from sgtb.serving.error_responses import TooManyError
from sgtb.serving.protocols.entity_iris import entity_iri, nil_iri
from sgtb.serving.protocols.request_spans import given_span

MEDIA_TYPE = "text/turtle"
TURTLE_TYPES = ("text/turtle", "application/x-turtle", "application/turtle")
_ITS = "http://www.w3.org/2005/11/its/rdf#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_HEAD = f"@prefix nif: <{NIF}> .\n@prefix itsrdf: <{_ITS}> .\n@prefix xsd: <{_XSD}> .\n"
_NO_MENTION = frozenset(
    NIF + kind for kind in ("Context", "Sentence", "Paragraph", "Title", "Word", "Structure")
)
_BASE = "http://nif.invalid/"
"""What relative IRIs are relative to: a document that was posted has no address."""
_NAMELESS = "urn:sgtb:document:"
_FRAGMENT = re.compile(r"#(?:char=[0-9]+,[0-9]*|offset_[0-9]+_[0-9]+)?\Z")
_NUMBER = re.compile(r"[0-9]{1,9}")
_ESCAPES = re.compile(r'[\x00-\x1f\x7f"\\]')
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|\\^`]')
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


class Context(NamedTuple):
    """A text to be linked.

    mentions  those given: their IRIs and places; without any they are to be found
    """

    iri: str
    text: str
    mentions: tuple[tuple[str, Span], ...]


class Written(NamedTuple):
    """A text to be written, with its links and their IRIs.

    iri  of the text, and of a link; "": it has none, and gets one
    """

    iri: str
    text: str
    links: Sequence[tuple[str, Link]]


def wants_turtle(request: Request) -> bool:
    """Whether a client asks for Turtle, and not for JSON before it."""
    accepted = request.headers.get("accept", "").lower()
    places = [accepted.find(kind) for kind in TURTLE_TYPES if kind in accepted]
    json = accepted.find("application/json")
    return bool(places) and (json < 0 or min(places) < json)


def read_contexts(text: str, most: int) -> list[Context]:
    """Read the texts of a document in Turtle, in its order.

    most  statements that are read; of more the document is refused
    """
    values = _values(text, most)
    mentions: dict[str, list[tuple[str, Span]]] = {
        iri: [] for iri, said in values.items() if NIF + "isString" in said
    }
    if not mentions:
        raise RequestError("there is no nif:Context with a nif:isString in the document")
    texts = {iri: _one(values, iri, "isString") for iri in mentions}
    for iri, said in values.items():
        if _is_mention(said):
            context = _one(values, iri, "referenceContext")
            if context not in mentions:
                raise RequestError(
                    f"{iri!r:.100}: the context {context!r:.100} has no nif:isString"
                )
            start, end = (_index(values, iri, key) for key in ("beginIndex", "endIndex"))
            name = _one(values, iri, "anchorOf") if NIF + "anchorOf" in said else None
            mentions[context].append((iri, given_span(texts[context], start, end, name)))
    return [Context(iri, texts[iri], tuple(given)) for iri, given in mentions.items()]


def turtle(documents: Iterable[Written], prefix: str) -> bytes:
    """Return linked texts in Turtle.

    prefix  of the IRIs of entities
    """
    parts = [_HEAD]
    for i, document in enumerate(documents):
        parts += _statements(document, i, prefix)
    return "".join(parts).encode(errors="replace")  # half a surrogate pair is no character


def _statements(document: Written, number: int, prefix: str) -> Iterator[str]:
    text = document.text
    whole = document.iri if document.iri and not _is_blank(document.iri) else _nameless(number)
    base = _FRAGMENT.sub("", whole)
    by_characters = "#char=" in whole
    kind = "nif:RFC5147String" if by_characters else "nif:OffsetBasedString"
    if not document.iri:
        whole = _place(base, by_characters, 0, len(text))
    context = _iri(whole)
    yield (
        f"\n{context}\n\ta nif:Context , nif:String , {kind} ;\n"
        f"\tnif:beginIndex {_number(0)} ;\n\tnif:endIndex {_number(len(text))} ;\n"
        f'\tnif:isString "{_escaped(text)}" .\n'
    )
    for iri, link in document.links:
        place = (
            iri if iri and not _is_blank(iri) else _place(base, by_characters, link.start, link.end)
        )
        entity = (
            nil_iri(link.text)
            if link.entity is None
            else entity_iri(link.entity, link.title, prefix)
        )
        yield (
            f"\n{_iri(place)}\n\ta nif:Phrase , nif:String , {kind} ;\n"
            f"\tnif:referenceContext {context} ;\n"
            f"\tnif:beginIndex {_number(link.start)} ;\n\tnif:endIndex {_number(link.end)} ;\n"
            f'\tnif:anchorOf "{_escaped(link.text)}" ;\n'
            f'\titsrdf:taConfidence "{round(link.confidence, 6)}"^^xsd:double ;\n'
            f"\titsrdf:taIdentRef {_iri(entity)} .\n"
        )


def _nameless(number: int) -> str:
    return f"{_NAMELESS}{number}"


def _place(base: str, by_characters: bool, start: int, end: int) -> str:
    return f"{base}#char={start},{end}" if by_characters else f"{base}#offset_{start}_{end}"


def _number(value: int) -> str:
    return f'"{value}"^^xsd:nonNegativeInteger'


def _escaped(text: str) -> str:
    return _ESCAPES.sub(lambda found: _SHORT.get(found[0], _escape(found)), text)


def _iri(iri: str) -> str:
    return "<" + _NOT_IN_IRI.sub(_escape, iri) + ">"


def _escape(character: "re.Match[str]") -> str:
    return f"\\u{ord(character[0]):04X}"


def _is_blank(iri: str) -> bool:
    return iri.startswith("_:")


def _is_mention(said: Mapping[str, list[str]]) -> bool:
    if not all(NIF + key in said for key in ("referenceContext", "beginIndex", "endIndex")):
        return False
    kinds = {*said.get(_TYPE, ())}
    if NIF + "Phrase" in kinds or _ITS + "taIdentRef" in said:
        return True
    # A mention that is all of its text has the same IRI as the text.
    return not kinds & _NO_MENTION or (NIF + "Context" in kinds and NIF + "anchorOf" in said)


def _one(values: Mapping[str, Mapping[str, list[str]]], iri: str, key: str) -> str:
    """Return the only value there should be."""
    found = set(values[iri][NIF + key])
    if len(found) > 1:
        raise RequestError(f"{iri!r:.100} has {len(found)} values of nif:{key}; there can be one")
    return found.pop()


def _index(values: Mapping[str, Mapping[str, list[str]]], iri: str, key: str) -> int:
    value = _one(values, iri, key)
    if not _NUMBER.fullmatch(value):
        raise RequestError(f"{iri!r:.100}: nif:{key} is {value!r:.40}, which is no number")
    return int(value)


def _values(text: str, most: int) -> dict[str, dict[str, list[str]]]:
    """Return what a document says: values by subject and predicate, in its order."""
    try:
        rdflib = import_module("rdflib")
    except ImportError:
        raise MissingExtraError(
            "reading NIF needs the package rdflib: pip install 'sgtb[nif]'"
        ) from None
    # It warns of numbers and IRIs that are none: the caller is told, the log need not be.
    logging.getLogger("rdflib.term").disabled = True
    values: dict[str, dict[str, list[str]]] = {}
    left = most

    def named(node: Any) -> str:
        return f"_:{node}" if isinstance(node, rdflib.BNode) else str(node)

    def add(triple: tuple[Any, Any, Any]) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise TooManyError(f"the document has more statements than the limit of {most:,}", most)
        subject, predicate, value = (named(node) for node in triple)
        values.setdefault(subject, {}).setdefault(predicate, []).append(value)

    graph: Any = rdflib.Graph(bind_namespaces="none")
    graph.add = add  # taken on the way in: a graph itself knows no order
    try:
        graph.parse(data=text.removeprefix("\ufeff"), format="turtle", publicID=_BASE)
    except TooManyError:
        raise
    except Exception as error:  # it raises whatever a damaged document leads to
        line = getattr(error, "lines", 0) + 1
        why = str(getattr(error, "_why", "")) or type(error).__name__
        raise RequestError(f"the document is no Turtle, line {line}: {why:.100}") from None
    return values
