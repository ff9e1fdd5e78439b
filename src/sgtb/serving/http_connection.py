"""HTTP protocol with header, idle and write timeouts."""

import asyncio
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sgtb.serving.error_responses import failure_record
from sgtb.serving.service_settings import ServeSettings

_RETRY_SECONDS = 1


class Connection(HttpToolsProtocol):
    """A client connection.

    Closed when the head of a request is too slow or too long, when the client does not read its
    response, and at once when there are too many connections.
    """

    def __init__(self, *arguments: Any, settings: ServeSettings, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._settings = settings
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None
        self._in_head, self._in_body = True, False
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for a request head; refuse a connection beyond the limit."""
        super().connection_made(transport)
        most = self._settings.max_connections
        if len(self.connections) > most:
            self._refuse(
                HTTPStatus.SERVICE_UNAVAILABLE, "overloaded",
                f"more connections than the limit of {most:,}; try again later", most,
            )  # fmt: skip
        else:
            self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timers."""
        self._stop_head_timer()
        for timer in (self._write_timer, self._body_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data, within the limit of a head."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            most = self._settings.max_head_bytes
            if self._head_bytes > most and not self.transport.is_closing():
                self._refuse(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_long",
                    f"the head of the request is longer than the limit of {most:,} bytes", most,
                )  # fmt: skip

    def on_message_begin(self) -> None:
        """Start a request head."""
        self._in_head, self._head_bytes = True, 0
        self._start_head_timer()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Finish a request head."""
        self._in_head, self._in_body = False, True
        self._stop_head_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Finish a request body."""
        self._in_body = False
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Finish a response, as far as it was handed to the system."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_writing()
        elif self._in_body and self._body_timer is None:
            # Refused before the body arrived. The rest is discarded: most clients read the
            # response only after sending all of it.
            self._body_timer = self.loop.call_later(
                self._settings.body_seconds, self.transport.close
            )

    def pause_writing(self) -> None:
        """Start the write timeout."""
        super().pause_writing()
        self._watch_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection."""
        super().timeout_keep_alive_handler()
        self._watch_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(HTTPStatus.BAD_REQUEST, "bad_request", "not an HTTP request")

    def _refuse(
        self, status: HTTPStatus, code: str, message: str, limit: int | None = None
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
        self._watch_writing()

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._settings.idle_seconds, self._too_slow)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_slow(self) -> None:
        self._head_timer = None
        seconds = self._settings.idle_seconds
        if self.transport.is_closing():
            return
        if not self._head_bytes:  # nothing was sent
            self.transport.abort()
            return
        self._refuse(
            HTTPStatus.REQUEST_TIMEOUT, "too_slow",
            f"the head of the request did not arrive within the limit of {seconds:g} seconds",
        )  # fmt: skip

    def _watch_writing(self) -> None:
        """Close the connection if the client reads nothing within the limit."""
        if self._write_timer is None and (left := self.transport.get_write_buffer_size()):
            seconds = self._settings.write_seconds
            self._write_timer = self.loop.call_later(seconds, self._check_writing, left)

    def _check_writing(self, before: int) -> None:
        self._write_timer = None
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self._watch_writing()
