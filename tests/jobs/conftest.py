"""A job that nothing disturbed, and a cluster whose processes have faults."""

from contextlib import ExitStack

import pytest

from sgtb.integrations.dask_cluster import connect
from tests.helpers.job_runs import faulty, run_here, write_lines

DOCUMENTS = 160


@pytest.fixture(scope="session")
def lines(tmp_path_factory):
    return write_lines(tmp_path_factory.mktemp("inputs") / "lines.jsonl", DOCUMENTS)


@pytest.fixture(scope="session")
def reference(lines):
    """The output of one process without Dask."""
    job = lines.parent / "reference"
    run_here(job, lines)
    return job


@pytest.fixture(scope="session")
def ids():
    return [f"d{i}" for i in range(DOCUMENTS)]


@pytest.fixture(scope="package")
def cluster():
    """A local cluster of one worker; its processes have faults.

    Workers that are restarted need the environment, too, so it lasts as long as the cluster; tests
    outside this folder must not see it.
    """
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for key, value in faulty(SGTB_TEST_DELAY="0.05").items():
            patch.setenv(key, value)
        yield stack.enter_context(connect("local:1"))
