"""Linking on Dask: the engine of jobs, and `link` for bags and data frames."""

import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from sgtb.core.errors import RequestError, SgtbError, import_extra
from sgtb.jobs.job_inputs import Item
from sgtb.jobs.link_part import link_frame
from sgtb.jobs.process_engine import WorkerLostError
from sgtb.jobs.worker_linker import (
    LinkerSpec,
    complete,
    file_digest,
    has_linker,
    link_items,
    linker_files,
    linker_spec,
    receive,
    required_linker,
)
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import KbSourcePath, ModelSource
from sgtb.linking.request_json import request_of_fields

distributed: Any = import_extra("distributed", "dask", "a cluster needs")

TASKS_PER_THREAD = 2  # tasks at a time: one that runs, and one that is there when it ends
RESULT_SECONDS = 30
"""Time to fetch a result; afterwards it is taken as lost, and Dask computes it again."""
LOOK_SECONDS = 5  # time between looks for workers that are gone
CHUNK = 8 << 20  # bytes of a linker that are sent at a time
_COLUMNS = {
    "document": "string", "start": "Int32", "end": "Int32", "text": "string", "entity": "string",
    "confidence": "float64", "alternatives": "object", "rejected": "string",
}  # fmt: skip


class DaskEngine:
    """The workers of a Dask cluster."""

    def __init__(self, client: Any) -> None:
        self._client, self._looked = client, time.monotonic()

    def slots(self) -> int:
        """Return the number of tasks, which follows the number of workers."""
        with _connected():
            threads = sum(map(int, self._client.nthreads().values()))
        return TASKS_PER_THREAD * max(threads, 1)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Start a task."""
        with _connected():
            return self._client.submit(function, *arguments, pure=False)

    def wait(self, futures: Collection[Any]) -> list[Any]:
        """Return the futures that are done."""
        if self._client.status not in ("running", "connecting"):
            raise _no_scheduler()
        cluster, now = self._client.cluster, time.monotonic()
        if cluster is not None and now - self._looked > LOOK_SECONDS:
            # Start workers of a local cluster anew: Dask gives up those that die while they start.
            self._looked = now
            cluster.scale(len(cluster.worker_spec))
        with _connected():
            try:
                return list(distributed.wait(list(futures), 1, return_when="FIRST_COMPLETED").done)
            except TimeoutError:
                return []

    def result(self, future: Any) -> Any:
        """Return the result of a task; it is lost if its worker dies before it is fetched."""
        try:
            return future.result(timeout=RESULT_SECONDS)
        except distributed.KilledWorker as error:
            raise WorkerLostError(str(error)) from None
        except (distributed.comm.CommClosedError, CancelledError):
            raise _no_scheduler() from None

    def send_linker(self, spec: LinkerSpec) -> None:
        """Send a linker to the hosts whose workers lack its files: to one worker of each."""
        with _connected():
            send_linker(self._client, spec)


def send_linker(client: Any, spec: LinkerSpec) -> None:
    """Send a linker to the hosts whose workers lack its files; raise if they still lack them."""
    while not client.nthreads():
        time.sleep(0.2)
    for last in (False, False, True):
        found = client.run(has_linker, spec, on_error="return")
        lacking = [worker for worker, has in found.items() if has is False]
        wrong = [error for error in found.values() if isinstance(error, SgtbError)]
        if wrong:
            raise wrong[0]
        if not lacking:
            return
        if last:
            raise SgtbError(f"{lacking[0]}: this worker cannot open the linker that was sent to it")
        # By host: an address is such as tcp://10.0.0.1:1234.
        for worker in {worker.rpartition(":")[0]: worker for worker in lacking}.values():
            _send(client, spec, worker)


def _send(client: Any, spec: LinkerSpec, worker: str) -> None:
    sender, hashes = uuid.uuid4().hex[:16], dict[str, str]()
    for name, path in linker_files(spec):
        hashes[name] = file_digest(path)
        with open(path, "rb") as file:
            begin = True
            while (data := file.read(CHUNK)) or begin:
                client.run(receive, spec, sender, name, data, begin, workers=[worker])
                begin = False
    client.run(complete, spec, sender, hashes, workers=[worker])


@contextmanager
def _connected() -> Iterator[None]:
    """Turn errors of the connection into one that says what to do."""
    try:
        yield
    except (OSError, CancelledError):
        raise _no_scheduler() from None


def _no_scheduler() -> SgtbError:
    return SgtbError(
        "the scheduler of the cluster is gone; all finished parts are kept: run the same command "
        "again"
    )


def link(
    documents: Any,
    model: ModelSource | None = None,
    kb: KbSourcePath | None = None,
    settings: LinkerSettings | None = None,
) -> Any:
    """Link the documents of a Dask bag or data frame, lazily; partitions stay where they are.

    documents  a bag of texts or of objects with text, and optionally id and mentions: the result is
               a bag of objects with id and links, or with id and rejected, a reason.
               A data frame with the column text, and optionally id and mentions: the result has a
               row per link, as the output of a job, and the column rejected.
    model, kb  as those of `Linker`; a model in memory must be saved first
    """
    spec = linker_spec(model, kb, settings)
    try:
        client = distributed.get_client()
    except ValueError:
        client = None  # threads or processes of this machine
    if client is not None:
        send_linker(client, spec)
    if hasattr(documents, "to_dataframe"):
        return documents.map_partitions(_link_objects, spec)
    pd = import_extra("pandas", "dask", "a data frame needs")
    meta = pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in _COLUMNS.items()})
    return documents.map_partitions(_link_partition, spec, meta=meta)


def _link_partition(frame: Any, spec: LinkerSpec) -> Any:
    return link_frame(spec, frame).astype(_COLUMNS)


def _link_objects(objects: Iterable[Any], spec: LinkerSpec) -> list[dict[str, Any]]:
    results = link_items(required_linker(spec), (_item(one, i) for i, one in enumerate(objects, 1)))
    return [
        {"id": item.id, "rejected": result} if isinstance(result, str) else result.to_dict()
        for item, result in results
    ]


def _item(given: Any, row: int) -> Item:
    """Return the document of a text or an object."""
    fields = {"text": given} if isinstance(given, str) else given
    if not isinstance(fields, Mapping):
        return Item("", row, None, f"a {type(given).__name__}; it should be a text or an object")
    try:
        request = request_of_fields(fields, f"document {row}")
    except RequestError as error:
        return Item(str(fields.get("id", "")), row, None, str(error))
    return Item(request.id, row, request)
