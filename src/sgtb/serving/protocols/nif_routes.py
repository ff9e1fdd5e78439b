"""NIF: what GERBIL and ELEVANT ask linkers with. Turtle in, Turtle out."""

import asyncio

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response

from sgtb.linking.links import Request as Asked
from sgtb.serving.engine import Engine
from sgtb.serving.error_responses import TooManyError
from sgtb.serving.link_requests import Options
from sgtb.serving.protocols.form_bodies import text_of
from sgtb.serving.protocols.nif_turtle import (
    MEDIA_TYPE,
    TURTLE_TYPES,
    Context,
    Written,
    read_contexts,
    turtle,
)
from sgtb.serving.protocols.request_spans import link_given
from sgtb.serving.service_settings import ServeSettings

_OPTIONS = Options(candidates=1)
_STATEMENTS = 12
"""For each mention that a text may have: GERBIL makes six of them, and reading many is slow."""


def router(engine: Engine, settings: ServeSettings) -> APIRouter:
    """Return the route of NIF."""
    routes = APIRouter(include_in_schema=False)
    most = _STATEMENTS * settings.max_spans
    one_reads = CapacityLimiter(1)  # reading holds on to the interpreter: others would only wait

    @routes.post("/nif")
    async def nif(request: Request) -> Response:
        """Link the mentions given in texts, or find them where none are given.

        The body is taken for Turtle, whatever its header says, and without one.
        """
        text = await text_of(request)
        contexts = await to_thread.run_sync(read_contexts, text, most, limiter=one_reads)
        if len(contexts) > settings.max_batch:
            raise TooManyError(
                f"{len(contexts):,} contexts are more than the limit of {settings.max_batch:,}",
                settings.max_batch,
            )
        linked = await asyncio.gather(*(answered(context) for context in contexts))
        body = await to_thread.run_sync(turtle, linked, settings.entity_prefix)
        return Response(body, media_type=_answer_type(request))

    async def answered(context: Context) -> Written:
        if context.mentions:
            spans = [span for _, span in context.mentions]
            links = await link_given(engine, context.text, spans, _OPTIONS)
            names = [iri for iri, _ in context.mentions]
            return Written(context.iri, context.text, list(zip(names, links, strict=True)))
        found = await engine.link(Asked(context.text), _OPTIONS)
        return Written(context.iri, context.text, [("", link) for link in found.links])

    return routes


def _answer_type(request: Request) -> str:
    """Return the name of Turtle that a client uses."""
    accepted = request.headers.get("accept", "").lower()
    return next((kind for kind in TURTLE_TYPES if kind in accepted), MEDIA_TYPE)
