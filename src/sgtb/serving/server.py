"""The server: an application on a port, until a signal ends it. SIGHUP loads all anew."""

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
"""Seconds that a request may take beyond its time when the server ends."""
log = logging.getLogger("sgtb.serving")


def run_server(
    engine: Engine, settings: ServeSettings, listener: socket.socket, ready: Callable[[], None]
) -> None:
    """Load the linker and serve until SIGTERM or Ctrl-C; what is under way is finished.

    ready  called once connections are taken
    """
    # A signal that comes while the linker is being loaded must not end the process half-way.
    _ignore_hangup()
    engine.start()
    server = _Server(config_of(engine, settings), engine, ready)
    before = signal.signal(signal.SIGTERM, _ended)
    try:
        server.run([listener])
    finally:
        signal.signal(signal.SIGTERM, before)


def config_of(engine: Engine, settings: ServeSettings) -> uvicorn.Config:
    """Return how uvicorn serves an engine: with its limits, and without what is not needed."""
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
    """uvicorn's server, which also reloads."""

    def __init__(self, config: uvicorn.Config, engine: Engine, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._engine, self._ready = engine, ready
        self._asked = self._under_way = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
        self._ready()

    def _reload(self) -> None:
        """Load all anew, once for any number of signals that come meanwhile."""
        self._asked = True
        if not self._under_way:
            self._under_way = True
            self._task = asyncio.get_running_loop().create_task(self._reload_all())

    async def _reload_all(self) -> None:
        try:
            while self._asked:
                self._asked = False
                await asyncio.to_thread(self._engine.reload)
        finally:
            self._under_way = False


def _ignore_hangup() -> None:
    if hasattr(signal, "SIGHUP"):  # not on every system
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _ended(*_: object) -> None:
    """Do nothing: uvicorn raises the signal that ended it once more, when all is done."""
