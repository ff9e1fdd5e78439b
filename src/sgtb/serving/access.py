"""Access tokens and rate limits of the service."""

import base64
import hmac
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from sgtb.core.errors import SettingsError
from sgtb.serving.error_responses import failure_response

AREAS = ("api", "protocols", "page", "metrics")
OPEN = "open"
_ALL = "*"
_MIN_TOKEN = 16
_ALWAYS_OPEN = ("/healthz", "/readyz")
_API = ("/api/link", "/api/entity", "/api/candidates", "/api/kb", "/openapi.json")
_MAX_CLIENTS = 10_000
_BURST_SECONDS = 5.0  # requests of so many seconds may come at once


@dataclass(frozen=True)
class AccessTokens:
    """Who may use which part of the service."""

    # SHA-256 of the tokens of each area; an area that is missing is open to everybody, one without
    # tokens to nobody
    digests: Mapping[str, tuple[bytes, ...]]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "AccessTokens":
        """Read a file with lines of areas and token.

        A line is a token for all areas, or areas, joined by commas, and their token. The word
        "open" instead of a token opens areas to everybody. An area that no line names is closed.
        """
        try:
            lines = Path(path).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{os.fspath(path)}: cannot read the token file: {error}") from None
        digests: dict[str, tuple[bytes, ...]] = dict.fromkeys(AREAS, ())
        opened: set[str] = set()
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            where = f"{os.fspath(path)}, line {number}"
            areas, token = _parsed(line, where)
            if token == OPEN:
                opened.update(areas)
                continue
            if len(token) < _MIN_TOKEN or not token.isascii():
                raise SettingsError(
                    f"{where}: a token has at least {_MIN_TOKEN} ASCII characters; make one with "
                    "`openssl rand -hex 32`"
                )
            for area in areas:
                digests[area] += (_digest(token),)
        if not any(digests.values()):
            raise SettingsError(f"{os.fspath(path)}: the token file has no token")
        return cls({area: known for area, known in digests.items() if area not in opened})

    def allow(self, area: str, token: str) -> bool:
        """Whether a token opens an area; the time does not depend on the token."""
        digest = _digest(token)
        matches = [hmac.compare_digest(digest, known) for known in self.digests[area]]
        return any(matches)


class AccessGuard:
    """ASGI middleware: refuses requests without a token, or beyond the rate of a client."""

    def __init__(self, app: ASGIApp, tokens: AccessTokens | None, rate: float | None) -> None:
        self.app, self._tokens, self._rate = app, tokens, rate
        self._clients: dict[str, tuple[float, float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and handle it."""
        path = scope.get("path", "")
        if scope["type"] != "http" or path in _ALWAYS_OPEN:
            await self.app(scope, receive, send)
            return
        seconds = self._wait(scope)
        if seconds:
            await failure_response(
                429, "rate_limited",
                f"more requests than the limit of {self._rate:g} a second for a client",
                self._rate, {"retry-after": str(seconds)},
            )(scope, receive, send)  # fmt: skip
            return
        area = area_of(scope["method"], path)
        tokens = self._tokens
        if tokens is not None and area in tokens.digests:
            given = _token_of(Headers(scope=scope).get("authorization", ""))
            if not tokens.allow(area, given):
                kind = "Basic" if area == "page" else "Bearer"
                await failure_response(
                    401, "unauthorized", "an access token is needed",
                    headers={"www-authenticate": f'{kind} realm="sgtb"'},
                )(scope, receive, send)  # fmt: skip
                return
        await self.app(scope, receive, send)

    def _wait(self, scope: Scope) -> int:
        """Take a request from the bucket of a client; return the seconds to wait if it is empty."""
        if self._rate is None:
            return 0
        client, now = _client_of(scope), time.monotonic()
        most = max(1.0, self._rate * _BURST_SECONDS)
        left, last = self._clients.pop(client, (most, now))
        left = min(most, left + (now - last) * self._rate)
        if len(self._clients) >= _MAX_CLIENTS:
            del self._clients[next(iter(self._clients))]  # seen the longest time ago
        self._clients[client] = (left - 1 if left >= 1 else left, now)
        return 0 if left >= 1 else max(1, math.ceil((1 - left) / self._rate))


def area_of(method: str, path: str) -> str:
    """Return the area of a request."""
    if path == "/metrics":
        return "metrics"
    if path.startswith("/page/") or (path == "/" and method != "POST"):
        return "page"
    is_api = path in _API or any(path.startswith(f"{start}/") for start in _API)
    return "api" if is_api else "protocols"


def _parsed(line: str, where: str) -> tuple[tuple[str, ...], str]:
    parts = line.split()
    if len(parts) > 2:
        raise SettingsError(f"{where}: a line is a token, or areas and a token")
    named = parts[0].split(",") if len(parts) == 2 and parts[0] != _ALL else AREAS
    for area in named:
        if area not in AREAS:
            raise SettingsError(f"{where}: {area!r} is not one of {', '.join(AREAS)}")
    return tuple(named), parts[-1]


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


def _token_of(authorization: str) -> str:
    """Return the token of a header: a bearer token, or the password that a browser asked for."""
    kind, _, value = authorization.partition(" ")
    if kind.lower() != "basic":
        return value.strip() if kind.lower() == "bearer" else ""
    try:
        return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _client_of(scope: Scope) -> str:
    """Return the address of a client, of IPv6 its network."""
    host = (scope.get("client") or ("",))[0]
    try:
        address = ip_address(host)
    except ValueError:
        return str(host)
    if not isinstance(address, IPv6Address):
        return host
    return str(address.ipv4_mapped or int(address) >> 64)
