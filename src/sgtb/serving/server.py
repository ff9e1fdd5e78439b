"""The server of one process: serves until a signal ends it; SIGHUP reloads."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from functools import partial

import uvicorn

from sgtb.serving.app import create_app
from sgtb.serving.engine import Engine
from sgtb.serving.http_connection import Connection
from sgtb.serving.service_settings import ServeSettings

BACKLOG = 1024
_GRACE = 5
"""Seconds beyond its limit that a request may take at shutdown."""
log = logging.getLogger("sgtb.serving")


def run_server(
    engine: Engine, settings: ServeSettings, listener: socket.socket, ready: Callable[[], None]
) -> None:
    """Load the linker and serve until SIGTERM or Ctrl-C; requests under way are finished.

    ready  called once connections are accepted
    """
    # SIGHUP during loading must not end the process.
    _ignore_hangup()
    engine.start()
    server = _Server(config_of(engine, settings), engine, ready)
    previous = signal.signal(signal.SIGTERM, _ignore)
    try:
        server.run([listener])
    finally:
        signal.signal(signal.SIGTERM, previous)


def config_of(engine: Engine, settings: ServeSettings) -> uvicorn.Config:
    """Return the configuration of uvicorn for an engine."""
    return uvicorn.Config(
        create_app(engine, settings),
        http=partial(Connection, settings=settings),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_config=None,
        server_header=False,
        timeout_keep_alive=max(1, round(settings.idle_seconds)),
        timeout_graceful_shutdown=round(settings.request_seconds) + _GRACE,
        backlog=BACKLOG,
    )


class _Server(uvicorn.Server):
    """uvicorn's server, with reloads."""

    def __init__(self, config: uvicorn.Config, engine: Engine, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._engine, self._ready = engine, ready
        self._requested = self._reloading = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
        self._ready()

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


def _ignore_hangup() -> None:
    if hasattr(signal, "SIGHUP"):  # not on every system
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _ignore(*_: object) -> None:
    """Ignore SIGTERM: uvicorn raises it again after the shutdown."""
