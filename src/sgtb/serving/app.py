"""The web application: routes, middleware and error handlers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic.json_schema import models_json_schema
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

import sgtb
from sgtb.core.errors import MissingExtraError, RequestError
from sgtb.serving import page_assets as page
from sgtb.serving import routes as api
from sgtb.serving.access import AccessGuard
from sgtb.serving.engine import Engine
from sgtb.serving.error_responses import ServeError, failure_response, response_of
from sgtb.serving.middleware import BodyReader, ResponseGuard
from sgtb.serving.protocols import entity_fishing, nif_protocol, rel, spotlight

_ABOUT = """Links names in text to the entities they mean, all names of a document jointly.

Offsets count code points. Every error is JSON: `{"error": {"code", "message", "limit"}}`."""
_MAX_ERRORS = 5  # validation errors reported at once


def create_app(engine: Engine) -> FastAPI:
    """Return the application; it starts and closes the engine."""
    settings = engine.settings

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(engine.start)
        yield
        await run_in_threadpool(engine.close)

    # The documentation pages of FastAPI load scripts from other hosts; /docs is a page of ours.
    app = FastAPI(
        title="sgtb", version=sgtb.__version__, description=_ABOUT, lifespan=lifespan,
        docs_url=None, redoc_url=None, redirect_slashes=False,
    )  # fmt: skip
    for part in (api, rel, spotlight, nif_protocol, entity_fishing):
        app.include_router(part.router(engine))
    app.include_router(page.router())
    _handle_errors(app)
    app.openapi = partial(_openapi, app)  # type: ignore[method-assign]
    # The middleware added last sees a request first.
    app.add_middleware(BodyReader, engine=engine)
    if settings.tokens is not None or settings.rate_limit is not None:
        app.add_middleware(AccessGuard, tokens=settings.tokens, rate=settings.rate_limit)
    if settings.allow_origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=settings.allow_origins, allow_methods=["GET", "POST"],
            allow_headers=["content-type", "authorization"],
        )  # fmt: skip
    app.add_middleware(
        ResponseGuard, metrics=engine.metrics, cross_origin=bool(settings.allow_origins)
    )
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the bodies that are parsed by `body_of`."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        _, bodies = models_json_schema(
            [(body, "validation") for body in api.BODIES], ref_template=api.REFERENCE
        )
        document["components"]["schemas"] |= bodies["$defs"]
    assert app.openapi_schema is not None
    return app.openapi_schema


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(ServeError)
    async def failed(_: Request, error: ServeError) -> Response:
        return response_of(error)

    @app.exception_handler(RequestError)
    async def invalid(_: Request, error: RequestError) -> Response:
        return failure_response(422, "bad_request", str(error))

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: RequestValidationError) -> Response:
        return failure_response(422, "bad_request", _validation_message(error.errors()))

    @app.exception_handler(MissingExtraError)
    async def missing(_: Request, error: MissingExtraError) -> Response:
        return failure_response(501, "not_installed", str(error))

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        status = HTTPStatus(error.status_code)
        headers = dict(error.headers or {})
        return failure_response(status, status.name.lower(), str(error.detail), headers=headers)


def _validation_message(errors: Any) -> str:
    """Describe validation errors without repeating the body."""
    messages = []
    for error in errors[:_MAX_ERRORS]:
        place = ".".join(str(part) for part in error["loc"] if part != "body")
        messages.append(f"{place[:200]}: {error['msg']}" if place else str(error["msg"]))
    if more := len(errors) - len(messages):
        messages.append(f"and {more} more")
    return "; ".join(messages)
