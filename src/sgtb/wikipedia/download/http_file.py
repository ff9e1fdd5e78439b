"""HTTP downloads that resume after interruptions and end in verified files.

A download grows as NAME.part and gets its own name once size and checksum are right. So a file
with its own name is complete, and nothing but the folder has to be remembered between runs.
"""

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from sgtb.core.errors import DownloadError
from sgtb.core.files import sync_folder

T = TypeVar("T")
ATTEMPTS = 6  # attempts in a row without a new byte before a download is given up
_TIMEOUT = 60.0
_MAX_DELAY = 60.0
_CHUNK = 1 << 18
_MAX_LISTING = 64 << 20
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Responses after which the same request may succeed later."""


@dataclass(frozen=True)
class RemoteFile:
    """A file of a server."""

    url: str
    name: str
    size: int  # in bytes, as the server's catalogue states it
    digest: str = ""  # hexadecimal digest; "": none is known
    method: str = "sha1"  # name of the digest: sha1 or md5


class _InterruptedDownloadError(Exception):
    """A failure that another attempt may overcome, after the delay that the server asks for."""

    def __init__(self, reason: str, delay: float = 0.0) -> None:
        super().__init__(reason)
        self.delay = delay


def read_url(url: str, attempts: int = ATTEMPTS) -> bytes | None:
    """Return the content of a small file; None: there is no such file."""

    def read() -> bytes | None:
        response = _open(url)
        if response is None:
            return None
        data = bytearray()
        with closing(response):
            for chunk in _chunks(response):
                data += chunk
                if len(data) > _MAX_LISTING:
                    raise DownloadError(
                        f"{url}: more than {_MAX_LISTING >> 20} MB; not a list of dumps"
                    )
        if len(data) < int(response.headers.get("Content-Length") or 0):
            raise _InterruptedDownloadError("the connection was closed early")
        return bytes(data)

    return _retried(url, attempts, read)


def download(
    file: RemoteFile,
    folder: Path,
    attempts: int = ATTEMPTS,
    progress: Callable[[int], None] = lambda size: None,
) -> Path:
    """Download a file from where an earlier attempt stopped; `progress` takes its bytes on disk."""
    target, part = folder / file.name, folder / f"{file.name}.part"
    if target.exists():
        if target.stat().st_size != file.size:
            raise DownloadError(
                f"{target}: {target.stat().st_size:,} bytes, but {file.url} has {file.size:,}; "
                "move it away"
            )
        progress(file.size)
        return target
    part.touch()
    if part.stat().st_size > file.size:
        os.truncate(part, 0)  # no beginning of this file
    _retried(
        file.url, attempts, lambda: _append(file, part, progress), lambda: part.stat().st_size
    )  # fmt: skip
    if (found := wrong_digest(part, file)) is not None:
        wrong = folder / f"{file.name}.wrong"
        os.replace(part, wrong)
        raise DownloadError(
            f"{file.url}: the {file.method} of the file is {found}, but the dump lists "
            f"{file.digest}; it is kept as {wrong}. Run the same command to download it again; "
            "other files are kept"
        )
    os.replace(part, target)
    sync_folder(folder)
    return target


def wrong_digest(path: Path, file: RemoteFile) -> str | None:
    """Return the digest of a file if it differs from the listed one."""
    if not file.digest:
        return None
    with open(path, "rb") as read:
        found = hashlib.file_digest(read, file.method).hexdigest()
    return None if found == file.digest.lower() else found


def _retried(
    url: str, attempts: int, act: Callable[[], T], reached: Callable[[], int] = lambda: 0
) -> T:
    """Repeat an action until it succeeds, or has failed `attempts` times without progress."""
    failures, best = 0, reached()
    while True:
        try:
            return act()
        except _InterruptedDownloadError as error:
            if (now := reached()) > best:
                failures, best = 0, now
                continue
            failures += 1
            if failures >= attempts:
                kept = f"; {best:,} bytes are kept, and the same command continues" if best else ""
                raise DownloadError(
                    f"{url}: {error}; given up after {failures} attempts{kept}"
                ) from None
            time.sleep(min(max(error.delay, 2.0 ** (failures - 1)), _MAX_DELAY))


def _append(file: RemoteFile, part: Path, progress: Callable[[int], None]) -> None:
    """Append what is missing; servers without ranges send the file from its beginning."""
    size = part.stat().st_size
    progress(size)
    if size == file.size:
        return
    response = _open(file.url, {"Range": f"bytes={size}-"} if size else {})
    if response is None:
        raise DownloadError(
            f"{file.url}: the server does not have this part of the dump; what was downloaded is "
            "kept. Try again later, or use another --mirror"
        )
    with closing(response), open(part, "ab") as out:
        skipped = size - _start_of(response, file, size)
        for data in _chunks(response):
            if skipped:
                data, skipped = data[skipped:], max(0, skipped - len(data))
            size += len(data)
            if size > file.size:
                raise DownloadError(f"{file.url}: longer than the {file.size:,} bytes listed")
            out.write(data)
            progress(size)
        if size < file.size:
            raise _InterruptedDownloadError("the connection was closed early")
        out.flush()
        os.fsync(out.fileno())


def _start_of(response: Any, file: RemoteFile, wanted: int) -> int:
    """Return where the data of a response begin; raise if they are of another file."""
    partial = response.status == http.client.PARTIAL_CONTENT
    if partial:
        stated = response.headers.get("Content-Range", "")
        begin, _, total = stated.removeprefix("bytes ").partition("/")
        start = begin.partition("-")[0]
        right = start == str(wanted) and total in (str(file.size), "*")
    else:
        stated = response.headers.get("Content-Length") or "an unknown number of"
        right = stated in (str(file.size), "an unknown number of")
    if not right:
        raise DownloadError(
            f"{file.url}: the server sends {stated} bytes, but the dump lists {file.size:,}; the "
            "dump has changed, or the mirror has another one"
        )
    return wanted if partial else 0


def _open(url: str, headers: dict[str, str] | None = None) -> Any:
    """Send a request and return the response; None: 404."""
    if not url.startswith(("http://", "https://")):
        raise DownloadError(f"{url}: not an address that begins with http:// or https://")
    agent = {"User-Agent": f"sgtb/{version('sgtb')} (Wikipedia dump download)"}
    try:
        request = urllib.request.Request(url, headers={**agent, **(headers or {})})
        return urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (404, 410):
            return None
        reason = f"HTTP {error.code} {error.reason}"
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise DownloadError(
                f"{url}: the file at the server is shorter than the dump lists; the mirror has "
                "another one"
            ) from None
        if error.code not in _TEMPORARY:
            raise DownloadError(f"{url}: {reason}") from None
        delay = error.headers.get("Retry-After") or "0"
        raise _InterruptedDownloadError(
            reason, float(delay) if delay.isdigit() else 0.0
        ) from None  # fmt: skip
    except (ValueError, http.client.InvalidURL) as error:
        raise DownloadError(f"{url}: {error}") from None
    except (OSError, http.client.HTTPException) as error:
        raise _InterruptedDownloadError(_reason(error)) from None


def _chunks(response: Any) -> Iterator[bytes]:
    """Yield the data of a response up to its end or an interruption."""
    while True:
        try:
            data = response.read1(_CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _InterruptedDownloadError(_reason(error)) from None
        if not data:
            return
        yield data


def _reason(error: Exception) -> str:
    cause = getattr(error, "reason", error)
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return f"connection failed ({text})"
