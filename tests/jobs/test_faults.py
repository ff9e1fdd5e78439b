"""Faults of a job at several moments: in the end every document is there once, in equal bytes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import psutil
import pyarrow.parquet as pq
import pytest

from sgtb.integrations.dask import DaskEngine
from sgtb.jobs.isolation import REASON
from tests.helpers.job_runs import (
    check_complete,
    content,
    documents_of,
    faulty,
    links_of,
    moments,
    run_here,
    start_command,
    wait_for_parts,
    write_lines,
)

PARTS = 11


@pytest.mark.parametrize("moment", moments(PARTS))
def test_killed_worker(cluster, lines, reference, ids, tmp_path, moment):
    job = tmp_path / "job"

    def kill():
        wait_for_parts(job, moment)
        for pid in cluster.run(os.getpid, on_error="ignore").values():
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    run_here(job, lines, engine=DaskEngine(cluster))
    killer.join()
    check_complete(job, reference, ids)


@pytest.mark.parametrize("moment", moments(PARTS))
def test_killed_worker_of_a_command(lines, reference, ids, tmp_path, moment):
    """Its worker is forked from a process that has imported all modules."""
    job = tmp_path / "job"
    client = start_command(job, lines, cluster="local:1", SGTB_TEST_DELAY="0.05")
    wait_for_parts(job, moment, client)
    for process in psutil.Process(client.pid).children():
        for worker in process.children():
            worker.kill()
    _, errors = client.communicate()
    assert client.returncode == 0, errors
    check_complete(job, reference, ids)


@pytest.mark.parametrize("moment", moments(PARTS))
def test_killed_command_with_workers(lines, reference, ids, tmp_path, moment):
    """The processes of its cluster end with it."""
    job = tmp_path / "job"
    client = start_command(job, lines, cluster="local:2", SGTB_TEST_DELAY="0.05")
    wait_for_parts(job, moment, client)
    processes = psutil.Process(client.pid).children(recursive=True)
    client.kill()
    client.communicate()
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert not alive
    run_here(job, lines)
    check_complete(job, reference, ids)


@pytest.mark.parametrize("moment", moments(PARTS))
@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_killed_client(cluster, lines, reference, ids, tmp_path, engine, moment):
    job = tmp_path / "job"
    address = cluster.scheduler.address if engine == "dask" else None
    client = start_command(job, lines, cluster=address, SGTB_TEST_DELAY="0.05")
    wait_for_parts(job, moment, client)
    client.kill()
    client.communicate()
    run_here(job, lines, engine=DaskEngine(cluster))
    check_complete(job, reference, ids)


@pytest.mark.parametrize("moment", moments(PARTS))
def test_killed_scheduler(lines, reference, ids, tmp_path, moment):
    job, file = tmp_path / "job", tmp_path / "scheduler.json"
    with _process("dask", "scheduler", "--port", "0", file=file) as scheduler:
        while not file.exists():
            assert scheduler.poll() is None
        with _process("dask", "worker", "--no-dashboard", "--memory-limit", "0", file=file):
            client = start_command(job, lines, cluster=str(file))
            wait_for_parts(job, max(moment, 1), client)  # it has connected
            scheduler.kill()
            _, errors = client.communicate()
    assert client.returncode == 0 or "run the same command again" in errors
    run_here(job, lines)
    check_complete(job, reference, ids)


@contextmanager
def _process(*arguments, file):
    command = [sys.executable, "-m", *arguments, "--scheduler-file", str(file)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=faulty(SGTB_TEST_DELAY="0.1"), **quiet) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.mark.parametrize("number", [moment + 1 for moment in moments(PARTS)])
def test_killed_between_data_and_sidecar(lines, reference, ids, tmp_path, number):
    job = tmp_path / "job"
    client = start_command(job, lines, SGTB_TEST_SIDECAR=str(number))
    client.communicate()
    assert client.returncode == -signal.SIGKILL
    assert len(list(job.glob("part-*.parquet"))) == number
    assert len(list(job.glob("part-*.json"))) == number - 1
    run_here(job, lines)
    check_complete(job, reference, ids)


@pytest.mark.parametrize("moment", moments(PARTS))
def test_two_clients(cluster, lines, reference, ids, tmp_path, moment):
    """A second client, and this process, join a job."""
    job = tmp_path / "job"
    clients = [start_command(job, lines, SGTB_TEST_DELAY="0.05")]
    wait_for_parts(job, moment, clients[0])
    clients.append(start_command(job, lines, SGTB_TEST_DELAY="0.05"))
    run_here(job, lines, engine=DaskEngine(cluster))
    for client in clients:
        _, errors = client.communicate()
        assert client.returncode == 0, errors
    check_complete(job, reference, ids)


@pytest.mark.parametrize("moment", moments(PARTS))
def test_file_size_limit(lines, reference, ids, tmp_path, moment):
    """A file that cannot grow is an error of the system, as a full disk is."""
    job = tmp_path / "job"
    sizes = sorted(path.stat().st_size for path in reference.glob("part-*.parquet"))
    assert len(sizes) == PARTS
    shutil.copytree(reference, job)
    for path in sorted(job.glob("part-*"))[2 * moment :]:
        path.unlink()
    (job / "_SUCCESS").unlink()
    script = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({sizes[0] - 1},) * 2)\n"
        "from sgtb.cli.main import app; app()"
    )
    command = [sys.executable, "-c", script, "link", "--batch", str(lines), "-o", str(job)]
    command += ["--part-size", "0.001", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True)
    part = job / f"part-{moment:05}.parquet"
    assert (result.returncode, result.stderr) == (1, f"sgtb: {part}: File too large\n")
    assert not list(job.glob(".*"))
    run_here(job, lines)
    check_complete(job, reference, ids)


@contextmanager
def _small_disk(folder, size):
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("kilobytes", [8 * moment + 8 for moment in moments(PARTS)])
def test_full_disk(lines, reference, ids, tmp_path, kilobytes):
    """A part takes 8 kB of such a disk: a page for its data, one for its sidecar."""
    with _small_disk(tmp_path / "disk", f"{kilobytes}k") as disk:
        job = disk / "job"
        client = start_command(job, lines)
        _, errors = client.communicate()
        assert client.returncode == 1
        assert "No space left on device" in errors
        subprocess.run(["mount", "-o", "remount,size=10m", str(disk)], check=True)
        run_here(job, lines)
        check_complete(job, reference, ids)


@pytest.mark.parametrize("moment", moments(PARTS))
@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_document_that_kills(cluster, lines, reference, ids, tmp_path, engine, moment):
    """In any part; it is rejected, and all others are linked as without it."""
    before = moment * len(ids) // PARTS
    killer = {before: json.dumps({"id": "killer", "text": "Jordan the KILLER."}).encode()}
    poisoned = write_lines(tmp_path / "poisoned.jsonl", len(ids), killer)
    job = tmp_path / "job"
    if engine == "dask":
        run_here(job, poisoned, engine=DaskEngine(cluster))
    else:
        client = start_command(job, poisoned)
        _, errors = client.communicate()
        assert client.returncode == 0, errors
    rejected = pq.read_table(job / "rejected.parquet").to_pylist()
    assert [(one["document"], one["row"]) for one in rejected] == [("killer", before + 1)]
    assert sorted(documents_of(job)) == sorted([*ids, "killer"])
    assert links_of(job) == links_of(reference)


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_documents_that_kill_or_break(cluster, lines, ids, tmp_path, engine):
    """The same documents are rejected by every engine; all others are linked."""
    bad = {
        7: json.dumps({"id": "killer", "text": "Jordan the KILLER."}).encode(),
        50: json.dumps({"id": "breaker", "text": "Jordan the BREAKER."}).encode(),
        90: b'{"text": "\xff"}',
        120: b'{"id": "long", "text": "' + b"x" * 5_000_001 + b'"}',
    }
    poisoned = write_lines(tmp_path / "poisoned.jsonl", len(ids), bad)
    job = tmp_path / "job"
    if engine == "dask":
        counts = run_here(job, poisoned, engine=DaskEngine(cluster))
    else:
        client = start_command(job, poisoned)
        out, errors = client.communicate()
        assert client.returncode == 0, errors
        counts = json.loads(out)
        assert counts["lost"] >= 1
        assert counts["rejected"] == len(bad)
    rejected = pq.read_table(job / "rejected.parquet").to_pylist()
    assert [(row["document"], row["row"]) for row in rejected] == [
        ("killer", 8), ("breaker", 52), (f"{poisoned}:93", 93), ("long", 124)
    ]  # fmt: skip
    reasons = [row["reason"] for row in rejected]
    assert reasons[:2] == [REASON, "RuntimeError: broken"]
    assert "not UTF-8" in reasons[2]
    assert "5,000,000" in reasons[3]
    assert sorted(documents_of(job)) == sorted([*ids, *(row["document"] for row in rejected)])
    again = content(job)
    run_here(job, poisoned)
    assert content(job) == again
