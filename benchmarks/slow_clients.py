"""Slow clients of a service, of five kinds, in a separate process.

Silent ones, half a head, a head byte by byte, half a body, and a long response that is not read.
A connection that the service closes is opened again.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.serve_clients import post_of

_LONG = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 10
_HALF = post_of("/api/link", {"text": "x" * 1_000})[:-500]
KINDS = ("silent", "half head", "byte by byte", "half body", "no reader")


@contextmanager
def slow_clients(port: int, count: int) -> Iterator[None]:
    """Run slow clients; they are connected when the block begins."""
    command = [sys.executable, "-m", "benchmarks.slow_clients", json.dumps([port, count])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.terminate()


async def _one(port: int, kind: str) -> None:
    while True:
        try:
            await _once(port, kind)
        except OSError:
            await asyncio.sleep(0.5)


async def _once(port: int, kind: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
    first = {"half head": b"POST /api/link HTTP/1.1\r\nHost", "half body": _HALF}
    try:
        if kind == "no reader":
            writer.write(_LONG)
            await asyncio.sleep(60)
            return
        writer.write(first.get(kind, b""))
        while kind == "byte by byte" and not reader.at_eof():
            writer.write(b"G")
            await asyncio.sleep(1)
        while await reader.read(100):
            pass
    finally:
        writer.close()


async def _run(port: int, count: int) -> None:
    tasks = [asyncio.create_task(_one(port, KINDS[i % len(KINDS)])) for i in range(count)]
    await asyncio.sleep(3)
    print("connected", flush=True)
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    asyncio.run(_run(*json.loads(sys.argv[1])))
