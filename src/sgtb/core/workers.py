"""Worker processes: spawned, ignoring Ctrl-C, and ending with their parent."""

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
    """Return a pool whose processes start on demand.

    begin  called in each process, with the arguments, before its first task
    """
    return ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_begin_work, initargs=(begin, arguments)
    )


def submit(
    pool: ProcessPoolExecutor, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> "Future[T]":
    """Submit a task to a pool; processes started by it ignore interrupts."""
    with _interrupts_blocked():
        return pool.submit(function, *args, **kwargs)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block interrupts, so that only the main process handles Ctrl-C.

    Workers start on demand and inherit the mask. In this process an interrupt is delayed.
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
    """Ignore interrupts on systems without signal masks, and end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end_with_parent() -> None:
    """End when the parent does; a killed parent cannot stop its workers."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
