"""Limits of a client connection: time for heads and for writing, size of heads, and their number.

uvicorn's HTTP protocol parses the requests and runs the application. A `Connection` stands between
it and the transport, and counts bytes and seconds. `timed` reports when a request is handled.
"""

import asyncio
import json
from contextvars import ContextVar, copy_context
from http import HTTPStatus
from typing import Any

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from sgtb.serving.error_responses import failure_record
from sgtb.serving.service_settings import ServeSettings

_READ_BYTES = 16_384
"""Bytes parsed at once: a body of tiny chunks must not delay other clients."""
_RETRY_SECONDS = 1
_current: "ContextVar[Connection | None]" = ContextVar("connection", default=None)


class Connection(asyncio.BufferedProtocol):
    """A client connection.

    Closed when no complete head arrives in time, when the client does not read its response, and
    at once when there are too many connections. The time for a head starts with the connection or
    with the end of a response; bytes that arrive do not prolong it.
    """

    def __init__(self, *, settings: ServeSettings, **named: Any) -> None:
        self._http = H11Protocol(**named)
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray(_READ_BYTES)
        self._context = copy_context()
        self._context.run(_current.set, self)
        self._timer: asyncio.TimerHandle | None = None
        self._refused = False
        self._handled = self._active = self._waited_bytes = 0
        self._body_missing = False

    # The transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time for a head; refuse a connection beyond the limit."""
        self._transport = transport
        most = self._settings.max_connections
        if len(self._http.connections) >= most:
            self._refuse(
                HTTPStatus.SERVICE_UNAVAILABLE, "overloaded",
                f"more connections than the limit of {most:,}; try again later", most,
            )  # fmt: skip
            return
        self._http.connection_made(transport)
        self._watch(self._settings.idle_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        if not self._refused:
            self._http.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> bytearray:
        """Return the buffer that is read into."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse what was read."""
        if self._refused or self._transport.is_closing():
            return
        try:
            self._context.run(self._http.data_received, bytes(self._buffer[:nbytes]))
        except h11.LocalProtocolError:  # a broken body, but the response is already under way
            self._transport.abort()
        if not self._active and not self._body_missing:
            self._waited_bytes += nbytes
            if self._waited_bytes > self._settings.max_head_bytes:
                self._loop.call_soon(self._check_head)  # after the start of its request

    def eof_received(self) -> bool | None:
        """Close the connection."""
        return None

    def pause_writing(self) -> None:
        """Start the time for the client to read."""
        self._http.pause_writing()
        self._watch(self._settings.write_seconds)

    def resume_writing(self) -> None:
        """Continue a response."""
        self._http.resume_writing()

    # The application

    def request_begins(self) -> None:
        """Stop the time for a head: it is complete."""
        self._active += 1
        self._handled += 1
        self._stop_timer()

    def request_ends(self, body_missing: bool) -> None:
        """Start the time for the next head, or for the rest of a body, which is discarded.

        Most clients read the refusal of a body only after sending all of it.
        """
        self._active -= 1
        if self._active == 0:
            self._waited_bytes, self._body_missing = 0, body_missing
            settings = self._settings
            self._watch(settings.body_seconds if body_missing else settings.idle_seconds)

    # Limits

    def _watch(self, seconds: float) -> None:
        self._stop_timer()
        left = self._transport.get_write_buffer_size()
        self._timer = self._loop.call_later(seconds, self._check_time, left)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_time(self, before: int) -> None:
        """Close the connection unless a response is being read, or a request handled."""
        self._timer = None
        left = self._transport.get_write_buffer_size()
        if 0 < left < before:
            self._watch(self._settings.write_seconds)
        elif left or self._transport.is_closing():
            self._transport.abort()
        elif self._active == 0:
            if self._handled or not self._waited_bytes:
                self._transport.abort()
                return
            self._refuse(
                HTTPStatus.REQUEST_TIMEOUT, "too_slow",
                "the head of the request did not arrive within the limit of "
                f"{self._settings.idle_seconds:g} seconds", self._settings.idle_seconds,
            )  # fmt: skip

    def _check_head(self) -> None:
        most = self._settings.max_head_bytes
        if not self._active and self._waited_bytes > most and not self._transport.is_closing():
            self._refuse(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_long",
                f"the head of the request is longer than the limit of {most:,} bytes", most,
            )  # fmt: skip

    def _refuse(self, status: HTTPStatus, code: str, message: str, limit: float) -> None:
        """Send an error response and close the connection."""
        body = json.dumps(failure_record(code, message, limit)).encode()
        retry = (
            f"retry-after: {_RETRY_SECONDS}\r\n" if status == HTTPStatus.SERVICE_UNAVAILABLE else ""
        )
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nx-content-type-options: nosniff\r\n{retry}"
            "connection: close\r\n\r\n"
        )
        self._refused = status == HTTPStatus.SERVICE_UNAVAILABLE
        self._transport.write(head.encode() + body)
        self._transport.close()
        self._watch(self._settings.write_seconds)


def timed(app: ASGIApp) -> ASGIApp:
    """Report the begin and end of each request to its connection."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        connection = _current.get() if scope["type"] == "http" else None
        if connection is None:
            await app(scope, receive, send)
            return
        body_missing = True

        async def noted() -> Message:
            nonlocal body_missing
            message = await receive()
            body_missing = body_missing and message.get("more_body", False)
            return message

        connection.request_begins()
        try:
            await app(scope, noted, send)
        finally:
            connection.request_ends(body_missing)

    return handle
