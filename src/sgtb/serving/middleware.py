"""ASGI middleware: request bodies read within limits, security headers, errors, metrics."""

import asyncio
import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sgtb.serving.engine import Engine
from sgtb.serving.error_responses import INTERNAL, TooLongError, failure_response, response_of
from sgtb.serving.service_metrics import Metrics

log = logging.getLogger("sgtb.serving")
CONTENT_SECURITY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_SAME_ORIGIN = (b"cross-origin-resource-policy", b"same-origin")
_NO_STORE = (b"cache-control", b"no-store")


class ResponseGuard:
    """Counts requests, adds security headers, and hides internal errors."""

    def __init__(self, app: ASGIApp, metrics: Metrics, cross_origin: bool = False) -> None:
        self.app, self.metrics = app, metrics
        self._headers = [*_HEADERS, *([] if cross_origin else [_SAME_ORIGIN])]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ()))
                cached = any(name == b"cache-control" for name, _ in headers)
                message["headers"] = [*headers, *self._headers, *([] if cached else [_NO_STORE])]
            await send(message)

        try:
            await self.app(scope, receive, guarded)
        except Exception as error:
            log.error("a request failed", exc_info=error)
            if status:
                raise  # part of the response is out: the connection is closed
            await failure_response(500, "internal", INTERNAL)(scope, receive, guarded)
        finally:
            self.metrics.request(scope["path"], status, time.perf_counter() - start)


class BodyReader:
    """Reads bodies within limits; cancels requests that take too long or lost their client."""

    def __init__(self, app: ASGIApp, engine: Engine) -> None:
        self.app, self.engine, self.settings = app, engine, engine.settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body and handle the request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        names = {name for name, _ in scope["headers"]}
        if b"content-length" in names and b"transfer-encoding" in names:
            # A proxy may see another end of the body.
            message = "the request has more than one length"
            response = failure_response(400, "bad_request", message, None, {"connection": "close"})
            await response(scope, receive, send)
            return
        seconds, limit = self.settings.body_seconds, self.settings.max_body_bytes
        try:
            async with asyncio.timeout(seconds):
                body = await _read(scope, receive, limit)
        except TimeoutError:
            message = f"the body did not arrive within the limit of {seconds:g} seconds"
            response = failure_response(408, "too_slow", message, seconds, {"connection": "close"})
            await response(scope, receive, send)
        except TooLongError as error:
            await response_of(error)(scope, receive, send)
        else:
            if body is not None:
                await self._handle(scope, body, receive, send)

    async def _handle(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        read = asyncio.Event()
        answered = disconnected = False

        async def buffered() -> Message:
            if not read.is_set():
                read.set()
                return {"type": "http.request", "body": body, "more_body": False}
            await asyncio.Event().wait()  # cancelled with the request
            raise AssertionError

        async def noted(message: Message) -> None:
            nonlocal answered
            answered = answered or message["type"] == "http.response.start"
            await send(message)

        async def watch() -> None:
            nonlocal disconnected
            while (await receive())["type"] != "http.disconnect":
                pass
            if not answered:
                disconnected = True
                task.cancel()

        watching = asyncio.create_task(watch())
        try:
            async with asyncio.timeout(self.settings.request_seconds):
                await self.app(scope, buffered, noted)
        except TimeoutError:
            if answered:
                raise
            await response_of(self.engine.too_late())(scope, receive, send)
        except asyncio.CancelledError:
            if not disconnected:
                raise
            task.uncancel()
        finally:
            watching.cancel()


async def _read(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    """Return the body of a request; None if the client has disconnected."""
    too_long = TooLongError(f"the body is longer than the limit of {limit:,} bytes", limit)
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:20]) > limit:
            raise too_long
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise too_long
        if not message.get("more_body", False):
            return b"".join(parts)
