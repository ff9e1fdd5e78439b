"""The application: routers and guards put together, and every error turned into JSON."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

import sgtb
from sgtb.core.errors import MissingExtraError, RequestError
from sgtb.serving import page_assets as page
from sgtb.serving import protocols
from sgtb.serving import routes as api
from sgtb.serving.engine import Engine
from sgtb.serving.error_responses import ServeError, failure_response, response_of
from sgtb.serving.middleware import Intake, Watch
from sgtb.serving.service_settings import ServeSettings

_ABOUT = """Names in text linked to the entities they mean, all of a document decided together.

Offsets count code points. Every error is JSON: `{"error": {"code", "message", "limit"}}`."""
_TOLD = 5
"""Mistakes in a body that are told at once."""


def create_app(engine: Engine, settings: ServeSettings | None = None) -> FastAPI:
    """Return the application of an engine, which it starts and closes."""
    settings = settings or engine.settings

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(engine.start)
        yield
        await run_in_threadpool(engine.close)

    # No pages of documentation: they would load scripts from other hosts.
    app = FastAPI(
        title="sgtb", version=sgtb.__version__, description=_ABOUT, lifespan=lifespan,
        docs_url=None, redoc_url=None, redirect_slashes=False,
    )  # fmt: skip
    app.include_router(api.router(engine, settings))
    for router in protocols.routers(engine, settings):
        app.include_router(router)
    app.include_router(page.router())
    _tell_errors(app)
    # The last to be added is the first to see a request.
    app.add_middleware(Intake, settings=settings)
    if settings.allow_origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=settings.allow_origins, allow_methods=["GET", "POST"],
            allow_headers=["content-type"],
        )  # fmt: skip
    app.add_middleware(Watch, metrics=engine.metrics, open_to_others=bool(settings.allow_origins))
    return app


def _tell_errors(app: FastAPI) -> None:
    @app.exception_handler(ServeError)
    async def refused(_: Request, error: ServeError) -> Response:
        return response_of(error)

    @app.exception_handler(RequestError)
    async def senseless(_: Request, error: RequestError) -> Response:
        return failure_response(422, "bad_request", str(error))

    @app.exception_handler(MissingExtraError)
    async def missing(_: Request, error: MissingExtraError) -> Response:
        return failure_response(501, "not_installed", str(error))

    @app.exception_handler(RequestValidationError)
    async def unreadable(_: Request, error: RequestValidationError) -> Response:
        return failure_response(422, "bad_request", _mistakes(error.errors()))

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        status = HTTPStatus(error.status_code)
        headers = dict(error.headers or {})
        return failure_response(status, status.name.lower(), str(error.detail), headers=headers)


def _mistakes(errors: Any) -> str:
    """Return what is wrong with a body, without repeating it."""
    told = []
    for error in errors[:_TOLD]:
        place = ".".join(str(part) for part in error["loc"] if part != "body")
        told.append(f"{place[:200]}: {error['msg']}" if place else str(error["msg"]))
    more = len(errors) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "")
