"""The listening socket, the address and the log of a service."""

import logging
import socket
import sys

from sgtb.core.errors import SgtbError


def listen_on(host: str, port: int, shared: bool = False) -> socket.socket:
    """Return a socket bound to an address.

    shared  whether other processes bind to the same address
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
    except OSError as error:
        raise SgtbError(
            f"cannot listen on {host} port {port}: {error.strerror}; choose another with --host "
            "and --port"
        ) from None
    listener.setblocking(False)
    return listener


def url_of(host: str, port: int) -> str:
    """Return the URL of a service."""
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def set_up_log(requests: bool) -> None:
    """Log to standard error.

    requests  whether every request is logged
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    # Malformed requests and lost connections are not logged.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    logging.getLogger("uvicorn.access").setLevel(logging.INFO if requests else logging.ERROR)
