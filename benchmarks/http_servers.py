"""HTTP servers compared: the application of the service under several, by turns in one run.

    pip install granian hypercorn
    python -m benchmarks.http_servers             throughput and processor time
    python -m benchmarks.http_servers --kills     granian with two workers, one of them killed twice

The starter's texts, 64 clients. `sgtb` is `sgtb serve`; the others serve the bare application.
"""

import argparse
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter

import psutil

from benchmarks.serve import starter_texts, tree_seconds
from benchmarks.serve_clients import ask, post_of
from sgtb.serving.app import create_app
from sgtb.serving.engine import Engine
from sgtb.serving.linker_source import LinkerSource

_SGTB = "import sys; from sgtb.cli.main import app; app(['serve', '--port', sys.argv[1]])"
_UVICORN = (
    "import sys, uvicorn; uvicorn.run('benchmarks.http_servers:make', factory=True, "
    "port=int(sys.argv[1]), http='{}', log_level='error', access_log=False)"
)
COMMANDS = {
    "sgtb": ["-c", _SGTB],
    "uvicorn httptools": ["-c", _UVICORN.format("httptools")],
    "uvicorn h11": ["-c", _UVICORN.format("h11")],
    "granian": ["-m", "granian", "benchmarks.http_servers:make", "--factory", "--interface", "asgi",
                "--http", "1", "--no-ws", "--respawn-failed-workers", "--port"],
    "hypercorn": ["-m", "hypercorn", "benchmarks.http_servers:make()", "--bind"],
}  # fmt: skip


def make() -> object:
    """Return the application with the starter."""
    return create_app(Engine(LinkerSource().load))


def _start(name: str, port: int, *more: str) -> "subprocess.Popen[bytes]":
    address = f"127.0.0.1:{port}" if name == "hypercorn" else str(port)
    command = [sys.executable, *COMMANDS[name], address, *more]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.2)
    return server


def compare(seconds: float, turns: int) -> None:
    """Print throughput and processor time of each server, medians of the turns."""
    requests = [post_of("/api/link", {"text": text}) for text in starter_texts(500)]
    ports = {name: 18_000 + i for i, name in enumerate(COMMANDS)}
    servers = {name: _start(name, port) for name, port in ports.items()}
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in servers}
    for turn in range(turns + 1):
        for name, server in servers.items():
            process = psutil.Process(server.pid)
            used = tree_seconds(process)
            one = ask(ports[name], requests, 64, seconds).to_dict()
            used = tree_seconds(process) - used
            if turn:  # the first is not counted
                milliseconds = 1e3 * used / max(1.0, one["requests"])
                runs[name].append((one["requests_per_second"], one["p99_ms"], milliseconds))
    for name, some in runs.items():
        rate, p99, used = (statistics.median(column) for column in zip(*some, strict=True))
        print(f"{name:20} {rate:6.0f} a second, p99 {p99:6.0f} ms, processor {used:5.2f} ms")
        servers[name].terminate()


def kill_workers() -> None:
    """Kill a worker of granian twice, four seconds apart, and print the clients' results."""
    requests = [post_of("/api/link", {"text": text}) for text in starter_texts(100)]
    server = _start("granian", 18_100, "--workers", "2")
    time.sleep(10)
    kills: list[int] = []

    def kill(share: float) -> None:
        if len(kills) < 2 and share * 15 > 4 * (1 + len(kills)) and server.poll() is None:
            psutil.Process(server.pid).children()[-1].kill()
            kills.append(1)

    tally = ask(18_100, requests, 16, 15, kill)
    errors = Counter(error.partition(":")[0] for error in tally.errors)
    print(f"{len(kills)} kills, {len(tally.seconds)} answers, errors {dict(errors)}")
    print("ended" if server.poll() is not None else "still running")
    server.terminate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--kills", action="store_true")
    given = parser.parse_args()
    if given.kills:
        kill_workers()
    else:
        compare(given.seconds, given.turns)
