"""Metrics: what a service counts, in the text form that Prometheus reads.

Several processes may answer on one port, and any of them may be asked for the metrics. So the
counts lie in memory that all share, a row for each process, and what is told is the sum.
"""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
ROUTES = (
    "/", "/page", "/api/link", "/api/link/batch", "/api/entity", "/api/candidates", "/api/kb",
    "/openapi.json", "/healthz", "/readyz", "/metrics", "/rest", "/nif", "/disambiguate", "other",
)  # fmt: skip
STATUSES = (200, 204, 304, 400, 404, 405, 408, 413, 415, 422, 500, 503, 0)
"""Each counted by itself; 0 stands for any other."""
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64)
COUNTERS = {
    "sgtb_documents_total": "Documents linked.",
    "sgtb_links_total": "Mentions answered, NIL included.",
    "sgtb_linking_seconds_total": "Time spent linking.",
    "sgtb_overloaded_total": "Requests refused because too many waited.",
    "sgtb_too_late_total": "Requests whose time was over before they were linked.",
    "sgtb_reloads_total": "Models and knowledge bases taken over.",
    "sgtb_reloads_failed_total": "Those that could not be loaded.",
}
GAUGES = {
    "sgtb_waiting_documents": "Documents that wait to be linked.",
    "sgtb_ready_processes": "Processes that link.",
}
_REQUESTS = len(ROUTES) * len(STATUSES)
_SECONDS_AT = _REQUESTS
_SIZES_AT = _SECONDS_AT + len(BOUNDS) + 2
_COUNTERS_AT = _SIZES_AT + len(SIZES) + 2
_GAUGES_AT = _COUNTERS_AT + len(COUNTERS)
WIDTH = _GAUGES_AT + len(GAUGES)
"""Numbers in a row."""


class Metrics:
    """The counts of one process, beside those of the others.

    rows  f8[processes, WIDTH]  shared by all; each writes its own row only
    row   which one that is
    """

    def __init__(self, rows: npt.NDArray[np.float64] | None = None, row: int = 0) -> None:
        self.rows = np.zeros((1, WIDTH)) if rows is None else rows
        self._own = self.rows[row]
        self._guard = threading.Lock()
        self._place = {name: _COUNTERS_AT + i for i, name in enumerate([*COUNTERS, *GAUGES])}

    def count(self, name: str, by: float = 1) -> None:
        """Add to a counter."""
        with self._guard:
            self._own[self._place[name]] += by

    def set(self, name: str, value: float) -> None:
        """Say how something is with this process now."""
        self._own[self._place[name]] = value

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        route, of = ROUTES.index(route_of(path)), STATUSES.index(_known(status))
        with self._guard:
            self._own[route * len(STATUSES) + of] += 1
        self._observe(_SECONDS_AT, BOUNDS, seconds)

    def batch(self, documents: int, seconds: float) -> None:
        """Count documents that were linked together."""
        self._observe(_SIZES_AT, SIZES, documents)
        self.count("sgtb_linking_seconds_total", seconds)

    def _observe(self, at: int, bounds: tuple[float, ...], value: float) -> None:
        place = next((i for i, bound in enumerate(bounds) if value <= bound), len(bounds))
        with self._guard:
            self._own[at + place] += 1
            self._own[at + len(bounds) + 1] += value

    def text(self, others: dict[str, tuple[str, float]]) -> str:
        """Return all that was counted.

        others  what else is so at this moment: by name, the help text and the number
        """
        sums = self.rows.sum(axis=0).tolist()
        lines = [*_requests(sums)]
        lines += _histogram(
            "sgtb_request_seconds", "Time from a request to its answer.", sums[_SECONDS_AT:], BOUNDS
        )
        lines += _histogram(
            "sgtb_batch_documents", "Documents linked together.", sums[_SIZES_AT:], SIZES
        )
        counted = sums[_COUNTERS_AT:_GAUGES_AT]
        for (name, told), value in zip(COUNTERS.items(), counted, strict=True):
            lines += _plain(name, told, "counter", value)
        for (name, told), value in zip(GAUGES.items(), sums[_GAUGES_AT:], strict=True):
            lines += _plain(name, told, "gauge", value)
        for name, (told, value) in others.items():
            lines += _plain(name, told, "gauge", value)
        return "\n".join(lines) + "\n"


def route_of(path: str) -> str:
    """Return the route that a path is counted under: paths may be anything, routes are few."""
    if path in ROUTES:
        return path
    return next((route for route in ROUTES[1:] if path.startswith(f"{route}/")), "other")


def _known(status: int) -> int:
    return status if status in STATUSES else 0


def _plain(name: str, told: str, kind: str, value: float) -> Iterator[str]:
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} {kind}"
    yield f"{name} {_number(value)}"


def _requests(sums: list[float]) -> Iterator[str]:
    yield "# HELP sgtb_requests_total Requests answered."
    yield "# TYPE sgtb_requests_total counter"
    for i, route in enumerate(ROUTES):
        for j, status in enumerate(STATUSES):
            value = sums[i * len(STATUSES) + j]
            if value:
                told = status or "other"
                yield f'sgtb_requests_total{{route="{route}",status="{told}"}} {_number(value)}'


def _histogram(name: str, told: str, sums: list[float], bounds: tuple[Any, ...]) -> Iterator[str]:
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} histogram"
    total = 0.0
    for bound, value in zip(bounds, sums, strict=False):
        total += value
        yield f'{name}_bucket{{le="{bound}"}} {_number(total)}'
    total += sums[len(bounds)]
    yield f'{name}_bucket{{le="+Inf"}} {_number(total)}'
    yield f"{name}_sum {_number(sums[len(bounds) + 1])}"
    yield f"{name}_count {_number(total)}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
