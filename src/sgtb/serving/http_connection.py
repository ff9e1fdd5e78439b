"""Connection: HTTP as uvicorn speaks it, without patience for those who only hold the line."""

import asyncio
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sgtb.serving.error_responses import failure_record
from sgtb.serving.service_settings import ServeSettings

_RETRY = 1


class Connection(HttpToolsProtocol):
    """One client's connection.

    It is closed when a request's head does not come, or comes without end; when the client takes
    nothing of its answer; and at once when there are too many others.
    """

    def __init__(self, *arguments: Any, settings: ServeSettings, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._settings = settings
        self._head: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._in_head, self._in_body = True, False
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        most = self._settings.max_connections
        if len(self.connections) > most:
            self._refuse(
                HTTPStatus.SERVICE_UNAVAILABLE, "overloaded",
                f"there are more connections than the limit of {most:,}; try again later", most,
            )  # fmt: skip
        else:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget all about it."""
        self._stop_waiting()
        for timer in (self._writing, self._rest):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on."""
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
        """Begin to read a head."""
        self._in_head, self._head_bytes = True, 0
        self._wait_for_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Have read a head."""
        self._in_head, self._in_body = False, True
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Have read a body."""
        self._in_body = False
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Have written an answer, or at least handed it to the system."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_writing()
        elif self._in_body and self._rest is None:
            # Refused before it was there. The rest is passed over, so that the client can finish
            # and read the answer: most would not look before.
            self._rest = self.loop.call_later(self._settings.body_seconds, self.transport.close)

    def pause_writing(self) -> None:
        """Wait for a client to take what was written."""
        super().pause_writing()
        self._watch_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that is not used any more."""
        super().timeout_keep_alive_handler()
        self._watch_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._refuse(HTTPStatus.BAD_REQUEST, "bad_request", "this is no HTTP request")

    def _refuse(
        self, status: HTTPStatus, code: str, message: str, limit: int | None = None
    ) -> None:
        """Answer without asking the application, and hang up."""
        body = json.dumps(failure_record(code, message, limit)).encode()
        later = f"retry-after: {_RETRY}\r\n" if status == HTTPStatus.SERVICE_UNAVAILABLE else ""
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nx-content-type-options: nosniff\r\n{later}"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
        self._watch_writing()

    def _wait_for_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(self._settings.idle_seconds, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _too_slow(self) -> None:
        self._head = None
        seconds = self._settings.idle_seconds
        if self.transport.is_closing():
            return
        if not self._head_bytes:  # nothing came at all: nobody would read an answer
            self.transport.abort()
            return
        self._refuse(
            HTTPStatus.REQUEST_TIMEOUT, "too_slow",
            f"the head of the request did not come within the limit of {seconds:g} seconds",
        )  # fmt: skip

    def _watch_writing(self) -> None:
        """Look after a while whether the client takes anything; hang up if not."""
        if self._writing is None and (left := self.transport.get_write_buffer_size()):
            seconds = self._settings.write_seconds
            self._writing = self.loop.call_later(seconds, self._look_again, left)

    def _look_again(self, before: int) -> None:
        self._writing = None
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self._watch_writing()
