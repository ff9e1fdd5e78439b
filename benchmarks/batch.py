"""The benchmark of linking jobs: processor time beside `Linker.pipe`, memory, and equal bytes.

    python -m benchmarks.batch                  50,000 documents, by processes and on Dask
    python -m benchmarks.batch --quick          2,000 documents
    python -m benchmarks.batch --documents 0    only the work of a part, in one process
    python -m benchmarks.batch --engine pipe:4 --engine local:4   only these; see ENGINES
    python -m benchmarks.batch --rounds 3       each engine three times, in turn
    python -m benchmarks.batch --json FILE      also one JSON object

A cluster of N workers is compared with `pipe:N`: so many processes at once, each of which calls
`Linker.pipe` for its share of the documents. What processes on shared cores and caches take from
each other is then on both sides.

Documents are passages of generated texts and, where $SGTB_DATA has it, of AIDA-CoNLL, linked with
the starter. Processor time is that of all processes of a run: client, scheduler and workers. Each
process is a fresh one. The start is a run of its own, with one document: interpreters, cluster,
linker, and the end of all processes. The package has bytecode, as an installed one does, also where
$PYTHONDONTWRITEBYTECODE keeps Python from writing it.

Other work on the machine, and on the host of a virtual one, makes the processor time of the same
work up to twice as long; page faults and system time tell whether a run itself did more. So of
several rounds, the least processor time of an engine counts.

Memory is watched from the moment when half of the parts are written until a worker has no part
left; of `Linker.pipe`, which has no parts, in the second half of the time but the last tenth.
"""

import compileall
import ctypes
import hashlib
import json
import math
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import psutil
import typer

import sgtb
from benchmarks.dump_repeated import data_folder
from benchmarks.linker_texts import written
from sgtb.core.errors import CorpusError
from sgtb.formats.codecs.aida_conll import read_aida
from sgtb.jobs.job_inputs import cut
from sgtb.jobs.link_part import link_part
from sgtb.jobs.worker_linker import linker_spec, worker_linker
from sgtb.kb import KnowledgeBase
from sgtb.linking.links import Request
from sgtb.starter import KB

PASSAGE = 250
"""Characters of a document, or slightly more."""
_SENTENCE = re.compile(r"(?<=[.\n])\s*")
_PIPE = """
import json, subprocess, sys
from itertools import islice
share, shares = map(int, sys.argv[2:])
command = sys.orig_argv[:-2]
others = [
    subprocess.Popen([*command, str(i), str(shares)], stdout=subprocess.PIPE)
    for i in range(1, 1 if share else shares)
]
from sgtb.linking.linker import Linker
from sgtb.linking.links import Request
with Linker.starter() as linker, open(sys.argv[1]) as file:
    lines = islice(file, share, None, shares)
    requests = (Request(r["text"], id=r["id"]) for r in map(json.loads, lines))
    links = sum(len(document.columns.starts) for document in linker.pipe(requests))
print(links + sum(int(other.communicate()[0]) for other in others))
"""
_PR_SET_CHILD_SUBREAPER = 36
_PART_MB = 0.5
ENGINES = ("pipe:1", "pipe:2", "pipe:4", "processes", "local:1", "local:2", "local:4")


@dataclass(frozen=True)
class BatchRun:
    """A run.

    cpu_seconds  of all its processes
    start        processor time and time of a run with one document
    system       processor time within the system, part of cpu_seconds
    page_faults  number of pages that its processes were given
    memory_mb    own memory of all its processes, median of the second half
    spread       largest distance from that median, as a share of it
    digest       of all bytes of the output; "": `Linker.pipe`, which writes none
    """

    name: str
    cpu_seconds: float
    seconds: float
    start: tuple[float, float]
    system: float
    page_faults: int
    memory_mb: float
    spread: float
    links: int
    digest: str


def passages(count: int) -> Iterator[str]:
    """Yield passages of generated and of real texts alternately."""
    with KnowledgeBase.open(KB) as kb:
        generated = chain.from_iterable(
            _cut(document.text) for document in written(kb, 4 * count + 100)
        )
        real = _real()
        for i in range(count):
            yield (next(real, None) if i % 2 else None) or next(generated)


def _real() -> Iterator[str]:
    try:
        documents = read_aida(data_folder() / "aida")
    except (CorpusError, OSError):
        return
    while True:
        for document in documents:
            yield from _cut(document.text)


def _cut(text: str) -> Iterator[str]:
    passage = ""
    for sentence in _SENTENCE.split(text):
        passage += sentence + " "
        if len(passage) >= PASSAGE:
            yield passage
            passage = ""


def part_overhead(documents: int = 1000, turns: int = 12) -> float:
    """Return by how much `link_part` exceeds `Linker.pipe`: least times of alternate turns here."""
    spec, seconds = linker_spec(), {"pipe": math.inf, "part": math.inf}
    linker = worker_linker(spec)
    assert linker is not None
    with tempfile.TemporaryDirectory(prefix="sgtb-batch-") as folder:
        lines = write_documents(Path(folder) / "documents.jsonl", documents)
        part = asdict(next(cut([str(lines)], 1 << 30)))
        for turn in range(turns + 1):
            for name in seconds:
                begin = time.process_time()
                if name == "part":
                    link_part(spec, part, str(lines))
                else:
                    with open(lines) as file:
                        requests = (Request(r["text"], id=r["id"]) for r in map(json.loads, file))
                        for _ in linker.pipe(requests):
                            pass
                if turn:  # the first fills caches
                    seconds[name] = min(seconds[name], time.process_time() - begin)
    return seconds["part"] / seconds["pipe"] - 1


def write_documents(path: Path, count: int) -> Path:
    """Write passages as JSON Lines."""
    with open(path, "w") as file:
        for i, text in enumerate(islice(passages(count), count)):
            file.write(json.dumps({"id": f"d{i}", "text": text}) + "\n")
    return path


def measure(engine: str, folder: Path) -> BatchRun:
    """Run an engine on one document, then on all documents of a folder."""
    first = _run(engine, folder, "first.jsonl")
    start = (first.cpu_seconds, first.seconds)
    return replace(_run(engine, folder, "documents.jsonl"), start=start)


def best(rounds: Sequence[BatchRun]) -> BatchRun:
    """Return the run with the least processor time, with the least start."""
    run = min(rounds, key=lambda one: one.cpu_seconds)
    return replace(run, start=min(one.start for one in rounds))


def _run(engine: str, folder: Path, documents: str) -> BatchRun:
    """Run an engine, and measure its processes until the last one ends."""
    job = folder / f"{documents}-{engine}"
    shutil.rmtree(job, ignore_errors=True)
    kind, _, workers = engine.partition(":")
    command = ["-c", _PIPE, documents, "0", workers]
    if kind != "pipe":
        command = ["-m", "sgtb", "link", "--batch", documents, "-o", str(job), "--json", "--quiet"]
        command += ["--part-size", str(_PART_MB)]
        command += [] if engine == "processes" else ["--cluster", engine]
    # Relative paths: the manifest has those of the inputs.
    begin, clock = time.perf_counter(), time.time()
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, text=True, cwd=folder
    )
    samples: list[tuple[float, float]] = []
    ended = threading.Event()
    sampler = threading.Thread(target=_sample, args=(process.pid, samples, ended))
    sampler.start()
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    usages = [usage, *_orphans()]
    ended.set()
    sampler.join()
    if process.returncode:
        raise SystemExit(f"{engine}: failed with {process.returncode}")
    seconds = time.perf_counter() - begin
    low, high = 0.5 * seconds, 0.9 * seconds
    links, digest = out, ""
    if kind != "pipe":
        written = sorted(path.stat().st_mtime - clock for path in job.glob("part-*.json"))
        last = max(len(written) - 1 - int(workers or 1), 0)
        low, high = written[len(written) // 2], written[last]
        links, digest = json.loads(out)["links"], _digest(job)
    half = [mb for at, mb in samples if low <= at - begin <= high] or [0.0]
    median = statistics.median(half)
    return BatchRun(
        name=engine,
        cpu_seconds=sum(one.ru_utime + one.ru_stime for one in usages),
        seconds=seconds,
        start=(0.0, 0.0),
        system=sum(one.ru_stime for one in usages),
        page_faults=sum(one.ru_minflt for one in usages),
        memory_mb=median,
        spread=max(abs(mb - median) for mb in half) / median if median else 0.0,
        links=int(links),
        digest=digest,
    )


def _orphans() -> Iterator[resource.struct_rusage]:
    """Yield the usage of processes that outlived their parent, when all have ended.

    Multiprocessing does not wait for the process that it forks workers from.
    """
    with suppress(ChildProcessError):
        while True:
            _, _, usage = os.wait4(-1, 0)
            yield usage


def _sample(pid: int, samples: list[tuple[float, float]], ended: threading.Event) -> None:
    """Sample the own memory of a process and of all its children, twice a second."""
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        while not ended.wait(0.5):
            total = 0
            for process in (root, *root.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    found = process.memory_info()
                    total += found.rss - found.shared
            samples.append((time.perf_counter(), total / 1e6))


def _digest(job: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(job.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def main(
    documents: Annotated[int, typer.Option(help="Number of documents.")] = 50_000,
    quick: Annotated[bool, typer.Option("--quick", help="2,000 documents.")] = False,
    engine: Annotated[
        list[str] | None, typer.Option(help="What to measure; may be repeated. Default: all.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Times that each engine is measured.")] = 1,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE")] = None,
) -> None:
    """Measure linking jobs."""
    if documents == 0:
        print(f"the work of a part beside Linker.pipe, in one process: {part_overhead():+.1%}")
        return
    count = 2_000 if quick else documents
    compileall.compile_dir(Path(sgtb.__file__).parent, quiet=1)
    if sys.platform == "linux":  # become the parent of processes that outlive theirs
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print(f"{count:,} documents\n{_HEAD}", flush=True)
    engines = engine or ENGINES
    measured: dict[str, list[BatchRun]] = {name: [] for name in engines}
    with tempfile.TemporaryDirectory(prefix="sgtb-batch-") as place:
        folder = Path(place)
        write_documents(folder / "documents.jsonl", count)
        write_documents(folder / "first.jsonl", 1)
        for _ in range(rounds):
            for name in engines:
                measured[name].append(measure(name, folder))
                print(_line(measured[name][-1]), flush=True)
    runs = [best(found) for found in measured.values()]
    digests = {one.digest for found in measured.values() for one in found}
    equal = len(digests - {""}) < 2
    print(f"bytes of all jobs are {'equal' if equal else 'DIFFERENT'}")
    named = {one.name: one for one in runs}
    for one in runs:
        pipe = named.get(f"pipe:{one.name.partition(':')[2] or 1}", one)
        if pipe is not one:
            print(_overhead(one, pipe))
    if json_file is not None:
        record = {"documents": count, "equal": equal, "runs": [asdict(one) for one in runs]}
        json_file.write_text(json.dumps(record, indent=1) + "\n")
    raise SystemExit(not equal)


def _overhead(job: BatchRun, pipe: BatchRun) -> str:
    more = job.cpu_seconds / pipe.cpu_seconds - 1
    rest = (job.cpu_seconds - job.start[0]) / (pipe.cpu_seconds - pipe.start[0]) - 1
    return (
        f"{job.name}: {more:+.1%} processor time beside {pipe.name}, {rest:+.1%} without the start"
    )


_HEAD = (
    f"{'engine':<10}{'cpu s':>7}{'start':>6}{'system':>7}{'faults':>9}{'wall s':>8}{'start':>6}"
    f"{'MB':>6}{'spread':>8}{'links':>9}  digest"
)


def _line(one: BatchRun) -> str:
    return (
        f"{one.name:<10}{one.cpu_seconds:7.1f}{one.start[0]:6.1f}{one.system:7.1f}"
        f"{one.page_faults:9,}{one.seconds:8.1f}{one.start[1]:6.1f}"
        f"{one.memory_mb:6.0f}{one.spread:8.1%}{one.links:9,}  {one.digest}"
    )


if __name__ == "__main__":
    typer.run(main)
