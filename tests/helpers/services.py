"""Services for tests: run in a thread, with linkers that wait or fail as they are told."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import uvicorn

from sgtb.linking.links import Link, LinkedDocument
from sgtb.serving.engine import Engine
from sgtb.serving.processes import listen_on
from sgtb.serving.server import config_of

MANY = (Link(0, 4, "many", None, "x" * 1_000, "", 1.0, "nothing"),) * 20_000
"""Links that make an answer of 20 MB."""


class FakeLinker:
    """Links nothing, or many times for texts that say so; fails for others; waits until it may."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.may.set()
        self.batches: list[list[str]] = []
        self.kb = self
        self.state = SimpleNamespace(entities=0, generation=0)

    def number(self, _):
        return None

    def link_many(self, requests, _=None):
        self.batches.append([request.text for request in requests])
        assert self.may.wait(20)
        for request in requests:
            if request.text == "fail":
                raise OSError(5, "a secret", "/etc/secret")
        return [
            LinkedDocument(request.text, MANY if request.text == "many" else (), request.id)
            for request in requests
        ]

    @property
    def linked(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


@contextmanager
def running(engine: Engine) -> Iterator[int]:
    """Serve on a port of this machine, and give it."""
    server = uvicorn.Server(config_of(engine))
    with listen_on("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True)
        thread.start()
        wait_until(lambda: server.started or not thread.is_alive())
        assert server.started
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join()


def wait_until(happens, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        yield connection


def received(connection: socket.socket) -> bytes:
    """Return what comes until the other side hangs up."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def post(path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body
