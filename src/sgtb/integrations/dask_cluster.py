"""Dask clusters: from the option `--cluster` to a connected client, and a pool of its workers."""

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import contextmanager, suppress
from multiprocessing import set_forkserver_preload
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sgtb.core.errors import SettingsError, SgtbError, import_extra

if TYPE_CHECKING:
    from distributed import Client


ALLOWED_FAILURES = 20
"""Deaths of a worker that a task of a local cluster survives. Dask counts a death against every
task of the worker, guilty or not, and gives up after three."""
CONNECT_SECONDS = 30  # timeout of the first connection
MOST_WORKERS = 1024
_LOCAL = re.compile(r"local:([0-9]+)")
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://[^\s/]+")
FORMS = "local:N, tcp://HOST:PORT, or the file of `dask scheduler --scheduler-file FILE`"


@contextmanager
def connect(spec: str, shared_imports: Sequence[str] = ()) -> Iterator["Client"]:
    """Connect to a Dask cluster by one of FORMS; start and end the cluster if it is a local one.

    shared_imports  modules that the workers of a local cluster need. On Linux, workers are forked
                    from a process that imports them once. That process, and with it the environment
                    of all workers, lasts as long as this one: for commands, which start one cluster
    """
    distributed = import_extra("distributed", "dask", "a cluster needs")
    local = _LOCAL.fullmatch(spec)
    if local is not None:
        yield from _local(int(local[1]), shared_imports, distributed)
        return
    where = {"address": spec} if _ADDRESS.fullmatch(spec) else {"scheduler_file": _file(spec)}
    try:
        client = distributed.Client(**where, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TimeoutError) as error:
        raise SgtbError(
            f"--cluster {spec}: no scheduler answers within {CONNECT_SECONDS} seconds ({error}); "
            "start one with `dask scheduler` and workers with `dask worker`, then run the same "
            "command again"
        ) from None
    with client:
        yield client


def _local(workers: int, shared_imports: Sequence[str], distributed: Any) -> Iterator["Client"]:
    """Start worker processes of one thread each.

    Without memory limit: Dask counts mapped pages of the knowledge base, which all workers share,
    as memory of each of them, and would end workers that need little of their own.
    """
    import dask

    if not 1 <= workers <= MOST_WORKERS:
        raise SettingsError(f"--cluster local:{workers}: from 1 to {MOST_WORKERS} workers")
    settings: dict[str, Any] = {
        "distributed.scheduler.allowed-failures": ALLOWED_FAILURES,
        "distributed.worker.daemon": False,  # workers may start processes
        # What interrupts workers every 1, 10, 20 and 500 ms costs a tenth of their time.
        "distributed.admin.system-monitor.gil.enabled": False,
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.admin.system-monitor.interval": "5s",
        # With Dask's value, the allocator returns memory within each document and requests it
        # again, which costs another tenth.
        "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    }
    if shared_imports and sys.platform == "linux":
        settings["distributed.worker.multiprocessing-method"] = "forkserver"
        # Dask's own list has all optional packages, such as pandas, and replaces this one.
        distributed.utils._forkserver_preload_set = True
        set_forkserver_preload(["distributed", *shared_imports])
    with dask.config.set(settings):
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
        try:
            with distributed.Client(cluster) as client:
                yield client
        finally:
            # Raised at the very end for a worker that died, when all processes are closed.
            with suppress(KeyError):
                cluster.close()


def _file(spec: str) -> str:
    """Return the path of a scheduler file; raise unless it is one."""
    path = Path(spec)
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise SettingsError(f"--cluster {spec!r}: no such file; it should be {FORMS}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"--cluster {spec}: not a scheduler file: {error}") from None
    if not isinstance(record, dict) or not isinstance(record.get("address"), str):
        raise SettingsError(f"--cluster {spec}: not a scheduler file: it has no address")
    return str(path)


T = TypeVar("T")
R = TypeVar("R")


class DaskPool:
    """A pool of the workers of a cluster; Dask repeats a task elsewhere if its worker ends."""

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
