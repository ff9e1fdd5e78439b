"""The NIF route, as GERBIL and ELEVANT use it: Turtle in, Turtle out."""

import asyncio
from threading import Event

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response

from sgtb.serving.engine import Engine
from sgtb.serving.error_responses import TooManyError
from sgtb.serving.link_requests import Options
from sgtb.serving.protocols.entity_iris import prefix_of
from sgtb.serving.protocols.form_bodies import text_of
from sgtb.serving.protocols.nif_turtle import (
    MEDIA_TYPE,
    TURTLE_TYPES,
    Context,
    LinkedContext,
    read_contexts,
    turtle,
)
from sgtb.serving.protocols.request_spans import link_text
from sgtb.serving.service_settings import ServeSettings

_OPTIONS = Options(candidates=1)
_STATEMENTS_PER_SPAN = 12
"""GERBIL sends six, and parsing is slow."""


def router(engine: Engine, settings: ServeSettings) -> APIRouter:
    """Return the route of NIF."""
    routes = APIRouter(include_in_schema=False)
    limit = _STATEMENTS_PER_SPAN * settings.max_spans
    parser_limit = CapacityLimiter(1)  # parsing holds the interpreter lock

    @routes.post("/nif")
    async def nif(request: Request) -> Response:
        """Link the given mentions of texts, or detect them where none are given.

        The body is read as Turtle, whatever its content type.
        """
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
        return Response(body, media_type=_response_type(request))

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


def _response_type(request: Request) -> str:
    """Return the media type of Turtle that a client accepts."""
    accepted = request.headers.get("accept", "").lower()
    return next((kind for kind in TURTLE_TYPES if kind in accepted), MEDIA_TYPE)
