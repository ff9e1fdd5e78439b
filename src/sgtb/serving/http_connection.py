"""HTTP protocol with limits on heads, idle connections, slow readers and the number of connections.

uvicorn's protocol does the rest. docs/design/architecture.md says why no server does all of it.
"""

import asyncio
import json
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sgtb.serving.error_responses import failure_record
from sgtb.serving.service_settings import ServeSettings

_RETRY_SECONDS = 1
_FRAMING = (b"content-length", b"transfer-encoding")


class Connection(HttpToolsProtocol):
    """A client connection.

    Closed when no complete head arrives in time, when a head is too long, when the client does not
    read its response, and at once when there are too many connections. The time for a head starts
    with the connection or with the end of a response; bytes that arrive do not prolong it.
    """

    def __init__(self, *arguments: Any, settings: ServeSettings, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._settings = settings
        self._timer: asyncio.TimerHandle | None = None
        self._in_head, self._head_bytes, self._began, self._is_first = True, 0, False, True
        self._ignores_head = self._is_broken = False

    # The transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time for a head; refuse a connection beyond the limit."""
        super().connection_made(transport)
        most = self._settings.max_connections
        if len(self.connections) > most:
            self._refuse(
                HTTPStatus.SERVICE_UNAVAILABLE, "overloaded",
                f"more connections than the limit of {most:,}; try again later", most,
            )  # fmt: skip
        else:
            self._watch(self._settings.idle_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data, within the limit of a head."""
        if self.transport.is_closing() or self._is_broken:
            return
        self._began = False
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("")
        if self._in_head and not self._began:  # what precedes the begin of a head is not counted
            self._head_bytes += len(data)
            most = self._settings.max_head_bytes
            if self._head_bytes > most and not self.transport.is_closing():
                self._refuse(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_long",
                    f"the head of the request is longer than the limit of {most:,} bytes", most,
                )  # fmt: skip

    def pause_writing(self) -> None:
        """Start the time for the client to read."""
        super().pause_writing()
        self._watch(self._settings.write_seconds)

    # The parser

    def on_message_begin(self) -> None:
        """Start a request head."""
        if self._ignores_head:
            return
        if not self._is_first:  # the first head is counted from its first byte
            self._began, self._head_bytes = True, 0
        self._in_head = True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Read the address of a request."""
        if not self._ignores_head:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Read a header."""
        if not self._ignores_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Finish a request head."""
        if self._ignores_head:
            self._ignores_head = False
            return
        self._in_head = self._is_first = False
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Finish a request body."""
        if not self.parser.should_upgrade():  # otherwise it is still to come
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start the time for the next head, or for the rest of a body, which is discarded.

        Most clients read the refusal of a body only after sending all of it.
        """
        waits = not self.pipeline
        missing = self.cycle.more_body
        super().on_response_complete()
        if waits and self._is_broken:
            self.send_400_response("")
        elif waits:
            settings = self._settings
            self._watch(settings.body_seconds if missing else settings.idle_seconds)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, after the responses to the requests before it."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete and not cycle.more_body:
            self._is_broken = True
        else:
            self._refuse(HTTPStatus.BAD_REQUEST, "bad_request", "not an HTTP request")

    def timeout_keep_alive_handler(self) -> None:
        """Leave idle connections to our own timer, which data does not stop."""

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Parse a body after an offer of another protocol, whose head ended the parser."""
        framing = b"".join(
            name + b": " + value + b"\r\n" for name, value in self.headers if name in _FRAMING
        )
        self.parser = httptools.HttpRequestParser(self)
        self._ignores_head = True
        self.data_received(b"POST / HTTP/1.1\r\n" + framing + b"\r\n" + rest)

    # Limits

    def _watch(self, seconds: float) -> None:
        self._stop_timer()
        left = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(seconds, self._check_time, left)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_time(self, before: int) -> None:
        """Close the connection unless a response is being read, or a request handled."""
        self._timer = None
        left = self.transport.get_write_buffer_size()
        if 0 < left < before:
            self._watch(self._settings.write_seconds)
        elif left or self.transport.is_closing():
            self.transport.abort()
        elif self._is_first and self._head_bytes:
            seconds = self._settings.idle_seconds
            self._refuse(
                HTTPStatus.REQUEST_TIMEOUT, "too_slow",
                f"the head of the request did not arrive within the limit of {seconds:g} seconds",
                seconds,
            )  # fmt: skip
        elif self._is_first or self.cycle.response_complete:
            self.transport.abort()

    def _refuse(
        self, status: HTTPStatus, code: str, message: str, limit: float | None = None
    ) -> None:
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
        self.transport.write(head.encode() + body)
        self.transport.close()
        self._watch(self._settings.write_seconds)
