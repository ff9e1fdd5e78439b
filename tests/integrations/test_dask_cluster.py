"""Clusters: what `--cluster` may say, and what is refused."""

import json
import os
import subprocess
import sys

import pytest

from sgtb.core.errors import SettingsError, SgtbError
from sgtb.integrations import dask_cluster
from sgtb.integrations.dask_cluster import connect


def test_a_local_cluster_has_the_workers_that_were_asked_for():
    with connect("local:1") as client:
        client.wait_for_workers(1)
        assert list(client.nthreads().values()) == [1]
        assert client.submit(sum, [1, 2]).result() == 3


def test_workers_do_not_return_memory_within_documents():
    with connect("local:1") as client:
        client.wait_for_workers(1)
        for variables in client.run(lambda: dict(os.environ)).values():
            assert "MALLOC_TRIM_THRESHOLD_" not in variables
            assert variables["OMP_NUM_THREADS"] == "1"


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_workers_that_share_imports():
    """In a process of its own: the one that workers are forked from lasts as long."""
    script = """
import os, sys
from sgtb.integrations.dask_cluster import connect
def state():
    imported = [name in sys.modules for name in ("sgtb.jobs.link_part", "pandas")]
    return (*imported, os.environ["OMP_NUM_THREADS"], os.getppid())
with connect("local:2", ["sgtb.jobs.link_part"]) as client:
    client.wait_for_workers(2)
    ((module, pandas, threads, parent),) = set(client.run(state).values())
    assert (module, pandas, threads) == (True, False, "1")
    assert parent != os.getpid()
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_specs_that_are_no_cluster_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="local:0: from 1 to 1024 workers"), connect("local:0"):
        pass
    with pytest.raises(SettingsError, match="no such file; it should be local:N"), connect("here"):
        pass
    file = tmp_path / "scheduler.json"
    for text in ("{", "[]", "{}", '{"address": 1}'):
        file.write_text(text)
        with pytest.raises(SettingsError, match="not a scheduler file"), connect(str(file)):
            pass


def test_a_scheduler_that_does_not_answer_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1)
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": "tcp://127.0.0.1:9"}))
    for spec in ("tcp://127.0.0.1:9", str(file)):
        with pytest.raises(SgtbError, match="no scheduler answers within 1 seconds"), connect(spec):
            pass
