"""The benchmark of linking jobs: processor time beside `Linker.pipe`, memory, and equal bytes.

    python -m benchmarks.batch                  50,000 documents, by processes and on Dask
    python -m benchmarks.batch --quick          2,000 documents
    python -m benchmarks.batch --documents 0    only the work of a part, in one process
    python -m benchmarks.batch --engine local:4 only this one; see ENGINES
    python -m benchmarks.batch --rounds 3       each three times, in turn; the times are added
    python -m benchmarks.batch --json FILE      also one JSON object

A job of N workers and `pipe:N`, so many processes that each call `Linker.pipe` for a share of the
documents, run at the same moment. Other work on the machine, and on the host of a virtual one,
makes the processor time of the same work up to twice as long; so only figures of the same moment
are compared. Page faults and system time tell whether a run itself did more. A share of `pipe:N` is
every N-th thousand documents, as mixed as the parts of a job; generated and real ones alternate.

Documents are passages of generated texts and, where $SGTB_DATA has it, of AIDA-CoNLL, linked with
the starter. Processor time is that of all processes of a run: client, scheduler and workers. Each
process is a fresh one. The start is a run of its own, with one document: interpreters, cluster,
linker, and the end of all processes. The package has bytecode, as an installed one does, also where
$PYTHONDONTWRITEBYTECODE keeps Python from writing it.

Memory is watched from the moment when half of the parts are written until a worker has no part
left; of `Linker.pipe`, which has no parts, in the second half of the time but the last tenth.
"""

import compileall
import ctypes
import hashlib
import json
import math
import multiprocessing
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
from concurrent.futures import ProcessPoolExecutor
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
share, shares = map(int, sys.argv[2:])
command = sys.orig_argv[:-2]
others = [
    subprocess.Popen([*command, str(i), str(shares)], stdout=subprocess.PIPE)
    for i in range(1, 1 if share else shares)
]
from sgtb.linking.linker import Linker
from sgtb.linking.links import Request
with Linker.starter() as linker, open(sys.argv[1]) as file:
    lines = (line for i, line in enumerate(file) if i // 1000 % shares == share)
    requests = (Request(r["text"], id=r["id"]) for r in map(json.loads, lines))
    links = sum(len(document.columns.starts) for document in linker.pipe(requests))
print(links + sum(int(other.communicate()[0]) for other in others))
"""
_PR_SET_CHILD_SUBREAPER = 36
_PART_MB = 0.5
ENGINES = ("processes", "local:1", "local:2", "local:4")


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


def side_by_side(job: str, folder: Path) -> tuple[BatchRun, BatchRun]:
    """Measure a job, and as many processes of `Linker.pipe` at the same time."""
    pipe = f"pipe:{job.partition(':')[2] or 1}"
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context, initializer=_adopt_orphans) as pool:
        measured = [pool.submit(measure, engine, folder) for engine in (job, pipe)]
        return measured[0].result(), measured[1].result()


def _adopt_orphans() -> None:
    """Become the parent of processes that outlive theirs."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


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
    # A cache of its own: parts that died with an earlier run would be linked in isolation.
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, text=True, cwd=folder,
        env={**os.environ, "SGTB_CACHE": str(folder / "cache")},
    )  # fmt: skip
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
        list[str] | None, typer.Option(help="A job to measure; may be repeated. Default: all.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Times that each job is measured.")] = 1,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE")] = None,
) -> None:
    """Measure linking jobs."""
    if documents == 0:
        print(f"the work of a part beside Linker.pipe, in one process: {part_overhead():+.1%}")
        return
    count = 2_000 if quick else documents
    compileall.compile_dir(Path(sgtb.__file__).parent, quiet=1)
    print(f"{count:,} documents\n{_HEAD}", flush=True)
    pairs: dict[str, list[tuple[BatchRun, BatchRun]]] = {name: [] for name in engine or ENGINES}
    with tempfile.TemporaryDirectory(prefix="sgtb-batch-") as place:
        folder = Path(place)
        write_documents(folder / "documents.jsonl", count)
        write_documents(folder / "first.jsonl", 1)
        for name in list(pairs) * rounds:
            pairs[name].append(side_by_side(name, folder))
            print("\n".join(_line(one) for one in pairs[name][-1]), flush=True)
    runs = [one for measured in pairs.values() for pair in measured for one in pair]
    equal = len({one.digest for one in runs} - {""}) < 2
    print(f"bytes of all jobs are {'equal' if equal else 'DIFFERENT'}")
    for name, measured in pairs.items():
        print(f"{name}: {_overhead(measured)}")
    if json_file is not None:
        record = {"documents": count, "equal": equal, "runs": [asdict(one) for one in runs]}
        json_file.write_text(json.dumps(record, indent=1) + "\n")
    raise SystemExit(not equal)


def _overhead(pairs: Sequence[tuple[BatchRun, BatchRun]]) -> str:
    """Return by how much jobs exceed `Linker.pipe` of the same moments."""
    jobs, pipes = (sum(one.cpu_seconds for one in runs) for runs in zip(*pairs, strict=True))
    starts = [sum(one.start[0] for one in runs) for runs in zip(*pairs, strict=True)]
    rest = (jobs - starts[0]) / (pipes - starts[1]) - 1
    return (
        f"{jobs / pipes - 1:+.1%} processor time beside {pairs[0][1].name}, "
        f"{rest:+.1%} without the start"
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
