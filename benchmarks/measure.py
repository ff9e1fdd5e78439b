"""Measuring: timings, fitted lines and powers, parallel processes."""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any, NamedTuple, TypeVar

import numpy as np

CORES = 2
"""Cores of both sides of every comparison."""

Result = TypeVar("Result")


class Line(NamedTuple):
    """intercept + slope · x."""

    intercept: float
    slope: float

    def total(self, n: int) -> float:
        """Return the sum over x = 0 to n - 1."""
        return n * self.intercept + self.slope * n * (n - 1) / 2


def seconds_of(work: Callable[[], object]) -> float:
    """Return the wall time of `work`."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median of several timings."""
    return statistics.median(seconds_of(work) for _ in range(repeats))


def fit_line(x: Sequence[float], y: Sequence[float]) -> Line:
    """Fit a line by least squares; one point gives a level one."""
    if len(x) == 1:
        return Line(y[0], 0.0)
    slope, intercept = np.polyfit(x, y, 1)
    return Line(float(intercept), float(slope))


def fit_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return k of seconds ≈ c · size**k, by least squares on the logarithms."""
    return fit_line(np.log(sizes).tolist(), np.log(seconds).tolist()).slope


def interpolated_total(x: Sequence[int], y: Sequence[float], first: int, last: int) -> float:
    """Sum y over the whole numbers `first` to `last`, straight lines between the known ones."""
    return float(np.interp(np.arange(first, last + 1), x, y).sum())


def side_by_side(work: Callable[[int], Result]) -> list[Result]:
    """Run work(0), work(1), ... at once, each in a forked process, and return their results."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(CORES)
    pipes, workers = [], []
    for i in range(CORES):
        ours, theirs = context.Pipe(duplex=False)
        workers.append(context.Process(target=_answer, args=(work, i, barrier, theirs)))
        workers[-1].start()
        theirs.close()
        pipes.append(ours)
    try:
        return [pipe.recv() for pipe in pipes]
    except EOFError:
        raise RuntimeError("a process of the naive twin died; see above") from None
    finally:
        for worker in workers:
            worker.join()


def _answer(work: Callable[[int], Any], i: int, barrier: Barrier, pipe: Connection) -> None:
    barrier.wait(timeout=60)
    pipe.send(work(i))


def rounded(value: Any) -> Any:
    """Return records with their floats rounded to four digits."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in value]
    return value
