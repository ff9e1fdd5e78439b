"""Reloading and ending: no request fails for it, and nothing is left behind."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest

from benchmarks.serve import serving
from benchmarks.serve_clients import ask, post_of
from sgtb.core.errors import SettingsError
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.kb_copy import duplicate
from sgtb.kb.update import add
from sgtb.linking.linker import Linker
from sgtb.linking.links import Request
from sgtb.serving.engine import Engine
from sgtb.serving.linker_source import LinkerSource
from sgtb.serving.service_settings import ServeSettings
from sgtb.starter import KB, MODEL
from tests.helpers.kb_worlds import write_lines
from tests.helpers.service_processes import GET, spawned
from tests.helpers.services import FakeLinker, post, received, running, wait_until

TEXT = "Jordan passed to Zebulonia, and the Bulls beat Utah."


@pytest.fixture
def place(tmp_path):
    """A copy of the starter's knowledge base."""
    duplicate(KB, tmp_path / "kb")
    return tmp_path / "kb"


def add_zebulonia(place):
    record = {"id": "Z", "name": "Zebulonia", "type": "LOC", "links": ["Utah"]}
    add(place, EntityList(write_lines(place.parent / "more.jsonl", [record])))


def entities_of(port):
    answer = httpx.post(f"http://127.0.0.1:{port}/api/link", json={"text": TEXT}, timeout=20)
    return [link["entity"] for link in answer.json()["links"]]


def metrics_of(port):
    text = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=20).text
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#"]
    return {name: float(value) for name, value in lines}


# The engine


def test_a_reload_sees_what_was_added_and_closes_the_old(place):
    engine = Engine(LinkerSource(MODEL, place).load)
    engine.start()
    old = weakref.ref(engine.linker.kb)
    before = asyncio.run(engine.link(Request(TEXT))).to_dict()
    add_zebulonia(place)
    assert asyncio.run(engine.link(Request(TEXT))).to_dict() == before, "not until it is told to"
    held = engine.linker
    assert engine.reload()
    assert "Z" in [link.entity for link in asyncio.run(engine.link(Request(TEXT))).links]
    # Who still holds the old one can go on with it; the last one to let go of it closes it.
    assert held.link(TEXT).to_dict() == before
    assert old() is held.kb
    del held
    gc.collect()
    assert old() is None
    engine.close()


@contextlib.contextmanager
def damaged(path):
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    yield
    path.write_bytes(whole)


def test_what_cannot_be_loaded_leaves_all_as_it_was(place, tmp_path, caplog):
    model = tmp_path / "model"
    model.write_bytes(MODEL.read_bytes())
    engine = Engine(LinkerSource(model, place).load)
    engine.start()
    linker = engine.linker
    with damaged(model):
        assert not engine.reload()
    assert engine.linker is linker
    assert "reload failed" in caplog.text
    assert engine.reload()
    assert engine.linker is not linker
    engine.close()


def test_requests_go_on_while_loading():
    linkers = []

    def load():
        linkers.append(FakeLinker())
        if len(linkers) > 1:
            time.sleep(0.3)
        return linkers[-1]

    engine = Engine(load)
    engine.start()

    async def ask_on():
        reloading = asyncio.create_task(asyncio.to_thread(engine.reload))
        count = 0
        while not reloading.done():
            await engine.link(Request(str(count)))
            count += 1
        await engine.link(Request("after"))
        return count

    count = asyncio.run(ask_on())
    engine.close()
    assert count > 1
    assert linkers[0].linked[:2] == ["0", "1"]
    assert linkers[1].linked[-1] == "after"


# The server


@pytest.mark.parametrize("workers", [1, 2])
def test_signals_under_load(place, workers):
    requests = [post_of("/api/link", {"text": f"{TEXT} {i}"}) for i in range(50)]
    done = []

    def act(share):
        if share > 0.2 and not done:
            add_zebulonia(place)
            os.kill(process.pid, signal.SIGHUP)
            done.append("reload")
        elif share > 0.4 and len(done) == 1:
            os.kill(process.pid, signal.SIGHUP)
            os.kill(process.pid, signal.SIGHUP)
            done.append("once more")

    options = ["--model", str(MODEL), "--kb", str(place), "--workers", str(workers)]
    with serving(options) as (port, process):
        assert "Z" not in entities_of(port)
        tally = ask(port, requests, 16, 3.0, act)
        assert (done, tally.errors) == (["reload", "once more"], [])
        assert len(tally.seconds) > 16

        wait_until(lambda: metrics_of(port)["sgtb_reloads_total"] >= 2 * workers)
        assert all("Z" in entities_of(port) for _ in range(4))
        counted = metrics_of(port)
        assert counted["sgtb_ready_processes"] == workers
        assert counted["sgtb_documents_total"] >= len(tally.seconds)
        # What is under way when the end comes is finished.
        long = {"text": f"{TEXT} " * 300}
        with ThreadPoolExecutor(4) as pool:
            url = f"http://127.0.0.1:{port}/api/link"
            asked = [pool.submit(httpx.post, url, json=long, timeout=30) for _ in range(4)]
            wait_until(lambda: metrics_of(port)["sgtb_waiting_documents"] or asked[0].done())
            os.kill(process.pid, signal.SIGTERM)
            answers = [_status(one) for one in asked]
        assert 200 in answers
        assert set(answers) <= {200, "refused"}
        assert process.wait(30) in (0, None)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port))


def _status(asked):
    try:
        return asked.result().status_code
    except httpx.ConnectError:
        return "refused"  # after the end


@pytest.mark.parametrize("workers", [1, 2])
def test_established_connections_are_answered_at_the_end(tmp_path, workers):
    """Connections that no process has accepted when the signal arrives."""
    with spawned(tmp_path, workers) as service, contextlib.ExitStack() as held:
        serving_processes = service.workers() if workers > 1 else [service.process]
        for process in serving_processes:
            process.suspend()
        address = ("127.0.0.1", service.port)
        connections = [held.enter_context(socket.create_connection(address)) for _ in range(300)]
        for connection in connections:
            connection.sendall(GET)
        service.process.terminate()
        for process in serving_processes:
            process.resume()
        assert {received(connection)[:12] for connection in connections} == {b"HTTP/1.1 200"}


def test_a_process_that_dies_is_started_again():
    with serving(["--workers", "2"]) as (port, process):
        for _ in range(8):
            assert len(entities_of(port)) == 3
        first, _ = _workers(process)
        first.kill()
        wait_until(lambda: len(_workers(process)) == 2 and first not in _workers(process), 40)
        for _ in range(4):
            assert len(entities_of(port)) == 3
        wait_until(lambda: metrics_of(port)["sgtb_ready_processes"] == 2)
        assert metrics_of(port)["sgtb_documents_total"] == 12, "those of the dead one count"
        children = _workers(process)
        process.kill()  # the parent, without a word
        psutil.wait_procs(children, 30)
        assert not any(child.is_running() for child in children), "they do not outlive it"


def _workers(process):
    """Its processes that live, without those that the system itself needs."""
    found = []
    for child in process.children():
        with contextlib.suppress(psutil.Error):  # it ended meanwhile
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found


def test_ending_finishes_what_is_under_way():
    linker = FakeLinker()
    linker.may.clear()
    settings = ServeSettings(together=1)
    with socket.socket() as connection:
        with running(Engine(lambda: linker, settings)) as port:
            connection.connect(("127.0.0.1", port))
            connection.sendall(post("/api/link", b'{"text": "a"}'))
            wait_until(lambda: linker.linked == ["a"])
            threading.Timer(0.5, linker.may.set).start()
        assert received(connection).startswith(b"HTTP/1.1 200 ")


# What goes wrong at the start


def sgtb_serve(*options):
    command = [sys.executable, "-c", "from sgtb.cli.main import app; app()", "serve", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_port_in_use_is_named(workers):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, told = sgtb_serve("--port", port, "--workers", workers)
    assert code == 1
    assert f"port {port}" in told
    assert "--port" in told


def test_what_cannot_be_loaded_is_named(place, tmp_path):
    model = tmp_path / "model"
    model.write_bytes(b"no model")
    code, told = sgtb_serve(
        "--model", str(model), "--kb", str(place), "--port", "0", "--workers", "2"
    )
    assert code == 1
    assert str(model) in told
    assert len(told.splitlines()) == 1


def test_a_source_is_a_pair(tmp_path):
    with pytest.raises(SettingsError, match="without both"):
        LinkerSource(tmp_path / "model", None)
    for source in (LinkerSource(), LinkerSource("starter"), LinkerSource(None, KB)):
        with source.load() as linker:
            assert isinstance(linker, Linker)
