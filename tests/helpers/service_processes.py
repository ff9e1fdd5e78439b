"""Services in processes of their own, with any settings, and raw clients of them."""

import json
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

_MAIN = """
import json, sys
from sgtb.serving.linker_source import LinkerSource
from sgtb.serving.processes import Work, run
from sgtb.serving.service_settings import ServeSettings
settings, workers = json.loads(sys.argv[1]), int(sys.argv[2])
work = Work(LinkerSource(), ServeSettings(**settings), "127.0.0.1", 0)
run(work, workers, lambda address: print(address, flush=True))
"""
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass(frozen=True)
class ServiceProcess:
    port: int
    process: psutil.Process
    log: Path

    def workers(self) -> list[psutil.Process]:
        found = []
        for child in self.process.children():
            try:
                if "spawn_main" in " ".join(child.cmdline()):
                    found.append(child)
            except psutil.Error:
                continue
        return found

    def peak_mb(self) -> float:
        """Return the largest resident memory that it ever had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1000

    def mb(self) -> float:
        return self.process.memory_info().rss / 1e6


@contextmanager
def spawned(folder: Path, workers: int = 1, descriptors: int = 0, **settings) -> Iterator[
    ServiceProcess
]:  # fmt: skip
    """Serve the starter in a process of its own.

    descriptors  limit of open files; 0: that of the tests
    """

    def limited() -> None:
        if descriptors:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    log = folder / "service.log"
    with log.open("wb") as written:
        command = [sys.executable, "-c", _MAIN, json.dumps(settings), str(workers)]
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=written, text=True, preexec_fn=limited
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline()
            assert address, log.read_text()
            port = int(address.rsplit(":", 1)[1].strip("/\n"))
            yield ServiceProcess(port, psutil.Process(server.pid), log)
        finally:
            server.terminate()
            server.wait(60)


def exchange(port: int, *parts: bytes, pause: float = 0.3) -> bytes:
    """Send parts with pauses between them, and return all that comes until the connection ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(parts[0])
        for part in parts[1:]:
            time.sleep(pause)
            connection.sendall(part)
        received = b""
        try:
            while part := connection.recv(1 << 16):
                received += part
        except ConnectionResetError:
            pass
        return received


def statuses(answer: bytes) -> list[int]:
    """Return the statuses of the answers on a connection."""
    lines = answer.replace(b"}HTTP/1.1", b"}\nHTTP/1.1").splitlines()
    return [int(line[9:12]) for line in lines if line.startswith(b"HTTP/1.1 ")]
