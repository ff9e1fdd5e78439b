"""Dask clusters: from the option `--cluster` to a connected client."""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgtb.core.errors import SettingsError, SgtbError, import_extra

if TYPE_CHECKING:
    from distributed import Client

ALLOWED_FAILURES = 20
"""Deaths of a worker that a task of a local cluster survives. Dask counts a death against every
task of the worker, guilty or not, and gives up after three."""
CONNECT_SECONDS = 30
"""Timeout of the first connection."""
MOST_WORKERS = 1024
_LOCAL = re.compile(r"local:([0-9]+)")
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://[^\s/]+")
FORMS = "local:N, tcp://HOST:PORT, or the file of `dask scheduler --scheduler-file FILE`"


@contextmanager
def connect(spec: str) -> Iterator["Client"]:
    """Connect to a Dask cluster; start and end the cluster if it is a local one.

    spec  `local:N` (N worker processes on this machine), the address of a scheduler, or a
          scheduler file
    """
    distributed = import_extra("distributed", "dask", "a cluster needs")
    local = _LOCAL.fullmatch(spec)
    if local is not None:
        yield from _local(int(local[1]), distributed)
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


def _local(workers: int, distributed: Any) -> Iterator["Client"]:
    """Start worker processes of one thread each.

    Without memory limit: Dask counts mapped pages of the knowledge base, which all workers share,
    as memory of each of them, and would end workers that need little of their own.
    """
    import dask

    if not 1 <= workers <= MOST_WORKERS:
        raise SettingsError(f"--cluster local:{workers}: from 1 to {MOST_WORKERS} workers")
    settings = {
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
