"""Engines of a job: what runs its parts. Worker processes of this machine, without any library."""

from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from sgtb.core.errors import SgtbError
from sgtb.core.workers import ProcessPool


class WorkerLostError(SgtbError):
    """The worker of a task died."""


class PartEngine(Protocol):
    """Runs functions in worker processes that may die at any time."""

    def slots(self) -> int:
        """Return how many tasks to submit at a time; 0: there is no worker."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Start a task; return its future."""

    def wait(self, futures: Collection[Any]) -> list[Any]:
        """Return the futures that are done, after a second at most."""

    def result(self, future: Any) -> Any:
        """Return the result of a task that is done.

        Raise a WorkerLostError if its worker died, a TimeoutError if it is computed again.
        """

    def send_linker(self, spec: dict[str, Any]) -> None:
        """Send a linker to the hosts that lack its files."""


class ProcessEngine:
    """Worker processes of this machine; after the death of one, the next task gets another pool."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def slots(self) -> int:
        """Return the number of tasks: one per worker, and one that waits."""
        return self._workers + 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Start a task."""
        if self._pool is None:
            self._pool = ProcessPool(self._workers)
        try:
            return self._pool.submit(function, *arguments)
        except BrokenProcessPool:
            self.close()
            return self.submit(function, *arguments)

    def wait(self, futures: Collection["Future[Any]"]) -> list["Future[Any]"]:
        """Return the futures that are done."""
        return list(wait(futures, timeout=1, return_when=FIRST_COMPLETED).done)

    def result(self, future: "Future[Any]") -> Any:
        """Return the result of a task."""
        try:
            return future.result()
        except BrokenProcessPool:
            raise WorkerLostError("a worker process ended") from None

    def send_linker(self, spec: dict[str, Any]) -> None:
        """Do nothing: workers of this machine read the same files."""

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None

    def __enter__(self) -> "ProcessEngine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
