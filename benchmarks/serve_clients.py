"""Concurrent clients of a service; each sends its next request when it has an answer."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

_ALONE = 20.0
"""Seconds without an answer after which a client gives up."""


@dataclass
class Tally:
    """Results of clients: the seconds of every answer, and errors."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    taken: float = 0.0
    bytes: int = 0

    def to_dict(self) -> dict[str, float]:
        """Return plain data."""
        p50, p99, most = np.percentile(self.seconds or [float("nan")], [50, 99, 100])
        return {
            "requests": len(self.seconds),
            "errors": len(self.errors),
            "requests_per_second": len(self.seconds) / self.taken,
            "p50_ms": 1e3 * float(p50),
            "p99_ms": 1e3 * float(p99),
            "max_ms": 1e3 * float(most),
            "bytes_per_answer": self.bytes / max(1, len(self.seconds)),
        }


def post_of(path: str, record: object) -> bytes:
    """Return a POST request with JSON, ready to be written."""
    body = json.dumps(record).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def ask(
    port: int,
    requests: Sequence[bytes],
    clients: int,
    seconds: float,
    at: Callable[[float], None] = lambda share: None,
    patience: float = _ALONE,
) -> Tally:
    """Run clients for some seconds, each with its own connection.

    at        called about twice a second, with the share of the time that has passed
    patience  seconds without an answer after which a client gives up
    """
    return asyncio.run(_ask(port, requests, clients, seconds, at, patience))


async def _ask(
    port: int,
    requests: Sequence[bytes],
    clients: int,
    seconds: float,
    at: Callable[[float], None],
    patience: float,
) -> Tally:
    tally = Tally()
    begin = time.perf_counter()

    async def look() -> None:
        while True:
            await asyncio.to_thread(at, (time.perf_counter() - begin) / seconds)
            await asyncio.sleep(0.5)

    looking = asyncio.create_task(look())
    step = max(1, len(requests) // clients)
    await asyncio.gather(
        *(
            _client(port, requests, i * step, begin + seconds, tally, patience)
            for i in range(clients)
        )
    )
    tally.taken = time.perf_counter() - begin
    looking.cancel()
    return tally


async def _client(
    port: int, requests: Sequence[bytes], first: int, until: float, tally: Tally, patience: float
) -> None:
    reader = writer = None
    while (begin := time.perf_counter()) < until:
        try:
            if reader is None or writer is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(requests[first % len(requests)])
            async with asyncio.timeout(patience):
                status, size = await _answer(reader)
        except (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError) as error:
            tally.errors.append(f"{type(error).__name__}: {error}")
            reader = writer = None
            await asyncio.sleep(0.1)
            continue
        if status == 200:
            tally.seconds.append(time.perf_counter() - begin)
            tally.bytes += size
        else:
            tally.errors.append(f"status {status}")
        first += 1
    if writer is not None:
        writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, int]:
    """Read an answer; return its status and the size of its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    at = head.lower().index(b"content-length:") + len(b"content-length:")
    size = int(head[at : head.index(b"\r\n", at)])
    await reader.readexactly(size)
    return status, size
