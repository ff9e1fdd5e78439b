"""Worker processes: spawned, ignoring Ctrl-C, and ending with their parent."""

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import current_process, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from multiprocessing.reduction import ForkingPickler
from typing import Any, ParamSpec, Protocol, TypeVar

from sgtb.core.errors import MainGuardError, SgtbError

_NO_GUARD = 77  # exit code of a worker whose main script starts workers when it is imported
_EXIT_SECONDS = 5.0  # time that processes of a broken pool have to end
P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class ProcessPool(ProcessPoolExecutor):
    """A pool whose processes start on demand, and ignore interrupts.

    begin  called in each process, with the arguments, before its first task
    """

    def __init__(
        self, workers: int, begin: Callable[..., None] | None = None, *arguments: Any
    ) -> None:
        if getattr(current_process(), "_inheriting", False):
            # A worker imports the main script, which has no guard and calls this again. Nothing is
            # printed here: the process that started the worker reports it once.
            os._exit(_NO_GUARD)
        context = get_context("spawn")
        initial = begin, _Arguments(context, workers, arguments)
        super().__init__(workers, context, initializer=_begin_work, initargs=initial)
        self.workers = workers

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Submit a task."""
        with signals_blocked(signal.SIGINT):
            return super().submit(function, *args, **kwargs)


class _Arguments:
    """Arguments of any size for each process of a pool, sent by a thread.

    Multiprocessing itself sends them while it starts a process, and blocks forever if they exceed
    the buffer of its pipe and the process ends before it has read them.
    """

    def __init__(self, context: SpawnContext, processes: int, arguments: tuple[Any, ...]) -> None:
        self._turn = context.Lock()
        self._reader, writer = context.Pipe(duplex=False)
        data = bytes(ForkingPickler.dumps(arguments))
        threading.Thread(target=_send, args=(writer, data, processes), daemon=True).start()

    def receive(self) -> tuple[Any, ...]:
        """Return the arguments in a process of the pool; once per process."""
        with self._turn:
            received: tuple[Any, ...] = self._reader.recv()
        return received


def _send(writer: Connection, data: bytes, times: int) -> None:
    with suppress(OSError), writer:  # the pool has ended
        for _ in range(times):
            writer.send_bytes(data)


class Task(Protocol[R_co]):
    """A call that is executed elsewhere."""

    def result(self) -> R_co:
        """Return the result when it is there; BrokenExecutor if there will be none."""

    def cancel(self) -> object:
        """Give the call up."""


class TaskPool(Protocol):
    """Executes calls elsewhere, such as on a cluster; calls and results are pickled."""

    @property
    def workers(self) -> int:
        """Number of calls that are executed at a time."""

    def submit(self, function: Callable[[T], R], item: T, /) -> Task[R]:
        """Begin a call."""


class ThreadTasks(ThreadPoolExecutor):
    """Threads of this process as a pool, for kernels, which release the GIL."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.workers = workers


def ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """Yield items, the next one of which a thread makes meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        pending: Future[T | None] = pool.submit(next, items, None)
        while (item := pending.result()) is not None:
            pending = pool.submit(next, items, None)
            yield item


def pool_error(pool: ProcessPoolExecutor | None, otherwise: str) -> SgtbError:
    """Return the error of a broken pool: a missing guard, or what the caller says."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    deadline = time.monotonic() + _EXIT_SECONDS
    while any(one.exitcode is None for one in processes) and time.monotonic() < deadline:
        time.sleep(0.01)  # another thread collects them, too
    if not any(process.exitcode == _NO_GUARD for process in processes):
        return SgtbError(otherwise)
    before = sys.excepthook

    def print_line(kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, MainGuardError):
            print(f"sgtb: {error}", file=sys.stderr)
        else:
            before(kind, error, traceback)

    sys.excepthook = print_line  # one line instead of a traceback, if it is not handled
    script = getattr(sys.modules.get("__main__"), "__file__", None) or "the script"
    return MainGuardError(
        f"{script}: worker processes import it; put its calls under "
        '`if __name__ == "__main__":`, or use one process'
    )


def ordered_results(
    function: Callable[[T], R], items: Iterable[T], workers: int, pool: TaskPool | None = None
) -> Generator[R, None, None]:
    """Apply a function to items in worker processes, and yield its results in order.

    Two items per worker are held at a time. With one worker, this process does the work. Closing
    the generator ends the workers even if an error keeps the caller's frame alive. A worker that
    ends raises BrokenExecutor.

    pool  used instead of own processes; it stays open
    """
    if pool is not None:
        yield from _pooled(function, items, pool)
    elif workers == 1:
        yield from map(function, items)
    else:
        own = ProcessPool(workers)
        try:
            yield from _pooled(function, items, own)
        finally:
            own.shutdown(wait=True, cancel_futures=True)


def _pooled(
    function: Callable[[T], R], items: Iterable[T], pool: TaskPool
) -> Generator[R, None, None]:
    pending: deque[Task[R]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > 2 * pool.workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool:
        error = pool_error(pool if isinstance(pool, ProcessPool) else None, "")
        if isinstance(error, MainGuardError):
            raise error from None
        raise  # callers know what was being done
    finally:
        for task in pending:
            task.cancel()


@contextmanager
def signals_blocked(*signals: int) -> Iterator[None]:
    """Delay signals, and block them in processes that are started meanwhile."""
    mask = getattr(signal, "pthread_sigmask", None)  # not on every system
    if mask is None:
        yield
        return
    before = mask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)


def _begin_work(begin: Callable[..., None] | None, initial: _Arguments) -> None:
    """Ignore interrupts on systems without signal masks, and end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*initial.receive())


def _end_with_parent() -> None:
    """End when the parent does; a killed parent cannot stop its workers."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
