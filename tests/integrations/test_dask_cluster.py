"""Clusters: what `--cluster` may say, and what is refused."""

import json
import os

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
