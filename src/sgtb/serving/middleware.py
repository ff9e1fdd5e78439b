"""Guards: what every request passes on its way in, and every answer on its way out."""

import asyncio
import logging
import time
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sgtb.serving.error_responses import INTERNAL, failure_response
from sgtb.serving.service_metrics import Metrics
from sgtb.serving.service_settings import ServeSettings

log = logging.getLogger("sgtb.serving")
CONTENT_SECURITY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    ("content-security-policy", CONTENT_SECURITY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("cross-origin-opener-policy", "same-origin"),
)
_OWN_ORIGIN = ("cross-origin-resource-policy", "same-origin")
_NOT_KEPT = ("cache-control", "no-store")


class Watch:
    """Counts requests, keeps errors from leaving with what they know, and adds headers.

    The headers keep browsers from doing more than they should.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, open_to_others: bool = False) -> None:
        self.app, self.metrics = app, metrics
        headers = _HEADERS if open_to_others else (*_HEADERS, _OWN_ORIGIN)
        self._headers = _encoded(headers)
        self._not_kept = _encoded([_NOT_KEPT])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = list(message.get("headers", ()))
                kept = any(name == b"cache-control" for name, _ in given)
                message["headers"] = [*given, *self._headers, *([] if kept else self._not_kept)]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception as error:
            log.error("a request failed", exc_info=error)
            if status:
                raise  # half of an answer is out: all that is left is to hang up
            await failure_response(500, "internal", INTERNAL)(scope, receive, watched)
        finally:
            self.metrics.request(scope["path"], status, time.perf_counter() - begin)


class Intake:
    """Reads a body whole before anything else happens, unless it is too long or too slow.

    Ends a request whose sender has gone: what nobody waits for need not be linked.
    """

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        seconds, most = self.settings.body_seconds, self.settings.max_body_bytes
        try:
            async with asyncio.timeout(seconds):
                body = await _read(scope, receive, most)
        except TimeoutError:
            told = f"the body did not arrive within the limit of {seconds:g} seconds"
            refused = failure_response(408, "too_slow", told, seconds, {"connection": "close"})
            await refused(scope, receive, send)
        except _TooLongError:
            told = f"the body is longer than the limit of {most:,} bytes"
            refused = failure_response(413, "too_long", told, most)
            await refused(scope, receive, send)
        else:
            if body is not None:
                await self._pass_on(scope, body, receive, send)

    async def _pass_on(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        read = asyncio.Event()
        answered = gone = False

        async def at_once() -> Message:
            if not read.is_set():
                read.set()
                return {"type": "http.request", "body": body, "more_body": False}
            await asyncio.Event().wait()  # `watch` ends it
            raise AssertionError

        async def noted(message: Message) -> None:
            nonlocal answered
            answered = answered or message["type"] == "http.response.start"
            await send(message)

        async def watch() -> None:
            nonlocal gone
            while (await receive())["type"] != "http.disconnect":
                pass
            if not answered:
                gone = True
                task.cancel()

        watching = asyncio.create_task(watch())
        try:
            await self.app(scope, at_once, noted)
        except asyncio.CancelledError:
            if not gone:
                raise
            task.uncancel()
        finally:
            watching.cancel()


class _TooLongError(Exception):
    pass


async def _read(scope: Scope, receive: Receive, most: int) -> bytes | None:
    """Return the body of a request; None: its sender has gone."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:20]) > most:
            raise _TooLongError
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _TooLongError
        if not message.get("more_body", False):
            return b"".join(parts)


def _encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers]
