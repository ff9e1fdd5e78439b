"""Training by the command on a cluster of separate processes, whose scheduler is killed."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sgtb.boosting import StructuredGradientBoosting, TrainingSettings
from tests.helpers.problem_builders import model_bytes
from tests.integrations.test_dask_training import CORPUS, DEV, TRAIN

pytest.importorskip("distributed")
SECONDS = 180


@contextmanager
def cluster(file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler and a worker; yields the process of the scheduler."""
    address = ("--scheduler-file", str(file), "--no-dashboard")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = (sys.executable, "-m", "dask")
    scheduler = subprocess.Popen([*dask, "scheduler", "--port", "0", *address], **quiet)
    worker = subprocess.Popen([*dask, "worker", "--no-nanny", "--nthreads", "1", *address], **quiet)
    try:
        wait_for(file, scheduler)
        yield scheduler
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def wait_for(file: Path, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + SECONDS
    while not file.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, f"no {file}"
        time.sleep(0.01)


def test_a_killed_scheduler_and_the_same_command_again(tmp_path):
    files = [tmp_path / f"{i}.problems" for i in range(3)]
    for i, file in enumerate(files):
        CORPUS[6 * i : 6 * i + 6].save(file)
    dev, model, checkpoint = (tmp_path / name for name in ("dev", "model", "checkpoint"))
    DEV.save(dev)

    def command(scheduler_file: Path) -> subprocess.Popen[bytes]:
        options = (
            "--dev", dev, "-o", model, "--checkpoint", checkpoint, "--trees", 60,
            "--check-every", 5, "--cluster", scheduler_file, "--quiet",
        )  # fmt: skip
        words = (Path(sys.executable).with_name("sgtb"), "learner", "train", *files, *options)
        return subprocess.Popen(map(str, words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    with cluster(tmp_path / "first.json") as scheduler:
        first = command(tmp_path / "first.json")
        wait_for(checkpoint, first)
        scheduler.kill()
        _, told = first.communicate(timeout=SECONDS)
    assert first.returncode == 1
    assert b"sgtb: the scheduler of the cluster is gone" in told
    assert b"Traceback" not in told, told.decode()
    assert not model.exists()
    with cluster(tmp_path / "second.json"):
        second = command(tmp_path / "second.json")
        _, told = second.communicate(timeout=SECONDS)
    assert second.returncode == 0, told
    alone = StructuredGradientBoosting("bsg", training=TrainingSettings(60, check_every=5))
    assert model.read_bytes() == model_bytes(alone.fit(TRAIN, DEV), tmp_path)
