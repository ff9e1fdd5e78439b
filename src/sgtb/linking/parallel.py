"""Parallel linking: batches of documents linked by worker processes."""

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import count, islice
from threading import Lock
from typing import Any, TypeVar

from sgtb.core.errors import SgtbError
from sgtb.core.records import Document, UnannotatedDocument
from sgtb.core.workers import ProcessPool, pool_error
from sgtb.linking.link_options import LinkOptions
from sgtb.linking.links import Linkable, LinkedDocument, as_request

BATCH = 64  # documents linked together
_EFFORT, _LEAST_EFFORT = 1_300, 300
"""Effort of a batch of a worker, and the minimum for the last ones; see `_effort`."""
_BATCHES_TO_COLLECT = 200
"""Batches after which a worker collects reference cycles; there should be none."""

D = TypeVar("D")
LinkBatch = Callable[[list[Linkable], LinkOptions], list[LinkedDocument]]


class WorkerPool:
    """Worker processes, started on first use and kept for later calls.

    link  called in the workers; pickled once
    """

    def __init__(self, link: LinkBatch) -> None:
        self._link = link
        self._guard = Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._jobs = 0

    def link(
        self, documents: Iterable[Linkable], jobs: int, options: LinkOptions
    ) -> Iterator[LinkedDocument]:
        """Link documents in order, a few batches at a time."""
        pool = self._started(jobs)
        running: deque[Future[list[LinkedDocument]]] = deque()
        try:
            for batch in _balanced_batches(documents, jobs):
                if pool is not self._pool:
                    raise CancelledError
                given = map(as_request, batch)
                sent: list[Any] = [
                    UnannotatedDocument(one) if isinstance(one, Document) else one for one in given
                ]
                running.append(pool.submit(_work, sent, options))
                if len(running) > 2 * jobs:
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()
        except CancelledError:
            raise SgtbError(
                "the worker processes ended before all documents were linked: the linker was "
                "refreshed, closed or used with another number of jobs meanwhile"
            ) from None
        except BrokenProcessPool:
            error = pool_error(
                pool, "a worker process ended while linking, perhaps out of memory: use fewer jobs"
            )
            self.end()
            raise error from None
        finally:
            for future in running:
                future.cancel()

    def _started(self, jobs: int) -> ProcessPoolExecutor:
        with self._guard:
            old = self._pool
            if old is not None and self._jobs == jobs:
                return old
            self._pool = new = ProcessPool(jobs, _begin, self._link)
            self._jobs = jobs
        _end(old)
        return new

    def end(self) -> None:
        """End the processes."""
        with self._guard:
            pool, self._pool = self._pool, None
        _end(pool)


def _end(pool: ProcessPoolExecutor | None) -> None:
    if pool is not None:
        pool.shutdown(wait=True, cancel_futures=True)


_link_batch: LinkBatch | None = None
_batches_done = count(1)


def _begin(link: LinkBatch) -> None:
    global _link_batch
    _link_batch = link
    gc.freeze()  # loaded objects need no collection
    gc.disable()


def _work(batch: list[Linkable], options: LinkOptions) -> list[LinkedDocument]:
    assert _link_batch is not None
    if next(_batches_done) % _BATCHES_TO_COLLECT == 0:
        gc.collect()
    return _link_batch(batch, options)


def batches(documents: Iterable[D]) -> Iterator[list[D]]:
    """Group documents into batches."""
    given = iter(documents)
    while batch := list(islice(given, BATCH)):
        yield batch


def _balanced_batches(documents: Iterable[Linkable], jobs: int) -> Iterator[list[Linkable]]:
    """Yield batches of about the same effort; the last are smaller, to keep all workers busy.

    Some documents are read ahead to see the end coming.
    """
    given = iter(documents)
    ahead: deque[tuple[Linkable, int]] = deque()
    left = 0
    while True:
        more = [(one, _effort(one)) for one in islice(given, jobs * BATCH - len(ahead))]
        ahead.extend(more)
        left += sum(effort for _, effort in more)
        if not ahead:
            return
        wanted = min(_EFFORT, max(_LEAST_EFFORT, left // jobs))
        batch, effort = list[Linkable](), 0
        while ahead and len(batch) < BATCH and (not batch or effort + ahead[0][1] // 2 < wanted):
            document, own = ahead.popleft()
            batch.append(document)
            effort += own
        left -= effort
        yield batch


def _effort(document: Linkable) -> int:
    """Estimate the number of mentions of a document, plus a constant, without checks."""
    name = "mentions" if isinstance(document, Document) else "spans"
    mentions = getattr(document, name, None)
    if isinstance(mentions, tuple | list):
        return 4 + len(mentions)
    text = getattr(document, "text", document)
    return 4 + (len(text) // 40 if isinstance(text, str) else 0)
