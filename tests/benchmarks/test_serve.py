"""The service's benchmark: what it counts and what it says of it, never the timings themselves."""

import io

from rich.console import Console

from benchmarks.serve import (
    Subject,
    at_thirds,
    bare,
    starter_texts,
    table_of,
    tree_mb,
    tree_seconds,
)
from benchmarks.serve_clients import Tally, ask, post_of
from sgtb.linking.linker import Linker
from sgtb.serving.engine import Engine
from sgtb.serving.service_settings import ServeSettings
from tests.helpers.services import FakeLinker, running


def test_clients_count_answers_and_errors():
    linker = FakeLinker()
    settings = ServeSettings()
    requests = [post_of("/api/link", {"text": text}) for text in ("a", "b", "fail", "c")]
    looks = []
    with running(Engine(lambda: linker, settings)) as port:
        tally = ask(port, requests, 4, 0.5, looks.append)
    assert len(tally.seconds) + len(tally.errors) >= 4
    assert set(tally.errors) == {"status 500"}
    assert set(linker.linked) == {"a", "b", "fail", "c"}
    assert looks[0] < 0.5
    told = tally.to_dict()
    assert told["requests"] == len(tally.seconds)
    assert told["p50_ms"] <= told["p99_ms"] <= told["max_ms"]
    assert told["bytes_per_answer"] > len('{"links":[],"milliseconds":1}')


def test_clients_of_nobody():
    tally = ask(1, [b"x"], 2, 0.15)
    assert not tally.seconds
    assert all("refused" in error.lower() for error in tally.errors)
    assert Tally(taken=1.0).to_dict()["requests"] == 0


def test_the_bare_linker_and_its_texts():
    texts = starter_texts(300)
    assert len(set(texts)) == 300
    assert Subject("starter", texts).options() == []
    with Subject("starter", texts).linker() as linker:
        assert isinstance(linker, Linker)
        told = bare(linker, texts[:8], 1)
    assert set(told) == {"docs_per_second", "processor_ms", "one_by_one_per_second"}


def test_memory_is_told_at_three_times():
    looks = [(0.01, 1.0), (0.3, 2.0), (0.52, 3.0), (0.9, 4.0), (1.0, 5.0)]
    assert at_thirds(looks) == {"start": 1.0, "middle": 3.0, "end": 5.0}


def test_the_table_has_a_line_for_every_run():
    import psutil

    service = {
        "requests_per_second": 400.0, "p50_ms": 150.0, "p99_ms": 250.0, "errors": 3,
        "of_bare_linker": 0.5, "processor_ms": 2.0,
        "memory_mb": {"start": tree_mb(psutil.Process()), "middle": 251.0, "end": 252.0},
    }  # fmt: skip
    assert tree_seconds(psutil.Process()) > 0
    linker = {"docs_per_second": 800.0, "processor_ms": 1.0, "one_by_one_per_second": 100.0}
    runs = {"texts": 5, "characters": 9.0, "linker 1": linker, "service 2": service}
    console = Console(file=io.StringIO(), width=160)
    result = {"clients": 64, "seconds": 30.0, "subjects": {"starter": runs}}
    console.print(table_of(result, markdown=True))
    told = console.file.getvalue()
    for part in ("starter: linker, one process", "a text at a time", "service, 2 processes", "50%"):
        assert part in told
