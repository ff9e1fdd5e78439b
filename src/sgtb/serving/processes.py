"""Processes: several servers on one port, minded by a parent that links nothing itself.

Each process has a listening socket of its own on the same address, and the system spreads the
connections over them. A process that dies is started again. Signals go to the parent: it passes
SIGHUP on, and on SIGTERM or Ctrl-C it lets all of them finish.
"""

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from sgtb.core.errors import SettingsError, SgtbError
from sgtb.serving.linker_source import Source
from sgtb.serving.listener import listen_on, set_up_log, url_of
from sgtb.serving.service_metrics import WIDTH, Metrics
from sgtb.serving.service_settings import ServeSettings

log = logging.getLogger("sgtb.serving")
_POLL = 0.5
_AT_LEAST = 2.0
"""Seconds after which a process that died is started again, if it lived no longer."""
_spawn = get_context("spawn")


@dataclass(frozen=True)
class Work:
    """What each process serves.

    log_requests  whether every request is a line of the log
    """

    source: Source
    settings: ServeSettings
    host: str
    port: int
    log_requests: bool = False


class _Worker:
    """One process, and the pipe through which it says that it is ready, or why it is not."""

    def __init__(self, work: Work, counts: Any, row: int) -> None:
        self.row = row
        self.began = time.monotonic()
        self._pipe, theirs = _spawn.Pipe(duplex=False)
        self.process = _spawn.Process(
            target=_serve, args=(work, counts, row, theirs), name=f"sgtb serve {row}"
        )
        with _signals_blocked():  # until it can deal with them
            self.process.start()
        theirs.close()

    def wait_until_ready(self, stopped: Callable[[], bool]) -> bool:
        """Return whether it serves; an SgtbError tells why it cannot, False that all is over."""
        while not self._pipe.poll(_POLL):
            if stopped():
                return False
        try:
            told = self._pipe.recv()
        except EOFError:
            told = "a process of the service ended while it was starting, perhaps of lack of memory"
        if told is not None:
            raise SgtbError(told)
        return True

    def last_words(self) -> str:
        """Return why it ended, if it said so."""
        told = ""
        with suppress(EOFError, OSError):
            while self._pipe.poll():
                told = self._pipe.recv() or ""
        return told

    def send(self, sign: int) -> None:
        if self.process.pid is not None and self.process.is_alive():
            os.kill(self.process.pid, sign)


def run(work: Work, count: int, ready: Callable[[str], None]) -> None:
    """Serve until a signal ends it.

    count  processes; a single one is this very process
    ready  called with the address when connections are taken
    """
    if count > 1 and not hasattr(socket, "SO_REUSEPORT"):
        raise SettingsError("this system cannot share a port; serve with one process")
    listener = listen_on(work.host, work.port, shared=count > 1)
    work = replace(work, port=listener.getsockname()[1])  # 0 was any
    address = url_of(work.host, work.port)
    set_up_log(work.log_requests)
    if count == 1:
        from sgtb.serving.engine import Engine
        from sgtb.serving.server import run_server

        engine = Engine(work.source.load, work.settings)
        run_server(engine, work.settings, listener, lambda: ready(address))
        return
    with listener:  # it only keeps the port: the processes listen
        _run_processes(work, count, lambda: ready(address))


def _run_processes(work: Work, count: int, ready: Callable[[], None]) -> None:
    """Start processes, and mind them."""
    counts = _spawn.RawArray("d", count * WIDTH)
    signals: list[int] = []
    workers: list[_Worker] = []
    handled = [getattr(signal, f"SIG{name}") for name in ("TERM", "INT", "HUP")]
    before = {sign: signal.signal(sign, lambda sign, _: signals.append(sign)) for sign in handled}
    try:
        # The first one alone: it finds what is wrong, and reports it once.
        for row in range(count):
            workers.append(_Worker(work, counts, row))
            if row == 0 and not workers[0].wait_until_ready(lambda: _is_over(signals)):
                return
        for worker in workers[1:]:
            if not worker.wait_until_ready(lambda: _is_over(signals)):
                return
        ready()
        _mind(workers, signals, lambda row: _Worker(work, counts, row))
    finally:
        for worker in workers:
            worker.send(signal.SIGTERM)
        for worker in workers:
            worker.process.join()
        for sign, handler in before.items():
            signal.signal(sign, handler)


def _mind(workers: list[_Worker], signals: list[int], start: Callable[[int], _Worker]) -> None:
    """Pass signals on and start again what died, until a signal says that it is over."""
    while not _is_over(signals):
        wait([worker.process.sentinel for worker in workers], _POLL)
        while signal.SIGHUP in signals:
            signals.remove(signal.SIGHUP)
            for worker in workers:
                worker.send(signal.SIGHUP)
        for i, worker in enumerate(workers):
            code = worker.process.exitcode
            if code is not None and not _is_over(signals):
                told = worker.last_words() or f"code {code}"
                log.error("a process of the service ended: %s; starting another", told)
                time.sleep(max(0.0, min(_AT_LEAST, worker.began + _AT_LEAST - time.monotonic())))
                workers[i] = start(worker.row)


def _is_over(signals: Sequence[int]) -> bool:
    return signal.SIGTERM in signals or signal.SIGINT in signals


def _serve(work: Work, counts: Any, row: int, pipe: "Connection[str | None, Any]") -> None:
    """Serve, in a process of its own."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP, signal.SIGTERM})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from sgtb.serving.engine import Engine
    from sgtb.serving.server import run_server

    set_up_log(work.log_requests)
    rows = np.frombuffer(counts, np.float64).reshape(-1, WIDTH)
    try:
        engine = Engine(work.source.load, work.settings, Metrics(rows, row))
        listener: socket.socket = listen_on(work.host, work.port, shared=True)
        run_server(engine, work.settings, listener, lambda: pipe.send(None))
    except (SgtbError, OSError, MemoryError) as error:
        with suppress(OSError):  # the parent may be gone
            pipe.send(f"{error}" or type(error).__name__)


def _end_with_parent() -> None:
    """Wait until the parent is gone, killed perhaps, and end: its port should be free again."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Start a process deaf to Ctrl-C, which its parent minds, and for now to other signals."""
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP, signal.SIGTERM}
    )
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
