"""Limits: what is too much is refused by name, and nobody makes the others wait."""

import asyncio
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import httpx
import pytest

from sgtb.core.errors import RequestError, SettingsError
from sgtb.linking.links import Request
from sgtb.serving.engine import Engine
from sgtb.serving.error_responses import OverloadedError, TooLateError
from sgtb.serving.link_requests import Options
from sgtb.serving.service_settings import ServeSettings
from tests.helpers.services import FakeLinker, connected, post, received, running, wait_until

SMALL = ServeSettings(
    max_body_bytes=2_000, max_characters=500, max_reasons_characters=100, max_spans=3, max_batch=2,
    max_candidates=7, request_seconds=20.0, body_seconds=0.4, idle_seconds=0.4, write_seconds=0.4,
    max_head_bytes=1_000, queue=4, together=2,
)  # fmt: skip


class Service:
    """A running service over a fake linker."""

    def __init__(self, settings: ServeSettings) -> None:
        self.linker = FakeLinker()
        self.engine = Engine(lambda: self.linker, settings)
        self.port = 0

    def get(self, path: str = "/healthz") -> int:
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", timeout=20).status_code

    def link(self, path: str = "/api/link", **body) -> httpx.Response:
        return httpx.post(f"http://127.0.0.1:{self.port}{path}", json=body, timeout=20)


@pytest.fixture
def start():
    """Start services with settings that differ from SMALL."""
    stops = []

    def run(**changes) -> Service:
        settings = replace(SMALL, **changes)
        service = Service(settings)
        context = running(service.engine)
        service.port = context.__enter__()
        stops.append((service, context))
        return service

    yield run
    for service, context in stops:
        service.linker.may.set()
        context.__exit__(None, None, None)


@pytest.fixture(scope="module")
def small():
    service = Service(SMALL)
    with running(service.engine) as service.port:
        yield service


def span(i: int) -> dict[str, int]:
    return {"start": i, "end": i + 1}


@pytest.mark.parametrize(
    ("body", "status", "code", "limit"),
    [
        ({"text": "x" * 501}, 413, "too_long", 500),
        ({"text": "é" * 101, "reasons": True}, 413, "too_long", 100),
        ({"text": "abcd", "spans": [span(i) for i in range(4)]}, 422, "too_many", 3),
        ({"text": "abcd", "spans": [span(0), span(1)],
          "fixed": [{**span(2), "entity": None}, {**span(3), "entity": None}]},
         422, "too_many", 3),
        ({"text": "x", "candidates": 8}, 422, "too_many", 7),
        ({"text": "x" * 2_000}, 413, "too_long", 2_000),
    ],
)  # fmt: skip
def test_errors_say_the_limit(small, body, status, code, limit):
    answer = small.link(**body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["limit"]) == (status, code, limit)
    assert f"{limit:,}" in error["message"]


def test_just_below_the_limits(small):
    for body in (
        {"text": "é" * 500},
        {"text": "é" * 100, "reasons": True},
        {"text": "abc", "spans": [span(i) for i in range(3)]},
        {"text": "x", "candidates": 7},
    ):
        assert small.link(**body).status_code == 200
    padded = json.dumps({"text": ""}).encode().ljust(2_000)
    answer = httpx.post(
        f"http://127.0.0.1:{small.port}/api/link", content=padded,
        headers={"content-type": "application/json"},
    )  # fmt: skip
    assert answer.status_code == 200


def test_batches_have_a_size(small):
    text = {"text": "x"}
    assert small.link("/api/link/batch", documents=[text] * 2).status_code == 200
    answer = small.link("/api/link/batch", documents=[text] * 3)
    assert (answer.status_code, answer.json()["error"]["limit"]) == (422, 2)


def test_a_long_body_is_refused_before_it_is_there(small):
    with connected(small.port) as connection:
        connection.sendall(
            b"POST /api/link HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n"
        )
        answer = received(connection)  # without a byte of the body
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"limit":2000' in answer


def test_a_body_without_a_length_is_counted(small):
    def endless():
        while True:
            yield b"x" * 500

    try:
        answer = httpx.post(f"http://127.0.0.1:{small.port}/nif", content=endless(), timeout=20)
        assert answer.status_code == 413
    except httpx.NetworkError:
        pass  # it was hung up on before it looked
    with connected(small.port) as connection:
        connection.sendall(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            + (b"400\r\n" + b"x" * 1024 + b"\r\n") * 2
        )
        assert received(connection).startswith(b"HTTP/1.1 413 ")


def test_who_sends_too_much_can_still_read_why(small):
    with httpx.Client(base_url=f"http://127.0.0.1:{small.port}") as client:
        for _ in range(3):  # over one connection
            answer = client.post("/api/link", content=b"x" * 3_000_000)
            assert (answer.status_code, answer.json()["error"]["limit"]) == (413, 2_000)
            assert client.get("/healthz").status_code == 200


# Time and crowds


def test_a_request_may_take_only_so_long(start):
    service = start(request_seconds=0.3)
    service.linker.may.clear()
    answer = service.link(text="slow")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["limit"]) == (503, "too_late", 0.3)
    assert int(answer.headers["retry-after"]) >= 1
    assert "0.3 seconds" in error["message"]
    service.linker.may.set()
    assert service.link(text="soon").status_code == 200


def test_overload_is_refused_at_once(start):
    service = start()
    service.linker.may.clear()
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(service.link, text="under way")
        wait_until(lambda: service.linker.linked == ["under way"])
        waiting = [pool.submit(service.link, text=f"waits {i}") for i in range(4)]
        wait_until(lambda: service.engine.waiting == 4)
        begin = time.monotonic()
        answer = service.link(text="too many")
        assert time.monotonic() - begin < 10, "not after what waits"
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["limit"]) == (503, "overloaded", 4)
        assert int(answer.headers["retry-after"]) >= 1
        assert service.get() == service.get("/readyz") == service.get("/metrics") == 200
        service.linker.may.set()
        assert all(one.result().status_code == 200 for one in [first, *waiting])
    assert "too many" not in service.linker.linked
    # They were linked together as they waited, as many as may be at once.
    assert [len(batch) for batch in service.linker.batches] == [1, 2, 2]


def test_a_batch_waits_whole_or_not_at_all(start):
    service = start(queue=2)
    service.linker.may.clear()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(service.link, text="under way")
        wait_until(lambda: service.linker.linked == ["under way"])
        second = pool.submit(service.link, text="waits")
        wait_until(lambda: service.engine.waiting == 1)
        answer = service.link("/api/link/batch", documents=[{"text": "a"}, {"text": "b"}])
        assert answer.status_code == 503
        assert service.engine.waiting == 1
        service.linker.may.set()
        assert first.result().status_code == second.result().status_code == 200


def test_long_texts_are_not_linked_together(start):
    service = start(queue=16, together=8, together_characters=10)
    service.linker.may.clear()
    texts = ["a", "12345678", "123", "1" * 99, "b", "c"]
    with ThreadPoolExecutor(8) as pool:
        answers = []
        for i, text in enumerate(["under way", *texts]):
            answers.append(pool.submit(service.link, text=text))
            wait_until(lambda: service.engine.waiting == i if i else service.linker.linked)  # noqa: B023
        service.linker.may.set()
        assert all(answer.result().status_code == 200 for answer in answers)
    assert service.linker.batches[1:] == [["a", "12345678"], ["123"], ["1" * 99], ["b", "c"]]


def test_what_nobody_waits_for_is_not_linked(start):
    service = start()
    service.linker.may.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(service.link, text="under way")
        wait_until(lambda: service.linker.linked == ["under way"])
        with connected(service.port) as connection:
            connection.sendall(post("/api/link", b'{"text": "gone"}'))
            wait_until(lambda: service.engine.waiting == 1)
        wait_until(lambda: service.engine._waiting[0].done.cancelled())
        service.linker.may.set()
        assert first.result().status_code == 200
    assert service.link(text="after").status_code == 200
    assert service.linker.linked == ["under way", "after"]


# Slow clients


def test_a_slow_body_is_given_up(start):
    service = start()
    with connected(service.port) as connection:
        connection.sendall(post("/api/link", b'{"text": ')[:-1])
        assert service.link(text="meanwhile").status_code == 200
        answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"limit":0.4' in answer


@pytest.mark.parametrize(
    ("sent", "answered"),
    [(b"", b""), (b"POST /api/link HTTP/1.1\r\nHost: x", b"HTTP/1.1 408 ")],
    ids=["nothing", "half a head"],
)
def test_half_open_connections_are_closed(start, sent, answered):
    service = start()
    with connected(service.port) as connection:
        connection.sendall(sent)
        assert service.link(text="meanwhile").status_code == 200
        assert received(connection).startswith(answered)


def test_idle_connections_are_closed(start):
    service = start(idle_seconds=1.0)
    with connected(service.port) as connection:
        connection.sendall(post("/api/link", b'{"text": ""}'))
        answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_a_head_drop_by_drop_is_given_up(start):
    service = start()
    with connected(service.port) as connection:
        begin = time.monotonic()
        try:
            connection.sendall(b"GET /healthz HTTP/1.1\r\n")
            while time.monotonic() - begin < 20:
                connection.sendall(b"x: y\r\n")
                time.sleep(0.05)
                connection.settimeout(0.01)
                try:
                    if connection.recv(1000):
                        break
                except TimeoutError:
                    continue
        except OSError:
            pass
        assert time.monotonic() - begin < 15


def test_a_head_without_end_is_refused(start):
    service = start(idle_seconds=15.0)
    with connected(service.port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nx: " + b"y" * 1_100)
        assert received(connection).startswith(b"HTTP/1.1 431 ")
    assert service.get() == 200


def test_what_is_no_http_is_refused_in_json(small):
    with connected(small.port) as connection:
        connection.sendall(b"\x16\x03\x01 hello?\r\n\r\n")
        head, _, body = received(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["error"]["code"] == "bad_request"


def test_who_takes_no_answer_is_hung_up_on(start):
    service = start()
    with connected(service.port) as connection:
        connection.sendall(post("/api/link", b'{"text": "many"}'))
        assert connection.recv(12) == b"HTTP/1.1 200"
        assert service.link(text="meanwhile").status_code == 200
        time.sleep(3 * SMALL.write_seconds)
        assert len(received(connection)) < 20_000_000, "the rest was not kept for us"


def test_who_takes_an_answer_slowly_gets_it(start):
    service = start()
    size = 0
    with connected(service.port) as connection:
        connection.sendall(post("/api/link", b'{"text": "many"}', "Connection: close"))
        begin = time.monotonic()
        while part := connection.recv(1 << 18):
            size += len(part)
            if time.monotonic() - begin < 3 * SMALL.write_seconds:
                time.sleep(0.05)
    assert size > 20_000_000


def test_too_many_connections_are_refused(start):
    service = start(max_connections=5, idle_seconds=5.0)
    held = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(5)]
    try:
        with connected(service.port) as one_more:
            answer = received(one_more)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in answer
        assert b'"limit": 5' in answer
    finally:
        for connection in held:
            connection.close()
    wait_until(lambda: _answers(service))


def _answers(service: Service) -> bool:
    try:
        return service.get() == 200
    except httpx.HTTPError:
        return False


# The engine by itself


def test_an_engine_that_has_not_started_or_has_ended_takes_nothing():
    engine = Engine(FakeLinker)
    assert not engine.ready
    for _ in range(2):
        with pytest.raises(OverloadedError):
            asyncio.run(engine.link(Request("x")))
        with pytest.raises(OverloadedError):
            _ = engine.linker
        engine.start()
        engine.close()


def test_closing_links_what_still_waits():
    linker = FakeLinker()
    linker.may.clear()
    engine = Engine(lambda: linker, ServeSettings(together=1))
    engine.start()

    async def ask():
        asked = [asyncio.create_task(engine.link(Request(text))) for text in "abc"]
        await asyncio.to_thread(wait_until, lambda: engine.waiting == 2)
        closing = asyncio.create_task(asyncio.to_thread(engine.close))
        await asyncio.to_thread(wait_until, lambda: not engine.ready)
        with pytest.raises(OverloadedError):
            await engine.link(Request("d"))
        linker.may.set()
        await closing
        return [one.text for one in await asyncio.gather(*asked)]

    assert asyncio.run(ask()) == ["a", "b", "c"]


def test_one_that_fails_does_not_fail_the_others():
    linker = FakeLinker()
    linker.may.clear()
    engine = Engine(lambda: linker, ServeSettings(together=8))
    engine.start()

    async def ask():
        texts = ["first", "a", "fail", "b"]
        tasks = [asyncio.create_task(engine.link(Request(text))) for text in texts[:1]]
        await asyncio.to_thread(wait_until, lambda: linker.batches)
        tasks += [asyncio.create_task(engine.link(Request(text))) for text in texts[1:]]
        await asyncio.to_thread(wait_until, lambda: engine.waiting == 3)
        linker.may.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, a, failed, b = asyncio.run(ask())
    engine.close()
    assert [one.text for one in (first, a, b)] == ["first", "a", "b"]
    assert isinstance(failed, OSError)


def test_options_out_of_range():
    engine = Engine(FakeLinker)
    engine.start()
    for nil in (-0.1, 1.1, float("nan")):
        with pytest.raises(RequestError, match="from 0 to 1"):
            asyncio.run(engine.link(Request("x"), Options(nil=nil)))
    engine.close()


def test_time_that_is_over_frees_the_queue():
    linker = FakeLinker()
    linker.may.clear()
    engine = Engine(lambda: linker, ServeSettings(request_seconds=0.1, together=1))
    engine.start()

    async def ask():
        return await asyncio.gather(
            *(engine.link(Request(str(i))) for i in range(10)), return_exceptions=True
        )

    assert all(isinstance(one, TooLateError) for one in asyncio.run(ask()))
    threading.Timer(0.1, linker.may.set).start()
    engine.close()
    assert len(linker.linked) < 10


@pytest.mark.parametrize(
    "changes",
    [{field.name: 0} for field in fields(ServeSettings) if field.type in (int, float)]
    + [{"queue": True}, {"request_seconds": float("inf")}, {"max_batch": 65, "queue": 64},
       {"allow_origins": ("example.org",)}],
    ids=str,
)  # fmt: skip
def test_settings_are_checked(changes):
    with pytest.raises(SettingsError):
        ServeSettings(**changes)
