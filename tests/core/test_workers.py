"""Results of worker processes and of pools, in the order of their items."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from sgtb.core.workers import ordered_results


def slow_square(n: int) -> tuple[int, int]:
    time.sleep(0.02 if n % 3 == 0 else 0)
    return n * n, os.getpid()


@pytest.mark.parametrize("workers", [1, 2])
def test_results_of_processes_are_in_order(workers):
    found = list(ordered_results(slow_square, range(9), workers))
    assert [square for square, _ in found] == [n * n for n in range(9)]
    own = {pid == os.getpid() for _, pid in found}
    assert own == {workers == 1}


class Threads:
    """A pool of threads that counts its tasks."""

    workers = 2

    def __init__(self, executor):
        self.submitted, self._executor = 0, executor

    def submit(self, function, item, /):
        self.submitted += 1
        return self._executor.submit(function, item)


def test_a_pool_has_a_few_tasks_at_a_time_and_stays_open():
    with ThreadPoolExecutor(2) as executor:
        pool = Threads(executor)
        results = ordered_results(slow_square, range(100), 1, pool)
        assert next(results)[0] == 0
        assert pool.submitted == 5
        results.close()
        assert pool.submit(slow_square, 2).result()[0] == 4
        found = [square for square, _ in ordered_results(slow_square, range(20), 1, pool)]
    assert found == [n * n for n in range(20)]
