"""A server of dumps on the loopback interface, in Wikimedia's layout, with faults."""

import bz2
import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

JOB = "articlesmultistreamdump"


class DumpServer(ThreadingHTTPServer):
    """Serves `files` by path; a path that ends in / lists what is under it.

    cuts      bytes after which the next responses for a file name end, one entry each
    errors    statuses of the next responses for a file name, one entry each
    unlimited names of files whose responses state no length
    ranges    whether it answers requests for ranges
    flowing   cleared to hold responses for parts after their first half
    requests  paths and ranges that were requested
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.cuts: dict[str, list[int]] = {}
        self.errors: dict[str, list[int]] = {}
        self.unlimited: set[str] = set()
        self.ranges = True
        self.flowing = threading.Event()
        self.flowing.set()
        self.requests: list[tuple[str, str | None]] = []

    def handle_error(self, *_: object) -> None:
        """Ignore clients that break off."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def publish(
        self, wiki: str, date: str, parts: Mapping[str, bytes], status: str = "done",
        checksums: tuple[str, ...] = ("sha1", "md5"),
    ) -> None:  # fmt: skip
        """Add a dump; `parts` by what follows pages-articles-multistream in their names."""
        folder, prefix = f"/{wiki}/{date}", f"{wiki}-{date}"
        named = {f"{prefix}-pages-articles-multistream{end}": data for end, data in parts.items()}
        listed: dict[str, Any] = {
            name: {"size": len(data), "url": f"{folder}/{name}"} for name, data in named.items()
        }
        listed[f"{prefix}-pages-articles-multistream-index.txt.bz2"] = {"size": 1}
        jobs = {JOB: {"status": status, "files": listed}, "xmlstubsdump": {"status": "done"}}
        self.files[f"{folder}/dumpstatus.json"] = json.dumps({"jobs": jobs}).encode()
        for method in checksums:
            lines = (f"{hashlib.new(method, d).hexdigest()}  {n}\n" for n, d in named.items())
            self.files[f"{folder}/{prefix}-{method}sums.txt"] = "".join(lines).encode()
        self.files |= {f"{folder}/{name}": data for name, data in named.items()}

    def requested(self, ending: str) -> list[str | None]:
        """Return the ranges of the requests for a file."""
        return [range_ for path, range_ in self.requests if path.endswith(ending)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: DumpServer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        server, path = self.server, self.path
        name = path.rpartition("/")[2]
        server.requests.append((path, self.headers.get("Range")))
        if path.endswith("/") and any(one.startswith(path) for one in server.files):
            self._send(200, _listing(path, server.files))
        elif server.errors.get(name):
            self._send(server.errors[name].pop(0), b"")
        elif path not in server.files:
            self._send(404, b"not found")
        else:
            self._send_file(path, name)

    def _send_file(self, path: str, name: str) -> None:
        server = self.server
        data, start = server.files[path], 0
        if server.ranges and (given := self.headers.get("Range")):
            start = int(given.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                self._send(416, b"")
                return
        cut = server.cuts[name].pop(0) if server.cuts.get(name) else None
        headers = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
        self._send(206 if start else 200, data[start:], headers, cut)

    def _send(
        self, status: int, data: bytes, headers: Mapping[str, str] = {}, cut: int | None = None
    ) -> None:
        self.send_response(status)
        self.close_connection = self.path.rpartition("/")[2] in self.server.unlimited
        if not self.close_connection:
            self.send_header("Content-Length", str(len(data)))
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        half = len(data) // 2
        self.wfile.write(data[: half if cut is None else cut])
        if cut is not None:
            self.close_connection = True
            self.connection.shutdown(1)
            return
        if self.path.endswith(".bz2"):
            self.server.flowing.wait(60)
        self.wfile.write(data[half:])


def _listing(path: str, files: Mapping[str, bytes]) -> bytes:
    names = sorted({one[len(path) :].partition("/")[0] for one in files if one.startswith(path)})
    lines = [f'<a href="{name}/">{name}/</a>   01-Jan-2026 10:00   -' for name in names]
    head = f'<html><h1>Index of {path}</h1><pre><a href="../">../</a>\n'
    return (head + "\n".join([*lines, '<a href="latest/">latest/</a>']) + "</pre></html>").encode()


@contextmanager
def dump_server() -> Iterator[DumpServer]:
    """Run a server in a thread."""
    server = DumpServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.flowing.set()
        server.shutdown()
        server.server_close()


def multistream(xml: bytes, pages: int = 50) -> bytes:
    """Compress a dump as Wikimedia does: the head and groups of pages are streams."""
    head, *rest = re.split(rb"(?=  <page>\n)", xml)
    groups = [b"".join(rest[i : i + pages]) for i in range(0, len(rest), pages)]
    return b"".join(bz2.compress(part) for part in (head, *groups))


def parts_of(xml: bytes, count: int) -> dict[str, bytes]:
    """Split a dump into multistream parts by ranges of made-up page ids."""
    head, *pages = re.split(rb"(?=  <page>\n)", xml)
    pages[-1] = pages[-1].replace(b"</mediawiki>\n", b"")
    size = -(-len(pages) // count)
    parts = {}
    for number, begin in enumerate(range(0, len(pages), size), 1):
        some = pages[begin : begin + size]
        name = f"{number}.xml-p{begin + 1}p{begin + len(some)}.bz2"
        parts[name] = multistream(head + b"".join(some) + b"</mediawiki>\n")
    return parts


def generated_dump(folder: Path, size: int) -> bytes:
    """Return the XML of a small generated dump."""
    from benchmarks.dump_generated import DumpShape, write_dump

    path = folder / "generated.xml"
    write_dump(path, DumpShape(size, titles=300, page=1500))
    return path.read_bytes()
