"""The listening socket, the address and the log of a service."""

import logging
import socket
import ssl
import sys
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address

from sgtb.core.errors import SettingsError, SgtbError
from sgtb.serving.service_settings import ServeSettings

_DESCRIPTORS = 64
"""Files and sockets that a process needs beside its connections, also while it reloads."""
log = logging.getLogger("sgtb.serving")


def listen_on(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise SgtbError(
            f"cannot listen on {host} port {port}: {error.strerror}; choose another with --host "
            "and --port"
        ) from None
    listener.setblocking(False)
    return listener


def fit_connections(settings: ServeSettings) -> ServeSettings:
    """Raise the limit of open files as far as allowed, and lower max_connections if need be."""
    try:
        import resource
    except ImportError:  # not on every system
        return settings
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = settings.max_connections + _DESCRIPTORS
    if limit != resource.RLIM_INFINITY and limit < needed:
        limit = needed if most == resource.RLIM_INFINITY else min(needed, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return settings
    if limit <= _DESCRIPTORS:
        raise SettingsError(
            f"a process may open {limit} files, and the service needs more than {_DESCRIPTORS}; "
            "raise the limit (ulimit -n)"
        )
    fitting = limit - _DESCRIPTORS
    log.warning(
        "max_connections is lowered from %d to %d: a process may open %d files; raise that limit "
        "(ulimit -n)", settings.max_connections, fitting, limit,
    )  # fmt: skip
    return replace(settings, max_connections=fitting)


def check_tls(settings: ServeSettings) -> None:
    """Raise if the files for TLS cannot be used."""
    if settings.tls_certificate is None or settings.tls_key is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            settings.tls_certificate, settings.tls_key, password=""
        )
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{settings.tls_certificate} and {settings.tls_key} are no certificate and unencrypted "
            f"key in PEM: {error}"
        ) from None


def warn_if_exposed(host: str, settings: ServeSettings) -> None:
    """Warn if everybody in the network may use the service."""
    loopback = host == "localhost"
    with suppress(ValueError):
        loopback = loopback or ip_address(host).is_loopback
    if not loopback and settings.tokens is None:
        log.warning(
            "listening on %s without access tokens: whoever reaches this address may use the "
            "service; see --token-file", host,
        )  # fmt: skip


def url_of(host: str, port: int, secure: bool = False) -> str:
    """Return the URL of a service."""
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if secure else 'http'}://{shown}:{port}/"


def set_up_log(requests: bool) -> None:
    """Log to standard error, on demand every request."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    # Malformed requests and lost connections are not logged.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    logging.getLogger("uvicorn.access").setLevel(logging.INFO if requests else logging.ERROR)
