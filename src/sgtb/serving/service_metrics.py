"""Prometheus metrics of the service, added up over its processes.

Several processes may share a port, and any of them may receive a request for `/metrics`. They keep
their values in memory-mapped files of one directory, which PROMETHEUS_MULTIPROC_DIR names; it must
be set before prometheus_client is imported.
"""

import os
import time
from functools import partial

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from sgtb.core.byte_cache import cache_usage

CONTENT_TYPE = CONTENT_TYPE_LATEST
DIRECTORY_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
ROUTES = (
    "/", "/page", "/api/link", "/api/link/batch", "/api/entity", "/api/candidates", "/api/kb",
    "/openapi.json", "/healthz", "/readyz", "/metrics", "/rest", "/nif",
    "/disambiguate",
)  # fmt: skip
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry = CollectorRegistry()
        counter = partial(Counter, namespace="sgtb", registry=registry)
        histogram = partial(Histogram, namespace="sgtb", registry=registry)
        gauge = partial(Gauge, namespace="sgtb", registry=registry, multiprocess_mode="livesum")
        self._requests = counter("requests", "Requests answered.", ("route", "status"))
        self._request_seconds = histogram(
            "request_seconds", "Time from a request to its response.", buckets=_SECONDS
        )
        self._batch_documents = histogram(
            "batch_documents", "Documents linked in one batch.", buckets=_SIZES
        )
        self.documents = counter("documents", "Documents linked.")
        self.links = counter("links", "Mentions answered, NIL included.")
        self._linking_seconds = counter("linking_seconds", "Time spent linking.")
        self.overloaded = counter("overloaded", "Requests refused because of a full queue.")
        self.too_late = counter("too_late", "Requests not linked within their time limit.")
        self.reloads = counter("reloads", "Reloads of model and knowledge base.")
        self.failed_reloads = counter("reloads_failed", "Reloads that failed.")
        self.waiting = gauge("waiting_documents", "Documents in the queue.")
        self.ready = gauge("ready_processes", "Processes ready to link.")
        self._cache_bytes = gauge("cache_bytes", "Estimated size of caches.", ("cache",))
        self._cache_budget = gauge("cache_budget_bytes", "Budget of caches.", ("cache",))
        self._next_look = 0.0
        of_kb = partial(gauge, multiprocess_mode="livemax")
        self.entities = of_kb("kb_entities", "Entities of the knowledge base.")
        self.generation = of_kb("kb_generation", "Changes since it was built.")

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered; status 0 where the connection was lost before."""
        self._requests.labels(route_of(path), status or "other").inc()
        self._request_seconds.observe(seconds)

    def batch(self, documents: int, seconds: float) -> None:
        """Count a batch of documents that were linked together."""
        self._batch_documents.observe(documents)
        self._linking_seconds.inc(seconds)
        now = time.monotonic()
        if now >= self._next_look:  # the sizes of the caches, at most once a second
            self._next_look = now + 1.0
            for name, (used, budget) in cache_usage().items():
                self._cache_bytes.labels(name).set(used)
                self._cache_budget.labels(name).set(budget)

    def text(self) -> bytes:
        """Return the metrics of all processes in the text format of Prometheus."""
        directory = os.environ.get(DIRECTORY_VARIABLE)
        if directory is None:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry, directory)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def route_of(path: str) -> str:
    """Return the route that a path is counted under: one of ROUTES, or "other"."""
    if path in ROUTES:
        return path
    return next((route for route in ROUTES[1:] if path.startswith(f"{route}/")), "other")
