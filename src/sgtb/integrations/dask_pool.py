"""DaskPool: tasks of a build on a Dask cluster."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, CancelledError
from pathlib import Path
from typing import Any, Generic, TypeVar

from sgtb.core.errors import SettingsError, import_extra

T = TypeVar("T")
R = TypeVar("R")


class DaskPool:
    """A pool of the workers of a cluster, by the client of `dask_cluster.connect`.

    Dask executes a task again on another worker if its worker ends.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        distributed = import_extra("distributed", "dask", "a cluster needs")
        self._lost = (distributed.KilledWorker, CancelledError)

    @property
    def workers(self) -> int:
        """Number of tasks that are executed at a time."""
        threads: dict[str, int] = self._client.nthreads()
        return max(sum(threads.values()), 1)

    def submit(self, function: Callable[[T], R], item: T, /) -> "DaskTask[R]":
        """Begin a call on a worker."""
        return DaskTask(self._client.submit(function, item, pure=False), self._lost)

    def require(self, paths: Iterable[Path]) -> None:
        """Raise unless all workers see some files or folders under these paths."""
        self._client.wait_for_workers(1)
        for path in paths:
            for worker, found in self._client.run(os.path.exists, str(path)).items():
                if not found:
                    raise SettingsError(
                        f"{path}: the worker {worker} does not see it; put dumps and knowledge "
                        "base on a file system that all workers share"
                    )


class DaskTask(Generic[R]):
    """A call on a worker."""

    def __init__(self, future: Any, lost: tuple[type[BaseException], ...]) -> None:
        self._future, self._lost = future, lost

    def result(self) -> R:
        """Return the result; BrokenExecutor if several workers ended with the task."""
        try:
            found: R = self._future.result()
        except self._lost as error:
            raise BrokenExecutor(str(error)) from None
        return found

    def cancel(self) -> None:
        """Give the call up."""
        self._future.cancel()
