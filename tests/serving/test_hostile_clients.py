"""Clients that hold connections, send too much or break the protocol, and processes that die."""

import json
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from benchmarks.serve_clients import ask, post_of
from tests.helpers.service_processes import GET, ServiceProcess, exchange, spawned, statuses
from tests.helpers.services import post, wait_until

TEXT = "Jordan passed, and the Bulls beat Utah."


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with spawned(
        tmp_path_factory.mktemp("one"), idle_seconds=1.0, body_seconds=1.0, max_connections=20
    ) as one:
        yield one


def url(service: ServiceProcess, path: str) -> str:
    return f"http://127.0.0.1:{service.port}{path}"


def is_up(service: ServiceProcess, path: str = "/healthz") -> bool:
    try:
        return httpx.get(url(service, path), timeout=20).status_code == 200
    except httpx.HTTPError:
        return False


# Connections


@pytest.mark.parametrize("sent", [b"\r\n", b"\r\n" * 40, b"\r\nGE"], ids=["one", "many", "half"])
def test_blank_lines_hold_no_connection_open(service, sent):
    held = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(20)]
    try:
        for connection in held:
            connection.sendall(GET)
        for connection in held:
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
            connection.sendall(sent)
        wait_until(lambda: is_up(service))
    finally:
        for connection in held:
            connection.close()
    wait_until(lambda: is_up(service))


def test_an_offered_upgrade_is_ignored(service):
    offer = (
        "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAA",
    )  # fmt: skip
    body = json.dumps({"text": TEXT}).encode()
    answer = exchange(service.port, post("/api/link", body, *offer))
    assert statuses(answer) == [200]
    assert b"Michael Jordan" in answer
    halves = post("/api/link", body, *offer)
    answer = exchange(service.port, halves[:-9], halves[-9:])
    assert statuses(answer) == [200]


def test_a_long_body_and_half_of_the_next_head(service):
    long = post("/api/link", json.dumps({"text": "Jordan" + " " * 50_000}).encode())
    assert statuses(exchange(service.port, long + GET[:9], GET[9:])) == [200, 200]


def test_garbage_behind_a_request_does_not_lose_its_answer(service):
    request = post("/api/link", json.dumps({"text": TEXT}).encode())
    for garbage in (b"\x16\x03\x01 garbage\r\n\r\n", b"GET nothing\r\n\r\n"):
        answer = exchange(service.port, request + garbage)
        assert statuses(answer) == [200, 400]
        assert b"Michael Jordan" in answer


def test_two_lengths_are_refused(service):
    head = b"POST /api/link HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    for request in (chunked + GET, head + b"Content-Length: 6\r\n\r\n123456" + GET):
        assert statuses(exchange(service.port, request)) == [400]


def test_a_broken_body_ends_its_connection_only(service):
    head = b"POST /api/link HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    for body in (b"zz\r\n", b"5\r\nabcdefgh\r\n", b"-1\r\n", b"ffffffffffffffffffff\r\n"):
        assert set(statuses(exchange(service.port, head + body))) <= {400, 408}
        late = exchange(service.port, post("/api/link", b"x" * 2_000_000)[:100_000], body)
        assert statuses(late) == [413]
    assert is_up(service)
    assert "Traceback" not in service.log.read_text()


def test_fewer_descriptors_than_connections(tmp_path):
    with spawned(tmp_path, descriptors=96, max_connections=500, idle_seconds=2.0) as service:
        held = []
        try:
            address = ("127.0.0.1", service.port)
            held += [socket.create_connection(address, timeout=20) for _ in range(300)]
            time.sleep(2)
        finally:
            for connection in held:
                connection.close()
        wait_until(lambda: is_up(service))
        told = service.log.read_text()
    assert "Traceback" not in told
    assert len(told) < 5_000
    assert "max_connections" in told


# Bodies


def test_wrong_items_are_refused_before_they_are_all_looked_at(tmp_path):
    many = {
        "/api/link": b'{"text":"x","spans":[' + b"0," * 499_000 + b"0]}",
        "/api/link/batch": b'{"documents":[' + b"0," * 499_000 + b"0]}",
        "/": b'{"text":"x","spans":[' + b"0," * 499_000 + b"0]}",
        "/disambiguate": b'{"text":"x","entities":[' + b"0," * 499_000 + b"0]}",
    }
    with spawned(tmp_path) as service, httpx.Client(timeout=60) as client:
        for _ in range(2):
            client.post(url(service, "/api/link"), json={"text": TEXT})
        before = service.peak_mb()
        for path, body in many.items():
            answer = client.post(
                url(service, path), content=body, headers={"content-type": "application/json"}
            )
            assert answer.status_code == 422, path
            assert len(answer.content) < 2_000
        assert service.peak_mb() - before < 120


def test_the_time_limit_includes_the_reading_of_nif(tmp_path):
    head = "@prefix nif: <http://persistence.uni-leipzig.org/nlp2rdf/ontologies/nif-core#> .\n"
    lines = "".join(f"<http://x/{i}> nif:a <http://y/{i}> .\n" for i in range(20_000))
    text = '<http://x/#char=0,4> a nif:Context ; nif:isString "Utah" .\n'
    body = (head + text + lines).encode()[:999_000]
    with (
        spawned(tmp_path, request_seconds=0.3, max_spans=50_000) as service,
        ThreadPoolExecutor(4) as pool,
    ):
        asked = [
            pool.submit(httpx.post, url(service, "/nif"), content=body, timeout=60)
            for _ in range(4)
        ]
        answers = [one.result() for one in asked]
        assert {answer.status_code for answer in answers} == {503}
        assert {answer.json()["error"]["code"] for answer in answers} == {"too_late"}
        wait_until(lambda: is_up(service))


@pytest.mark.parametrize("number", ["1e400", "-1e400"])
def test_numbers_beyond_all_bounds(service, number):
    entity = f'"offsetStart":0,"offsetEnd":4,"type":{number},"preferredTerm":{number}'
    given = f'"entities":[{{"rawName":"Utah","wikipediaExternalRef":1,{entity}}}]'
    for body in (
        f'{{"text":"Utah","customisation":{number}}}',
        f'{{"text":"Utah","language":{{"lang":"en","conf":{number}}}}}',
        f'{{"text":"Utah",{given}}}',
        f'{{"text":"Utah","nbest":{number}}}',
    ):
        answer = httpx.post(url(service, "/disambiguate"), content=body, timeout=20)
        assert answer.status_code in (200, 422), (body, answer.text)


def test_lone_surrogates_in_nif(service):
    head = "@prefix nif: <http://persistence.uni-leipzig.org/nlp2rdf/ontologies/nif-core#> ."
    mention = '<http://x/#m> nif:referenceContext <http://x/#c> ; nif:beginIndex "0" ;'
    body = f'{head} <http://x/#c> nif:isString "\\ud800tah" . {mention} nif:endIndex "4" .'
    answer = httpx.post(url(service, "/nif"), content=body.encode(), timeout=20)
    assert answer.status_code == 200


# Memory


def test_long_spans_are_not_kept(tmp_path):
    """Texts of 99,000 characters beyond U+FFFF, with overlapping spans, all different."""
    with spawned(tmp_path) as service, httpx.Client(timeout=120) as client:

        def send(i: int) -> None:
            text = "".join(chr(0x1F300 + (i * 7 + j) % 700) for j in range(99_000))
            spans = [[60 * j + i, 99_000 - 60 * j - 100 - i] for j in range(2)]
            answer = client.post(url(service, "/"), json={"text": text, "spans": spans})
            assert answer.status_code == 200

        for i in range(3):
            send(i)
        before = service.mb()
        for i in range(3, 15):
            send(i)
        assert service.mb() - before < 10


# Processes


def test_killed_workers_lose_only_what_they_hold(tmp_path):
    requests = [post_of("/api/link", {"text": f"{TEXT} {i}"}) for i in range(50)]
    with spawned(tmp_path, workers=2) as service:
        kills = []

        def kill(share: float) -> None:
            if share * 8 > 2 * len(kills) + 1 and len(kills) < 3:
                victims = service.workers()[: 2 if len(kills) == 2 else 1]  # both at last
                for victim in victims:
                    victim.kill()
                kills.append(len(victims))

        ready: list[bool] = []
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.2):
                ready.append(is_up(service, "/readyz"))

        watching = threading.Thread(target=watch)
        watching.start()
        tally = ask(service.port, requests, 16, 10.0, kill, patience=120.0)
        over.set()
        watching.join()
        lost = [error for error in tally.errors if "IncompleteRead" in error or "reset" in error]
        assert kills == [1, 1, 2]
        assert tally.errors == lost, "no connection is refused"
        assert len(lost) <= 16 * 3
        assert len(tally.seconds) > 16
        assert ready.count(False) <= 4, "at most the one that a killed process held"
        wait_until(lambda: len(service.workers()) == 2)


def test_reloads_under_load_lose_nothing(tmp_path):
    requests = [post_of("/api/link", {"text": f"{TEXT} {i}"}) for i in range(50)]
    with spawned(tmp_path, workers=2) as service:
        done: list[bool] = []

        def reload(share: float) -> None:
            if share > 0.2 * (1 + len(done)) and len(done) < 3:
                os.kill(service.process.pid, signal.SIGHUP)
                done.append(is_up(service, "/readyz"))

        tally = ask(service.port, requests, 16, 5.0, reload, patience=120.0)
        assert (set(done), tally.errors) == ({True}, [])
