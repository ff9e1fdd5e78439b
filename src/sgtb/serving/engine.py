"""The linking engine of a service: batches queued documents and links them off the event loop.

Requests put documents into a bounded queue. A thread takes as many as fit into a batch and links
them at once, which is much faster than one by one. `reload` loads the new linker before it replaces
the old one; requests under way finish with the old one, which is closed with its last reference.
"""

import asyncio
import gc
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from sgtb.core.errors import RequestError
from sgtb.linking.link_options import LinkOptions
from sgtb.linking.linker import Linker
from sgtb.linking.links import LinkedDocument, Request
from sgtb.serving.error_responses import (
    OverloadedError,
    ServeError,
    TooLateError,
    TooLongError,
    TooManyError,
)
from sgtb.serving.link_requests import Options, prepare_request, with_nil_links
from sgtb.serving.service_metrics import Metrics
from sgtb.serving.service_settings import ServeSettings

log = logging.getLogger("sgtb.serving")
LinkQuery = tuple[Request, Options]
_SMOOTHING = 0.1


class _Job(NamedTuple):
    request: Request
    options: Options
    done: "Future[LinkedDocument]"


class Engine:
    """Links for concurrent callers with the linker that `load` returns, now and for a `reload`.

    Call `start` before the first request, `close` at the end.
    """

    def __init__(self, load: Callable[[], Linker], settings: ServeSettings | None = None) -> None:
        self.settings = settings or ServeSettings()
        self.metrics = Metrics()
        self._load = load
        self._current: Linker | None = None
        self._waiting: deque[_Job] = deque()
        self._wakes = threading.Condition()
        self._closed = False
        self._seconds = 0.01  # per document, smoothed
        self._reloading = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Load the linker and start the linking threads."""
        if self._threads:
            return
        self._take(self._load())
        for i in range(self.settings.threads):
            thread = threading.Thread(target=self._work, name=f"linker {i}", daemon=True)
            thread.start()
            self._threads.append(thread)
        self.metrics.ready.set(1)

    def close(self) -> None:
        """Link the queued documents, then release the linker."""
        with self._wakes:
            self._closed = True
            self.metrics.ready.set(0)
            self._wakes.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads = []
        self._current = None

    @property
    def ready(self) -> bool:
        """Whether requests are accepted."""
        return self._current is not None and not self._closed

    @property
    def waiting(self) -> int:
        """Number of queued documents."""
        return len(self._waiting)

    @property
    def linker(self) -> Linker:
        """The current linker. It stays usable for its holder even when replaced."""
        current = self._current
        if current is None:
            raise OverloadedError("the service is starting or ending; try again", retry_after=1)
        return current

    def reload(self) -> bool:
        """Reload model and knowledge base; keep the present ones if that fails."""
        with self._reloading:
            begin = time.perf_counter()
            try:
                self._take(self._load())
            except Exception as error:
                log.error("reload failed: %s: %s", type(error).__name__, error)
                self.metrics.failed_reloads.inc()
                return False
            log.info("reloaded in %.1f s: %r", time.perf_counter() - begin, self.linker)
            self.metrics.reloads.inc()
            return True

    async def link(self, request: Request, options: Options | None = None) -> LinkedDocument:
        """Link a text; raises a ServeError beyond a limit, a RequestError for a bad request."""
        return (await self.link_many([(request, options or Options())]))[0]

    async def link_many(self, queries: Sequence[LinkQuery]) -> list[LinkedDocument]:
        """Link several texts; raises the first error."""
        settings = self.settings
        check_size(len(queries), settings)
        for request, options in queries:
            self._check(request, options)
        jobs = [_Job(request, options, Future()) for request, options in queries]
        self._enqueue(jobs)
        try:
            async with asyncio.timeout(settings.request_seconds):
                return [await asyncio.wrap_future(job.done) for job in jobs]
        except TimeoutError:
            raise self.too_late() from None
        finally:
            for job in jobs:
                job.done.cancel()  # of no use any more

    def too_late(self) -> TooLateError:
        """Count a request that exceeds its time limit, and return the error."""
        self.metrics.too_late.inc()
        seconds = self.settings.request_seconds
        message = f"not answered within the limit of {seconds:g} seconds"
        return TooLateError(message, seconds, self._retry_after())

    def _check(self, request: Request, options: Options) -> None:
        """Raise if a request exceeds a limit."""
        settings = self.settings
        if options.reasons and settings.max_reasons_characters < settings.max_characters:
            most = settings.max_reasons_characters
            check_length(request.text, most, " for a text with reasons")
        check_length(request.text, settings.max_characters)
        check_number(len(request.spans or ()) + len(options.fixed) + len(options.added), settings)
        if not 1 <= options.candidates <= settings.max_candidates:
            raise TooManyError(
                f"candidates must be from 1 to {settings.max_candidates:,}, not "
                f"{options.candidates:,}",
                settings.max_candidates,
            )
        if options.nil is not None and not 0 <= options.nil <= 1:
            raise RequestError(f"nil must be from 0 to 1, not {options.nil!r}")

    def _enqueue(self, jobs: Sequence[_Job]) -> None:
        """Queue all jobs, or none."""
        with self._wakes:
            if not self.ready:
                raise OverloadedError("the service is starting or ending; try again", retry_after=1)
            if len(self._waiting) + len(jobs) > self.settings.queue:
                self.metrics.overloaded.inc()
                raise OverloadedError(
                    f"the queue holds {len(self._waiting):,} documents, and its limit is "
                    f"{self.settings.queue:,}; try again later",
                    self.settings.queue,
                    self._retry_after(),
                )
            self._waiting.extend(jobs)
            self.metrics.waiting.set(len(self._waiting))
            self._wakes.notify()

    def _retry_after(self) -> int:
        """Return the estimated seconds until the queue is empty, rounded up."""
        return max(1, math.ceil(len(self._waiting) * self._seconds))

    def _take(self, linker: Linker) -> None:
        """Replace the linker. The old one is closed with its last reference."""
        self._current = linker
        self.metrics.entities.set(linker.kb.state.entities)
        self.metrics.generation.set(linker.kb.state.generation)
        gc.unfreeze()
        gc.collect()
        gc.freeze()  # long-lived: exempt from collection

    def _work(self) -> None:
        while jobs := self._next():
            begin = time.perf_counter()
            current = self._current
            assert current is not None, "closed only after its threads"
            for options in dict.fromkeys(job.options.link_options for job in jobs):
                same = [job for job in jobs if job.options.link_options == options]
                self._answer(current, options, same)
            seconds = time.perf_counter() - begin
            self._seconds += _SMOOTHING * (seconds / len(jobs) - self._seconds)
            self.metrics.batch(len(jobs), seconds)
            del jobs, current  # an idle thread must not keep an old linker open

    def _next(self) -> list[_Job]:
        """Wait for the next batch and return it; empty at the end."""
        jobs: list[_Job] = []
        characters = 0
        with self._wakes:
            while not jobs:
                while not self._waiting:
                    if self._closed:
                        return []
                    self._wakes.wait()
                while self._waiting and len(jobs) < self.settings.together:
                    characters += len(self._waiting[0].request.text)
                    if jobs and characters > self.settings.together_characters:
                        break
                    job = self._waiting.popleft()
                    if job.done.set_running_or_notify_cancel():
                        jobs.append(job)
            self.metrics.waiting.set(len(self._waiting))
        return jobs

    def _answer(self, linker: Linker, options: LinkOptions, jobs: Sequence[_Job]) -> None:
        """Link jobs in one batch; if that fails, one by one, so that only the faulty ones fail."""
        ready = []
        for job in jobs:
            try:
                ready.append((job, *prepare_request(linker, job.request, job.options)))
            except Exception as error:
                job.done.set_exception(_logged(error))
        if not ready:
            return
        try:
            documents = linker.link_many([request for _, request, _ in ready], options)
        except Exception as error:
            if len(ready) == 1:
                ready[0][0].done.set_exception(_logged(error))
                return
            for job, _, _ in ready:
                self._answer(linker, options, [job])
            return
        self.metrics.documents.inc(len(documents))
        self.metrics.links.inc(sum(len(one.links) for one in documents))
        for (job, _, nil), document in zip(ready, documents, strict=True):
            job.done.set_result(with_nil_links(document, nil))


def check_length(text: str, most: int, what: str = "") -> None:
    """Raise if a text is too long."""
    if len(text) > most:
        raise TooLongError(
            f"a text of {len(text):,} characters is longer than the limit of {most:,}{what}; "
            "link its parts one by one",
            most,
        )


def check_size(documents: int, settings: ServeSettings) -> None:
    """Raise if a request has too many documents."""
    most = settings.max_batch
    if documents > most:
        raise TooManyError(
            f"{documents:,} documents are more than the limit of {most:,} in a request", most
        )


def check_number(spans: int, settings: ServeSettings) -> None:
    """Raise if a text has too many spans."""
    most = settings.max_spans
    if spans > most:
        raise TooManyError(f"{spans:,} spans are more than the limit of {most:,} in a text", most)


def _logged(error: Exception) -> Exception:
    """Return an error; log it unless the caller caused it."""
    if not isinstance(error, RequestError | ServeError):
        log.error("a document could not be linked", exc_info=error)
    return error
