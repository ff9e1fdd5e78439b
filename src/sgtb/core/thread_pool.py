"""ThreadPool: threads that run kernels in parallel; kernels release the GIL."""

import os
import threading
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Ints
from sgtb.core.errors import SettingsError


class ThreadPool:
    """`n_threads` threads, the calling one included; None: one per core of the process."""

    def __init__(self, n_threads: int | None = None) -> None:
        if n_threads is not None and n_threads < 1:
            raise SettingsError(
                f"threads is {n_threads}; it must be at least 1, or None for all cores"
            )
        self.n_threads = n_threads or cores()
        # Two plain queues: handing a task to an executor takes several times as long, and the
        # tasks of a tree take less than a millisecond.
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._outbox: SimpleQueue[BaseException | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, daemon=True) for _ in range(self.n_threads - 1)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for _ in self._threads:
            self._inbox.put(None)
        for thread in self._threads:
            thread.join()

    def run(self, task: Callable[..., None], arguments: Iterable[tuple[Any, ...]]) -> None:
        """Call `task` with each tuple of arguments; an idle thread takes the next one."""
        waiting = list(arguments)
        helpers, remaining = min(self.n_threads, len(waiting)) - 1, iter(waiting)

        def work() -> None:
            # next() on a list iterator is atomic: two threads never get the same arguments
            for given in remaining:
                task(*given)

        for _ in range(helpers):
            self._inbox.put(work)
        errors: list[BaseException | None] = []
        try:
            work()
        finally:  # all threads must be idle before the caller goes on
            errors += [self._outbox.get() for _ in range(helpers)]
        for error in errors:
            if error is not None:
                raise error

    def _serve(self) -> None:
        while (work := self._inbox.get()) is not None:
            try:
                work()
                self._outbox.put(None)
            except BaseException as error:
                self._outbox.put(error)

    def shares(self, costs: npt.ArrayLike) -> list[Ints]:
        """Divide items into shares of about equal cost, the largest first, several per thread."""
        order = np.argsort(-np.asarray(costs), kind="stable").astype(np.int32)
        n = 1 if self.n_threads == 1 else min(4 * self.n_threads, max(len(order), 1))
        return [np.ascontiguousarray(order[i::n]) for i in range(n)]


def cores() -> int:
    """Return the number of cores of the process."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1
