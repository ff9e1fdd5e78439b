"""Worker processes: started afresh, deaf to Ctrl-C, and gone when their parent is."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def worker_pool(
    workers: int, begin: Callable[..., None] | None = None, *arguments: Any
) -> ProcessPoolExecutor:
    """Return a pool whose processes are started as they are needed.

    begin  called in each of them, with the arguments, before its first work
    """
    return ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_begin_work, initargs=(begin, arguments)
    )


def submit(
    pool: ProcessPoolExecutor, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> "Future[T]":
    """Give work to a pool. A process that this starts leaves interrupts to its parent."""
    with _interrupts_blocked():
        return pool.submit(function, *args, **kwargs)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let the main process alone deal with Ctrl-C; it tells the workers to end.

    They are started as they are needed, and keep what was blocked from their first moment on.
    Here an interrupt only waits.
    """
    mask = getattr(signal, "pthread_sigmask", None)  # not on every system
    if mask is None:
        yield
        return
    before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)


def _begin_work(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    """Do the same in a worker, once it runs, for systems that block nothing; outlive no parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end_with_parent() -> None:
    """Wait until the parent is gone, killed perhaps: a worker would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
