"""A service over the starter, on a port of this machine: real clients talk to it."""

import socket
from collections.abc import Iterator

import httpx
import pytest

from sgtb.linking.linker import Linker
from sgtb.serving.engine import Engine
from sgtb.serving.service_settings import ServeSettings
from tests.helpers.browser import Visit, open_browser
from tests.helpers.services import running

PREFIX = "https://en.wikipedia.org/wiki/"


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of a service with small limits, so that tests can reach them."""
    settings = ServeSettings(max_characters=20_000, max_spans=50, max_batch=4)
    with running(Engine(Linker.starter, settings)) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def client(address) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address) as client:
        yield client


def raw_post(address: str, path: str, body: bytes, *headers: str) -> tuple[int, str]:
    """Post a body with no other headers than these: status and body of the answer."""
    host, port = address.removeprefix("http://").split(":")
    head = "\r\n".join(
        [f"POST {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}", *headers,
         "Connection: close", "", ""]
    )  # fmt: skip
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(head.encode() + body)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    top, _, rest = answer.partition(b"\r\n\r\n")
    return int(top.split(b" ", 2)[1]), rest.decode()


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture
def visits(browser, home):
    """Open pages; at the end each must have kept to the service and complained of nothing."""
    opened = []

    def visit(width=1280, height=860, home=home, **context):
        context = browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce", **context
        )
        context.set_default_timeout(20_000)
        opened.append((Visit(context.new_page(), home), context))
        return opened[-1][0]

    yield visit
    for visit, context in opened:
        context.close()
        visit.check()
