"""Random requests to a service: texts of all scripts, spans, protocols, and damaged bodies.

    python -m tests.fuzz.service_requests --seconds 600     memory over time
    python -m tests.fuzz.service_requests --requests 10000  so many to the API and each protocol

Fails on a 5xx other than 503, on a response later than the time limit plus a second, and, with
--seconds, if memory at the end is more than 5 % above that after the first tenth. Caches are filled
by other requests first, so that the rate of requests does not decide.
"""

import argparse
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

import httpx
import psutil

from benchmarks.serve import serving, tree_mb

NIF = "http://persistence.uni-leipzig.org/nlp2rdf/ontologies/nif-core#"
_SCRIPTS = (
    (0x41, 0x7A), (0xC0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x5D0, 0x5EA), (0x620, 0x64A),
    (0x900, 0x97F), (0xE00, 0xE7F), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
    (0x1F300, 0x1F9FF), (0x10330, 0x1034A),
)  # fmt: skip
_KNOWN = "Jordan Utah Bulls Pippen Chicago Petra Amman Homer Troy Paris London Springfield".split()
_MAX_SECONDS = 31.0
_FILLING = 5_000
"""Requests after which all caches have been full."""
CLIENTS = 4


class RequestMaker:
    """Makes requests from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def word(self) -> str:
        kind = self.random.random()
        if kind < 0.3:
            return self.random.choice(_KNOWN)
        low, high = self.random.choice(_SCRIPTS)
        size = 60 if kind > 0.995 else self.random.randint(1, 9)
        return "".join(chr(self.random.randint(low, high)) for _ in range(size)).capitalize()

    def text(self) -> str:
        size = self.random.choice((0, 1, 5, 20, 60, 200, 800))
        gaps = self.random.choices((" ", ". ", "\n", ", ", "\r\n\r\n"), (80, 10, 4, 5, 1), k=size)
        return "".join(self.word() + gap for gap in gaps)

    def spans(self, text: str) -> list[tuple[int, int]]:
        places = [sorted(self.random.sample(range(len(text) + 1), 2)) for _ in range(5) if text]
        return [(start, end) for start, end in places]

    def api(self) -> tuple[str, bytes, str]:
        text = self.text()
        body: dict[str, object] = {"text": text}
        if self.random.random() < 0.3:
            apart, end = [], 0
            for a, b in sorted(self.spans(text)):
                if a >= end:
                    apart.append({"start": a, "end": b})
                    end = b
            body["spans"] = apart
        if self.random.random() < 0.2 and len(text) < 2_000:
            body["reasons"] = True
        if self.random.random() < 0.1:
            body["fixed"] = [{"start": 0, "end": 1, "entity": self.random.choice((None, "Utah"))}]
        if self.random.random() < 0.1:
            return "/api/link/batch", _json({"documents": [body, {"text": self.text()}]}), "json"
        return "/api/link", _json(body), "json"

    def rel(self) -> tuple[str, bytes, str]:
        text = self.text()
        spans = [[a, b - a] for a, b in self.spans(text)] if self.random.random() < 0.5 else []
        return "/", _json({"text": text, "spans": spans}), "json"

    def spotlight(self) -> tuple[str, bytes, str]:
        text = " ".join(
            f"[[{word}]]" if self.random.random() < 0.3 else word for word in self.text().split(" ")
        )
        name = self.random.choice(("annotate", "candidates", "disambiguate", "spot"))
        fields = {"text": text, "confidence": self.random.choice(("0", "0.5", "x", "1e400"))}
        return (
            f"/rest/{name}",
            urlencode(fields, errors="replace").encode(),
            "x-www-form-urlencoded",
        )

    def nif(self) -> tuple[str, bytes, str]:
        text = self.text()
        quoted = json.dumps(text, ensure_ascii=False)
        lines = [
            f"@prefix nif: <{NIF}> .",
            f"<http://x/#c> a nif:Context ; nif:isString {quoted} .",
        ]
        for a, b in self.spans(text):
            lines.append(
                f"<http://x/#{a}_{b}> nif:referenceContext <http://x/#c> ; "
                f'nif:beginIndex "{a}" ; nif:endIndex "{b}" .'
            )
        return "/nif", "\n".join(lines).encode(errors="replace"), "turtle"

    def fishing(self) -> tuple[str, bytes, str]:
        text = self.text()
        entities = [
            {"rawName": text[a:b], "offsetStart": a, "offsetEnd": b} for a, b in self.spans(text)
        ]
        body = {"text": text, "entities": entities, "nbest": self.random.choice((0, 1, 3, 1e300))}
        return "/disambiguate", _json(body), "json"

    def damaged(self, request: tuple[str, bytes, str]) -> tuple[str, bytes, str]:
        """Change some bytes of a body."""
        path, body, kind = request
        data = bytearray(body)
        for _ in range(self.random.randint(1, 4)):
            at = self.random.randrange(len(data) + 1)
            data[at : at + self.random.randint(0, 5)] = self.random.choice(
                (b"", b"{", b"[[[[", b'"', b"\\ud800", b"\xff", b"1e400", b"-1", b"null", b"\x00")
            )
        return path, bytes(data), kind


PROTOCOLS: tuple[Callable[[RequestMaker], tuple[str, bytes, str]], ...] = (
    RequestMaker.api, RequestMaker.rel, RequestMaker.spotlight, RequestMaker.nif,
    RequestMaker.fishing,
)  # fmt: skip


def _json(record: object) -> bytes:
    return json.dumps(record).encode()


@dataclass
class FuzzResult:
    """Statuses of the responses by path, and what should not have been."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    mistakes: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """Number of responses."""
        return sum(list(self.statuses.values()))


def send(port: int, seed: int, more: Callable[[int], bool], result: FuzzResult) -> None:
    """Send requests while `more` says so, a third of them damaged."""
    maker = RequestMaker(seed)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=90) as client:
        count = 0
        while more(count):
            path, body, kind = request = PROTOCOLS[count % len(PROTOCOLS)](maker)
            if maker.random.random() < 0.3:
                path, body, kind = maker.damaged(request)
            begin = time.monotonic()
            try:
                answer = client.post(
                    path, content=body, headers={"content-type": f"application/{kind}"}
                )
            except httpx.HTTPError as error:
                result.mistakes.append(f"{path}: {error!r} for {body[:200]!r}")
                count += 1
                continue
            seconds = time.monotonic() - begin
            result.statuses[path, answer.status_code] += 1
            if (answer.status_code >= 500 and answer.status_code != 503) or seconds > _MAX_SECONDS:
                result.mistakes.append(f"{path}: {answer.status_code} in {seconds:.1f} s: {body!r}")
            count += 1


def memory_over_time(process: psutil.Process, result: FuzzResult, seconds: float) -> list[float]:
    """Return the memory in MB at each tenth of the time, which begins with full caches."""
    while result.requests < _FILLING:
        time.sleep(0.2)
    begin = time.monotonic()
    memory = []
    for tenth in range(1, 11):
        time.sleep(max(0.0, begin + seconds * tenth / 10 - time.monotonic()))
        memory.append(tree_mb(process))
        print(
            f"{seconds * tenth / 10:6.0f} s {result.requests:9,} {memory[-1]:7.1f} MB", flush=True
        )
    return memory


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    result = FuzzResult()
    memory: Sequence[float] = ()
    with serving([]) as (port, process):
        is_over = threading.Event()

        def more(count: int) -> bool:
            if given.seconds:
                return not is_over.is_set()
            return count < given.requests * len(PROTOCOLS) // CLIENTS

        threads = [
            threading.Thread(target=send, args=(port, given.seed + i, more, result))
            for i in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        if given.seconds:
            memory = memory_over_time(process, result, given.seconds)
        is_over.set()
        for thread in threads:
            thread.join()
    for (path, status), number in sorted(result.statuses.items()):
        print(f"{path:20} {status} {number:7,}")
    print(f"{result.requests:,} requests, {len(result.mistakes)} mistakes")
    for mistake in result.mistakes[:5]:
        print(mistake[:500])
    grown = memory[-1] / memory[0] - 1 if memory else 0.0
    if memory:
        print(f"memory at the end: {grown:+.1%} of that after the first tenth")
    return int(bool(result.mistakes) or grown > 0.05)


if __name__ == "__main__":
    sys.exit(main())
