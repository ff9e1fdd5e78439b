"""The server of one process: serves until a signal ends it; SIGHUP reloads."""

import asyncio
import errno
import logging
import selectors
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn

from sgtb.serving.app import create_app
from sgtb.serving.engine import Engine
from sgtb.serving.http_connection import Connection

_BACKLOG = 1024
_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_LOG_SECONDS = 10.0  # least time between two messages about a lack of descriptors or memory
_LAST_SECONDS = 0.5  # time at shutdown for the requests of connections that were just accepted
_GRACE = 5  # seconds beyond its limit that a request may take at shutdown
log = logging.getLogger("sgtb.serving")


def run_server(engine: Engine, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Load the linker, and serve until SIGTERM or Ctrl-C; finish requests under way."""
    if hasattr(signal, "SIGHUP"):  # not on every system; during loading it must not end the process
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    engine.start()
    server = _Server(engine, ready)
    # Ignored here: uvicorn raises it again after the shutdown.
    previous = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        server.run([listener])
    finally:
        signal.signal(signal.SIGTERM, previous)


def config_of(engine: Engine) -> uvicorn.Config:
    """Return the configuration of uvicorn for an engine."""
    settings = engine.settings
    return uvicorn.Config(
        create_app(engine),
        http=partial(Connection, settings=settings),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=round(settings.request_seconds) + _GRACE,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        # asyncio accepts as many connections at once, and another process may have more time.
        backlog=1,
    )


class _Server(uvicorn.Server):
    """uvicorn's server, with reloads."""

    def __init__(self, engine: Engine, ready: Callable[[], None]) -> None:
        super().__init__(config_of(engine))
        self._engine, self._ready = engine, ready
        self._requested = self._reloading = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)
        asyncio.get_running_loop().set_exception_handler(_ResourceLog())
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept the connections that are established already, then finish all requests."""
        with selectors.DefaultSelector() as established:
            for listener in sockets or ():
                established.register(listener, selectors.EVENT_READ)
            for _ in range(_BACKLOG):  # clients may open new ones all the time
                waiting = established.select(0)
                await asyncio.sleep(0)  # one is accepted; the transport of the last one is made
                if not waiting:
                    break
        for server in self.servers:
            server.close()
        await asyncio.sleep(_LAST_SECONDS)
        await super().shutdown(sockets)

    def _reload(self) -> None:
        """Reload; signals that arrive meanwhile cause one further reload."""
        self._requested = True
        if not self._reloading:
            self._reloading = True
            self._task = asyncio.get_running_loop().create_task(self._reload_all())

    async def _reload_all(self) -> None:
        try:
            while self._requested:
                self._requested = False
                await asyncio.to_thread(self._engine.reload)
        finally:
            self._reloading = False


class _ResourceLog:
    """Handler of exceptions of the event loop: one line in a while where resources are lacking."""

    def __init__(self) -> None:
        self._last = -_LOG_SECONDS

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _RESOURCES:
            loop.default_exception_handler(context)
        elif time.monotonic() - self._last >= _LOG_SECONDS:
            self._last = time.monotonic()
            log.error("cannot accept connections: %s; raise the limit (ulimit)", error.strerror)
