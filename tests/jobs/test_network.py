"""Workers on hosts of their own: network namespaces, no common files, and a link that is cut."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from sgtb.integrations.dask import DaskEngine
from sgtb.integrations.dask_cluster import connect
from sgtb.jobs.worker_linker import linker_spec
from sgtb.starter import KB, MODEL
from tests.helpers.job_runs import FULL, check_complete, faulty, run_here, wait_for_parts

HOSTS = ("one", "two")
SERVER, PORT = "10.213.77.1", 28786


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def _lacking() -> str:
    """Return why hosts cannot be made here; empty if they can."""
    try:
        _ip("netns", "add", f"sgtb{os.getpid()}-try")
        _ip("netns", "del", f"sgtb{os.getpid()}-try")
        subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return str(error)
    return ""


class Hosts:
    """Two namespaces, connected by a bridge: the network of a cluster."""

    def __init__(self, stack: ExitStack) -> None:
        self._name = f"sgtb{os.getpid() % 10_000}"
        self._add(stack, "link", f"{self._name}br", "type", "bridge")
        _ip("addr", "add", f"{SERVER}/24", "dev", f"{self._name}br")
        _ip("link", "set", f"{self._name}br", "up")
        for i, host in enumerate(HOSTS, 2):
            space, outer, inner = self.space(host), self.outer(host), f"{self._name}i{i}"
            self._add(stack, "netns", space)
            self._add(stack, "link", outer, "type", "veth", "peer", "name", inner)
            _ip("link", "set", inner, "netns", space)
            _ip("link", "set", outer, "master", f"{self._name}br", "up")
            _ip("-n", space, "addr", "add", f"10.213.77.{i}/24", "dev", inner)
            _ip("-n", space, "link", "set", inner, "up")
            _ip("-n", space, "link", "set", "lo", "up")

    def space(self, host: str) -> str:
        return f"{self._name}-{host}"

    def outer(self, host: str) -> str:
        return f"{self._name}{host}"

    def _add(self, stack: ExitStack, kind: str, name: str, *more: str) -> None:
        _ip(kind, "add", name, *more)
        stack.callback(_ip, kind, "del", name)

    @contextmanager
    def worker(self, host: str, address: str, hidden, own):
        """Run a worker that sees neither the inputs nor the linker; restart it when it ends."""
        own.mkdir()
        script = (
            f"mount -t tmpfs tmpfs {hidden} && while true; do "
            f"{sys.executable} -m dask worker {address} --no-dashboard --nthreads 1 "
            f"--memory-limit 0 --local-directory {own} --death-timeout 30; sleep 0.2; done"
        )
        command = ["ip", "netns", "exec", self.space(host), "unshare", "-m", "sh", "-c", script]
        env = {**faulty(SGTB_TEST_DELAY="0.3"), "TMPDIR": str(own), "SGTB_CACHE": str(own)}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, env=env, start_new_session=True, **quiet)
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    @contextmanager
    def cut(self, host: str):
        """Cut the link of a host."""
        _ip("link", "set", self.outer(host), "down")
        try:
            yield
        finally:
            _ip("link", "set", self.outer(host), "up")


@pytest.mark.skipif(bool(reason := _lacking()), reason=f"no network namespaces: {reason}")
@pytest.mark.parametrize("seconds", [4] if FULL < 10 else [4, 45])
def test_hosts_without_common_files_and_a_cut_link(lines, reference, ids, tmp_path, seconds):
    """Linker and inputs are sent to both hosts; the one that is cut off comes back.

    Connections survive the shorter cut. The longer one exceeds Dask's timeout of 30 seconds.
    """
    with ExitStack() as stack:
        hosts = Hosts(stack)
        address = f"tcp://{SERVER}:{PORT}"
        scheduler = subprocess.Popen(
            [sys.executable, "-m", "dask", "scheduler", "--host", SERVER, "--port", str(PORT)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        stack.callback(scheduler.wait)
        stack.callback(scheduler.kill)
        _wait_for_port(scheduler)
        for host in HOSTS:
            stack.enter_context(hosts.worker(host, address, lines.parent, tmp_path / host))
        client = stack.enter_context(connect(address))
        client.wait_for_workers(2, timeout=120)
        job, stop = tmp_path / "job", threading.Thread(target=lambda: _cut(hosts, job, seconds))
        stop.start()
        stack.callback(stop.join)
        run_here(job, lines, engine=DaskEngine(client), spec=_hidden_linker(lines.parent))
        assert all(list((tmp_path / host).glob("linker-*")) for host in HOSTS)
    check_complete(job, reference, ids)


def _wait_for_port(scheduler) -> None:
    while scheduler.poll() is None:
        try:
            socket.create_connection((SERVER, PORT), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the scheduler ended")


def _cut(hosts: Hosts, job, seconds: float) -> None:
    wait_for_parts(job, 2)
    with hosts.cut(HOSTS[0]):
        time.sleep(seconds)


def _hidden_linker(folder):
    """Return the starter as files of a folder that workers do not see."""
    shutil.copy(MODEL, folder / "model.safetensors")
    shutil.copytree(KB, folder / "kb", dirs_exist_ok=True)
    return linker_spec(folder / "model.safetensors", folder / "kb")
