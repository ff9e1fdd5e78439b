"""NIF in Turtle, as GERBIL and ELEVANT use it: requests are read, linked texts are written.

A context is a text. A resource that refers to it with begin and end index is a mention, unless it
is a sentence, a word or the like: GERBIL marks the mentions of a benchmark as strings only.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Event
from typing import NamedTuple

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response

from sgtb.core.errors import RequestError
from sgtb.formats.rdf_turtle import (
    HEAD,
    ITS,
    NIF,
    TYPE,
    Statements,
    TurtleError,
    escaped,
    index,
    read_turtle,
    unicode_escape,
)
from sgtb.linking.links import Link, Span
from sgtb.serving.engine import Engine
from sgtb.serving.error_responses import TooManyError
from sgtb.serving.link_requests import Options
from sgtb.serving.protocols.entity_iris import entity_iri, nil_iri, prefix_of
from sgtb.serving.protocols.form_bodies import text_of
from sgtb.serving.protocols.request_spans import given_span, link_text

MEDIA_TYPE = "text/turtle"
TURTLE_TYPES = ("text/turtle", "application/x-turtle", "application/turtle")
_NO_MENTION = frozenset(
    NIF + kind for kind in ("Context", "Sentence", "Paragraph", "Title", "Word", "Structure")
)
_BASE = "http://nif.invalid/"  # base of relative IRIs: a posted document has no address
_UNNAMED = "urn:sgtb:document:"
_FRAGMENT = re.compile(r"#(?:char=[0-9]+,[0-9]*|offset_[0-9]+_[0-9]+)?\Z")
_NUMBER = re.compile(r"[0-9]{1,9}")
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|\\^`]')
_OPTIONS = Options(candidates=1)
_STATEMENTS_PER_SPAN = 12  # GERBIL sends six, and parsing is slow


class Context(NamedTuple):
    """A text to link."""

    iri: str
    text: str
    mentions: tuple[tuple[str, Span], ...]  # given IRIs and spans; detected if empty


class LinkedContext(NamedTuple):
    """A linked text and its links with their IRIs; "" for a generated IRI."""

    iri: str
    text: str
    links: Sequence[tuple[str, Link]]


def wants_turtle(request: Request) -> bool:
    """Whether a client prefers Turtle to JSON."""
    accepted = request.headers.get("accept", "").lower()
    places = [accepted.find(kind) for kind in TURTLE_TYPES if kind in accepted]
    json = accepted.find("application/json")
    return bool(places) and (json < 0 or min(places) < json)


def read_contexts(
    text: str, limit: int, stopped: Callable[[], bool] = lambda: False
) -> list[Context]:
    """Read the contexts of a document of limited length, in order, until `stopped` is true."""
    values = _values(text, limit, stopped)
    mentions: dict[str, list[tuple[str, Span]]] = {
        iri: [] for iri, properties in values.items() if NIF + "isString" in properties
    }
    if not mentions:
        raise RequestError("the document has no nif:Context with a nif:isString")
    texts = {iri: _one(values, iri, "isString") for iri in mentions}
    for iri, properties in values.items():
        if _is_mention(properties):
            context = _one(values, iri, "referenceContext")
            if context not in mentions:
                raise RequestError(
                    f"{iri!r:.100}: the context {context!r:.100} has no nif:isString"
                )
            start, end = (_index(values, iri, key) for key in ("beginIndex", "endIndex"))
            name = _one(values, iri, "anchorOf") if NIF + "anchorOf" in properties else None
            mentions[context].append((iri, given_span(texts[context], start, end, name)))
    return [Context(iri, texts[iri], tuple(given)) for iri, given in mentions.items()]


def turtle(documents: Iterable[LinkedContext], prefix: str) -> bytes:
    """Return linked texts in Turtle."""
    parts = [HEAD]
    for i, document in enumerate(documents):
        parts += _statements(document, i, prefix)
    return "".join(parts).encode(errors="replace")  # lone surrogates


def _statements(document: LinkedContext, number: int, prefix: str) -> Iterator[str]:
    text = document.text
    whole = document.iri if _is_named(document.iri) else f"{_UNNAMED}{number}"
    base = _FRAGMENT.sub("", whole)
    by_characters = "#char=" in whole
    kind = "nif:RFC5147String" if by_characters else "nif:OffsetBasedString"
    if not document.iri:
        whole = _place(base, by_characters, 0, len(text))
    context = _iri(whole)
    yield (
        f"\n{context}\n\ta nif:Context , nif:String , {kind} ;\n"
        f"\tnif:beginIndex {index(0)} ;\n\tnif:endIndex {index(len(text))} ;\n"
        f'\tnif:isString "{escaped(text)}" .\n'
    )
    for iri, link in document.links:
        place = iri if _is_named(iri) else _place(base, by_characters, link.start, link.end)
        entity = (
            nil_iri(link.text)
            if link.entity is None
            else entity_iri(link.entity, link.title, prefix)
        )
        yield (
            f"\n{_iri(place)}\n\ta nif:Phrase , nif:String , {kind} ;\n"
            f"\tnif:referenceContext {context} ;\n"
            f"\tnif:beginIndex {index(link.start)} ;\n\tnif:endIndex {index(link.end)} ;\n"
            f'\tnif:anchorOf "{escaped(link.text)}" ;\n'
            f'\titsrdf:taConfidence "{round(link.confidence, 6)}"^^xsd:double ;\n'
            f"\titsrdf:taIdentRef {_iri(entity)} .\n"
        )


def _place(base: str, by_characters: bool, start: int, end: int) -> str:
    return f"{base}#char={start},{end}" if by_characters else f"{base}#offset_{start}_{end}"


def _iri(iri: str) -> str:
    return "<" + _NOT_IN_IRI.sub(unicode_escape, iri) + ">"


def _is_named(iri: str) -> bool:
    return iri != "" and not iri.startswith("_:")


def _is_mention(properties: Mapping[str, list[str]]) -> bool:
    if not all(NIF + key in properties for key in ("referenceContext", "beginIndex", "endIndex")):
        return False
    kinds = {*properties.get(TYPE, ())}
    if NIF + "Phrase" in kinds or ITS + "taIdentRef" in properties:
        return True
    # A mention that covers its text has the IRI of the text.
    return not kinds & _NO_MENTION or (NIF + "Context" in kinds and NIF + "anchorOf" in properties)


def _one(values: Statements, iri: str, key: str) -> str:
    """Return the single value of a property."""
    found = set(values[iri][NIF + key])
    if len(found) > 1:
        raise RequestError(f"{iri!r:.100} has {len(found)} values of nif:{key}; one is allowed")
    return found.pop()


def _index(values: Statements, iri: str, key: str) -> int:
    value = _one(values, iri, key)
    if not _NUMBER.fullmatch(value):
        raise RequestError(f"{iri!r:.100}: nif:{key} is {value!r:.40}, not a number")
    return int(value)


def _values(text: str, limit: int, stopped: Callable[[], bool]) -> Statements:
    left = limit

    def check() -> None:
        nonlocal left
        left -= 1
        if stopped():
            raise RequestError("the request has ended")
        if left < 0:
            raise TooManyError(
                f"the document has more statements than the limit of {limit:,}", limit
            )

    try:
        return read_turtle(text, _BASE, check)
    except TurtleError as error:
        message = f"the document is not Turtle, line {error.line}: {error.why:.100}"
        raise RequestError(message) from None


def router(engine: Engine) -> APIRouter:
    """Return the route of NIF."""
    routes, settings = APIRouter(include_in_schema=False), engine.settings
    limit = _STATEMENTS_PER_SPAN * settings.max_spans
    parser_limit = CapacityLimiter(1)  # parsing holds the interpreter lock

    @routes.post("/nif")
    async def nif(request: Request) -> Response:
        """Link the given mentions of texts, otherwise those found; any body is read as Turtle."""
        text = await text_of(request)
        contexts = await read(text)
        if len(contexts) > settings.max_batch:
            raise TooManyError(
                f"{len(contexts):,} contexts are more than the limit of {settings.max_batch:,}",
                settings.max_batch,
            )
        linked = await asyncio.gather(*(link_context(context) for context in contexts))
        prefix = prefix_of(engine.linker.kb, settings.entity_prefix)
        body = await to_thread.run_sync(turtle, linked, prefix)
        accepted = request.headers.get("accept", "").lower()
        media_type = next((kind for kind in TURTLE_TYPES if kind in accepted), MEDIA_TYPE)
        return Response(body, media_type=media_type)

    async def read(text: str) -> list[Context]:
        """Parse a document; stop when the time of the request is over or its client has left."""
        stopped = Event()
        try:
            return await to_thread.run_sync(
                read_contexts, text, limit, stopped.is_set, limiter=parser_limit,
                abandon_on_cancel=True,
            )  # fmt: skip
        finally:
            stopped.set()

    async def link_context(context: Context) -> LinkedContext:
        spans = [span for _, span in context.mentions]
        links = await link_text(engine, context.text, spans or None, _OPTIONS)
        names = [iri for iri, _ in context.mentions] or [""] * len(links)
        return LinkedContext(context.iri, context.text, list(zip(names, links, strict=True)))

    return routes
