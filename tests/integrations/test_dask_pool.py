"""Builds on a Dask cluster: the bytes of a build in one process, whatever happens to workers."""

import bz2
import os
import signal
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest

from benchmarks.dump_generated import DumpShape, write_dump
from sgtb.cli.main import app
from sgtb.core.errors import SettingsError
from sgtb.integrations.dask_cluster import DaskPool, connect
from sgtb.wikipedia.build.dump_build import build_wiki
from tests.helpers.wiki_dump import digests

CHUNK = 60_000


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("sgtb.wikipedia.build.dump_build._CHUNK", CHUNK)


@pytest.fixture(scope="module")
def dump(tmp_path_factory) -> Path:
    """A multistream dump: pages in streams of their own, as Wikimedia packs them."""
    plain = tmp_path_factory.mktemp("dump") / "generated.xml"
    write_dump(plain, DumpShape(1_500_000, titles=2000))
    text, packed = plain.read_bytes(), plain.with_suffix(".xml.bz2")
    cuts = [0, *(text.index(b"<page>", at) for at in range(50_000, len(text) - 50_000, 50_000))]
    parts = zip(cuts, [*cuts[1:], len(text)], strict=True)
    packed.write_bytes(b"".join(bz2.compress(text[begin:end]) for begin, end in parts))
    return packed


@pytest.fixture(scope="module")
def expected(dump, tmp_path_factory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("one") / "kb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sgtb.wikipedia.build.dump_build._CHUNK", CHUNK)
        build_wiki([dump], place)
    return digests(place)


@pytest.fixture(scope="module")
def client():
    with connect("local:2") as client:
        yield client


def test_a_cluster_gives_the_same_files(dump, expected, client, tmp_path):
    build_wiki([dump], tmp_path / "kb", pool=DaskPool(client))
    assert digests(tmp_path / "kb") == expected


def test_a_worker_that_is_killed_changes_nothing(dump, expected, tmp_path):
    with connect("local:4") as client:
        alive = [*client.run(os.getpid).values()]
        killed = []

        def kill(stage: str, done: int, total: int) -> None:
            if stage == "reading" and len(killed) < 2 and done > len(killed) * total // 3:
                killed.append(alive[len(killed)])
                os.kill(killed[-1], signal.SIGKILL)

        build_wiki([dump], tmp_path / "kb", progress=kill, pool=DaskPool(client))
        assert len(killed) == 2
    assert digests(tmp_path / "kb") == expected


def test_a_task_that_is_lost_is_an_error(client):
    task = DaskPool(client).submit(time.sleep, 2)
    task.cancel()
    with pytest.raises(BrokenExecutor):
        task.result()


def test_workers_that_do_not_see_a_file(client, tmp_path):
    pool = DaskPool(client)
    pool.require([tmp_path])
    assert pool.workers == 2
    with pytest.raises(SettingsError, match=r"missing: the worker tcp://.* does not see it"):
        pool.require([tmp_path, tmp_path / "missing"])


def test_the_command(dump, expected, client, tmp_path, monkeypatch):
    """Relative paths: workers have another current folder."""
    from typer.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    (tmp_path / dump.name).symlink_to(dump)
    address = client.scheduler.address
    words = ["kb", "build", "wiki", dump.name, "-o", "kb", "--cluster", address, "--quiet"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert digests(tmp_path / "kb") == expected
