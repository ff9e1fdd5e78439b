"""Benchmark of the service: many clients on this machine, and the bare linker in the same run.

    python -m benchmarks.serve                         a table
    python -m benchmarks.serve --json FILE             also one JSON object
    python -m benchmarks.serve --quick                 a few seconds of each
    python -m benchmarks.serve --seconds 60            60 seconds of each
    python -m benchmarks.serve --slow 500              regular clients alone, and beside slow ones
    python -m benchmarks.serve --model FILE --kb DIR   a linker of one's own in the place of that
                                                       for PPRforNED

64 clients send requests for 30 seconds, one after the other: to the starter, and to
PPRforNED's knowledge base with AIDA's test documents where $SGTB_DATA has them. Server and clients
share the machine. The linker for PPRforNED is cached in a folder: the first run trains it.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.dump_repeated import data_folder
from benchmarks.linker_aida import aida_subjects
from benchmarks.linker_texts import written
from benchmarks.measure import rounded, seconds_of
from benchmarks.serve_clients import ask, post_of
from benchmarks.slow_clients import slow_clients
from experiments.aida_data import AidaData, default_cache
from experiments.starter_data import read_starter
from sgtb.core.errors import CorpusError
from sgtb.formats.codecs.aida_conll import read_aida
from sgtb.linking.linker import Linker

MB = 1e6
_START = 180.0
_TURNS = 3
_GOOD = 16
"""Clients beside slow ones."""
_talk = Console(stderr=True, highlight=False)
_BEGIN = time.perf_counter()


@dataclass(frozen=True)
class Extent:
    """Extent of the measurements.

    seconds  of requests, after a warm-up
    texts    of the requests, in turn
    train    documents that the linker for PPRforNED is trained on; None: all
    """

    quick: bool
    clients: int
    seconds: float
    before: float
    texts: int
    train: int | None


FULL = Extent(False, 64, 30.0, 10.0, 1_000, None)
QUICK = Extent(True, 64, 3.0, 1.0, 100, 60)


@dataclass(frozen=True)
class Subject:
    """A linker and texts for it; model and knowledge base None: the starter."""

    name: str
    texts: Sequence[str]
    model: Path | None = None
    kb: Path | None = None

    def linker(self) -> Linker:
        """Load it."""
        if self.model is None or self.kb is None:
            return Linker.starter()
        return Linker(self.model, self.kb)

    def options(self) -> list[str]:
        """Return the options of `sgtb serve` for it."""
        return [] if self.model is None else ["--model", str(self.model), "--kb", str(self.kb)]


def starter_texts(count: int) -> list[str]:
    """Return texts of the starter, each with a sentence that no other has."""
    known = [document.text for split in read_starter().values() for document in split]
    return [f"{known[i % len(known)]} That is number {i}." for i in range(count)]


def measure(
    extent: Extent, workers: Sequence[int], own: Subject | None, cache: Path, folder: Path
) -> dict[str, Any]:
    """Measure everything and return one record, ready for JSON."""
    subjects = [Subject("starter", starter_texts(extent.texts))]
    subjects += [own] if own is not None else _pprforned(extent, cache, folder)
    result: dict[str, Any] = {
        "quick": extent.quick,
        "clients": extent.clients,
        "seconds": extent.seconds,
        "cpus": os.cpu_count(),
        "load_at_start": os.getloadavg()[0],
        "subjects": {subject.name: _measure(subject, extent, workers) for subject in subjects},
    }
    result["benchmark_seconds"] = time.perf_counter() - _BEGIN
    done: dict[str, Any] = rounded(result)
    return done


def _measure(subject: Subject, extent: Extent, workers: Sequence[int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "texts": len(subject.texts),
        "characters": sum(map(len, subject.texts)) / len(subject.texts),
    }
    _say(f"{subject.name}: the bare linker ...")
    with subject.linker() as linker:
        for jobs in workers:
            result[f"linker {jobs}"] = bare(linker, subject.texts, jobs)
    requests = [post_of("/api/link", {"text": text}) for text in subject.texts]
    for count in workers:
        _say(f"{subject.name}: {extent.clients} clients, {_processes(count)} ...")
        with serving([*subject.options(), "--workers", str(count)]) as (port, process):
            ask(port, requests, extent.clients, extent.before)
            memory: list[tuple[float, float]] = []
            used = tree_seconds(process)
            look = partial(_note, memory, process)
            tally = ask(port, requests, extent.clients, extent.seconds, look)
            used = tree_seconds(process) - used
            memory.append((1.0, tree_mb(process)))
        one = tally.to_dict()
        bare_rate = result[f"linker {count}"]["docs_per_second"]
        result[f"service {count}"] = {
            **one,
            "of_bare_linker": one["requests_per_second"] / bare_rate,
            "processor_ms": 1e3 * used / max(1, one["requests"]),
            "first_errors": tally.errors[:5],
            "memory_mb": at_thirds(memory),
        }
    return result


def beside_slow(extent: Extent, slow: int, good: int) -> dict[str, Any]:
    """Return the figures of regular clients alone and beside slow ones, alternately."""
    requests = [post_of("/api/link", {"text": text}) for text in starter_texts(extent.texts)]
    runs: dict[str, list[dict[str, float]]] = {"alone": [], "beside": []}
    with serving(["--max-connections", str(2 * (slow + good))]) as (port, _):
        ask(port, requests, good, extent.before)
        for turn in range(_TURNS):
            _say(f"{good} clients alone, then beside {slow} slow ones: turn {turn + 1} ...")
            runs["alone"].append(ask(port, requests, good, extent.seconds).to_dict())
            with slow_clients(port, slow):
                runs["beside"].append(ask(port, requests, good, extent.seconds).to_dict())
    rates = {
        name: sum(run["requests"] for run in some) / (_TURNS * extent.seconds)
        for name, some in runs.items()
    }
    result: dict[str, Any] = rounded(
        {"slow": slow, "good": good, **runs, "share": rates["beside"] / rates["alone"]}
    )
    return result


def _note(memory: list[tuple[float, float]], process: psutil.Process, share: float) -> None:
    memory.append((share, tree_mb(process)))


def bare(linker: Linker, texts: Sequence[str], jobs: int) -> dict[str, float]:
    """Return the speed of the linker itself: in batches, and text by text."""

    def exhaust() -> None:
        for _ in linker.pipe(texts, jobs):
            pass

    exhaust()
    used = time.process_time()
    result = {"docs_per_second": len(texts) / seconds_of(exhaust)}
    if jobs == 1:
        # Other programs affect wall time, not processor time.
        result["processor_ms"] = 1e3 * (time.process_time() - used) / len(texts)
        some = texts[: max(1, len(texts) // 4)]
        taken = seconds_of(lambda: [linker.link(text) for text in some])
        result["one_by_one_per_second"] = len(some) / taken
    return result


@contextmanager
def serving(options: Sequence[str]) -> Iterator[tuple[int, psutil.Process]]:
    """Run `sgtb serve`; yield its port and process, and end it with SIGTERM."""
    command = [sys.executable, "-c", "from sgtb.cli.main import app; app()", "serve"]
    server = subprocess.Popen(
        [*command, "--port", "0", *options], stderr=subprocess.PIPE, text=True
    )
    try:
        yield _port_of(server), psutil.Process(server.pid)
    finally:
        server.send_signal(signal.SIGTERM)
        _, told = server.communicate(timeout=60)
        if told.strip():
            _talk.print(told.strip()[-2_000:], markup=False)


def _port_of(server: "subprocess.Popen[str]") -> int:
    assert server.stderr is not None
    told = ""
    until = time.monotonic() + _START
    while time.monotonic() < until and (line := server.stderr.readline()):
        told += line
        if found := re.search(r"serving on http://[^ ]*:(\d+)/", line):
            return int(found[1])
    raise RuntimeError(f"the service did not start: {told}")


def tree_mb(process: psutil.Process) -> float:
    """Return the resident memory of a process and its children; shared pages count for each."""
    try:
        tree = [process, *process.children(recursive=True)]
        return float(sum(one.memory_info().rss for one in tree)) / MB
    except psutil.Error:
        return float("nan")


def tree_seconds(process: psutil.Process) -> float:
    """Return the processor time of a process and its children so far."""
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return float(sum(time.user + time.system for time in times))


def at_thirds(memory: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Return the memory at the start, in the middle and at the end."""
    return {
        name: min(memory, key=lambda look: abs(look[0] - share))[1]
        for name, share in (("start", 0.0), ("middle", 0.5), ("end", 1.0))
    }


def _pprforned(extent: Extent, cache: Path, folder: Path) -> list[Subject]:
    try:
        data = AidaData.read(data_folder(), _say)
    except CorpusError as error:
        _say(f"PPRforNED is skipped: {error}")
        return []
    subjects = aida_subjects(data, cache, extent.train, extent.texts, _say)
    model = folder / "aida.safetensors"
    subjects.texts.model.save(model)
    texts = [document.text for document in subjects.documents]
    return [Subject("PPRforNED", texts, model, subjects.texts.kb)]


def _texts_for(model: Path, kb: Path, extent: Extent) -> list[str]:
    """Return AIDA's test documents, or texts about the entities of a knowledge base."""
    try:
        documents = read_aida(data_folder() / "aida")
        return [one.text for one in documents if one.split == "test"][: extent.texts]
    except CorpusError:
        with Linker(model, kb) as linker:
            return [document.text for document in written(linker.kb, extent.texts)]


def table_of(result: dict[str, Any], markdown: bool = False) -> Table:
    """Return the table."""
    title = f"{result['clients']} clients, {result['seconds']:g} s each"
    table = Table(title=title, box=box.MARKDOWN if markdown else box.HEAVY_HEAD)
    table.add_column("", no_wrap=True)
    for name in (
        "a second", "p50 ms", "p99 ms", "errors", "beside the linker", "processor ms",
        "MB at start, middle, end",
    ):  # fmt: skip
        table.add_column(name, justify="right")
    for name, one in result["subjects"].items():
        for key, run in one.items():
            kind, _, count = key.partition(" ")
            label = f"{name}: {kind}, {_processes(int(count))}" if count else ""
            if kind == "linker":
                used = f"{run['processor_ms']:.1f}" if "processor_ms" in run else ""
                rate = f"{run['docs_per_second']:,.0f}"
                table.add_row(label, rate, "", "", "", "", used, "")
            if kind == "linker" and "one_by_one_per_second" in run:
                alone = f"{run['one_by_one_per_second']:,.0f}"
                table.add_row("  a text at a time", alone)
            if kind == "service":
                table.add_row(
                    label, f"{run['requests_per_second']:,.0f}", f"{run['p50_ms']:,.0f}",
                    f"{run['p99_ms']:,.0f}", f"{run['errors']:,}", f"{run['of_bare_linker']:.0%}",
                    f"{run['processor_ms']:.1f}",
                    ", ".join(f"{mb:,.0f}" for mb in run["memory_mb"].values()),
                )  # fmt: skip
    return table


def _processes(count: int) -> str:
    return "one process" if count == 1 else f"{count} processes"


def _say(what: str) -> None:
    _talk.print(f"{time.perf_counter() - _BEGIN:6.1f} s  {what}")


def main(
    quick: Annotated[bool, typer.Option("--quick", help="A few seconds of each.")] = False,
    model: Annotated[Path | None, typer.Option(help="With --kb, instead of PPRforNED.")] = None,
    kb: Annotated[Path | None, typer.Option(help="With --model.")] = None,
    workers: Annotated[list[int] | None, typer.Option(help="Processes.")] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write one JSON object here.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--folder", help="Keep models here.", show_default="~/.cache/sgtb"),
    ] = None,
    slow: Annotated[
        int, typer.Option(help="Only measure clients beside so many slow ones, of five kinds.")
    ] = 0,
    seconds: Annotated[float | None, typer.Option(help="Seconds of asking.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Measure the service."""
    extent = QUICK if quick else FULL
    extent = extent if seconds is None else replace(extent, seconds=seconds)
    if slow:
        print(json.dumps(beside_slow(extent, slow, _GOOD), indent=2))
        return
    place = (cache or default_cache()).resolve()
    place.mkdir(parents=True, exist_ok=True)
    own = None
    if model is not None and kb is not None:
        own = Subject(str(kb), _texts_for(model, kb, extent), model, kb)
    with tempfile.TemporaryDirectory() as folder:
        result = measure(extent, workers or [1, 2], own, place, Path(folder))
    if json_file is not None:
        json_file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    width = None if sys.stdout.isatty() else 120
    Console(width=width).print(table_of(result, markdown))


if __name__ == "__main__":
    typer.run(main)
