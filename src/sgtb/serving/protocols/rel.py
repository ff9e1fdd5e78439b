"""The protocol of REL, the Radboud Entity Linker: `{"text", "spans"}` in, a list of lists out."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from sgtb.core.errors import RequestError
from sgtb.linking.links import Link, Span
from sgtb.serving.engine import Engine, check_number
from sgtb.serving.link_requests import Options
from sgtb.serving.protocols.form_bodies import json_object, text_of
from sgtb.serving.protocols.request_spans import given_span, link_text
from sgtb.serving.routes import json_response
from sgtb.serving.schemas import MAX_INLINE
from sgtb.serving.service_settings import ServeSettings

_PATHS = ("/", "/ne", "/api", "/api/", "/api/ne")
_OPTIONS = Options(candidates=1)
_UNKNOWN = "NULL"
_UP = {"schemaVersion": 1, "label": "status", "message": "up", "color": "green"}


def router(engine: Engine) -> APIRouter:
    """Return the routes of REL's server and of its public service."""
    routes = APIRouter(include_in_schema=False)

    async def link(request: Request) -> Response:
        """Link a text, or its given mentions."""
        given = await text_of(request)

        def read() -> tuple[str, list[Span]]:
            body = json_object(given)
            return _text(body), _spans(body, engine.settings)

        text, spans = read() if len(given) <= MAX_INLINE else await run_in_threadpool(read)
        links = await link_text(engine, text, spans or None, _OPTIONS)
        rows = [_row(link, given=bool(spans)) for link in links if link.entity is not None]
        return json_response(rows)

    for path in _PATHS:
        routes.add_api_route(path, link, methods=["POST"], response_model=None)

    @routes.get("/api")
    async def status() -> Response:
        """Return that the service is up."""
        return json_response(_UP)

    return routes


def _text(body: Mapping[str, Any]) -> str:
    text = body.get("text")
    if not isinstance(text, str):
        raise RequestError(f'"text" is {text!r:.40}; it must be a string')
    return text


def _spans(body: Mapping[str, Any], settings: ServeSettings) -> list[Span]:
    """Return the given mentions: pairs or objects of start and length."""
    given = body.get("spans")
    if given is None:
        return []
    if not isinstance(given, list):
        raise RequestError(f'"spans" is {given!r:.40}; it must be a list of [start, length]')
    check_number(len(given), settings)
    text, spans = _text(body), []
    for span in given:
        pair = [span.get("start"), span.get("length")] if isinstance(span, dict) else span
        if not isinstance(pair, list) or len(pair) != 2:
            raise RequestError(f'"spans" has {span!r:.40}; a span is [start, length]')
        start, length = pair
        whole = all(isinstance(one, int) and not isinstance(one, bool) for one in pair)
        spans.append(given_span(text, start, start + length if whole else length))
    return spans


def _row(link: Link, given: bool) -> list[Any]:
    """Return start, length, mention, title, confidence, and confidence and tag of the detection.

    REL has no detection confidence or tag for given mentions. For detected ones the confidence of
    the link stands for both.
    """
    name = (link.title or link.entity or "").replace(" ", "_")
    confidence = round(link.confidence, 6)
    found = (0.0, _UNKNOWN) if given else (confidence, link.type or _UNKNOWN)
    return [link.start, link.end - link.start, link.text, name, confidence, *found]
