"""The benchmark of linking jobs: processor time beside `Linker.pipe`, memory, and equal bytes.

    python -m benchmarks.batch                  50,000 documents, by processes and on Dask
    python -m benchmarks.batch --quick          2,000 documents
    python -m benchmarks.batch --documents 0    only the work of a part, in one process
    python -m benchmarks.batch --json FILE      also one JSON object

Documents are passages of generated texts and, where $SGTB_DATA has it, of AIDA-CoNLL, linked with
the starter. Processor time is that of all processes of a run: client, scheduler and workers. Each
process is a fresh one; `Linker.pipe` is measured first and last.
"""

import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import psutil
import typer

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
import json, sys
from sgtb.linking.linker import Linker
from sgtb.linking.links import Request
with Linker.starter() as linker, open(sys.argv[1]) as lines:
    requests = (Request(r["text"], id=r["id"]) for r in map(json.loads, lines))
    print(sum(len(document.columns.starts) for document in linker.pipe(requests)))
"""
_COMMAND = "from sgtb.cli.main import app; app()"


@dataclass(frozen=True)
class BatchRun:
    """A run.

    cpu_seconds  of all its processes
    memory_mb    own memory of all its processes, median of the second half
    spread       largest distance from that median, as a share of it
    digest       of all bytes of the output
    """

    name: str
    cpu_seconds: float
    seconds: float
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


def part_overhead(documents: int = 1000, turns: int = 4) -> float:
    """Return the processor time of `link_part` and of `Linker.pipe`, measured alternately here."""
    spec, seconds = linker_spec(), {"pipe": 0.0, "part": 0.0}
    linker = worker_linker(spec)
    assert linker is not None
    with tempfile.TemporaryDirectory(prefix="sgtb-batch-") as folder:
        lines = write_documents(Path(folder) / "documents.jsonl", documents)
        part = next(cut([str(lines)], 1 << 30)).to_dict()
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
                    seconds[name] += time.process_time() - begin
    return seconds["part"] / seconds["pipe"] - 1


def write_documents(path: Path, count: int) -> Path:
    """Write passages as JSON Lines."""
    with open(path, "w") as file:
        for i, text in enumerate(islice(passages(count), count)):
            file.write(json.dumps({"id": f"d{i}", "text": text}) + "\n")
    return path


def run(name: str, command: list[str], job: Path | None) -> BatchRun:
    """Run a command, and measure its processes until the last one ends."""
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", *command], stdout=subprocess.PIPE, text=True)
    samples: list[tuple[float, float]] = []
    ended = threading.Event()
    sampler = threading.Thread(target=_sample, args=(process.pid, samples, ended))
    sampler.start()
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    ended.set()
    sampler.join()
    if process.returncode:
        raise SystemExit(f"{name}: failed with {process.returncode}")
    seconds = time.perf_counter() - begin
    # Without the last tenth, in which processes end.
    half = [mb for at, mb in samples if 0.5 < (at - begin) / seconds < 0.9] or [0.0]
    median = statistics.median(half)
    spread = max(abs(mb - median) for mb in half) / median if median else 0.0
    links = int(json.loads(out)["links"] if job else out)
    digest = _digest(job) if job else ""
    return BatchRun(name, usage.ru_utime + usage.ru_stime, seconds, median, spread, links, digest)


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
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE")] = None,
) -> None:
    """Measure linking jobs."""
    print(f"the work of a part beside Linker.pipe, in one process: {part_overhead():+.1%}")
    if documents == 0:
        return
    count = 2_000 if quick else documents
    runs = []
    with tempfile.TemporaryDirectory(prefix="sgtb-batch-") as name:
        folder = Path(name)
        lines = write_documents(folder / "documents.jsonl", count)
        for engine in ("pipe", "processes", "local:1", "local:2", "local:4", "pipe again"):
            job = None if engine.startswith("pipe") else folder / engine.replace(":", "-")
            command = [_PIPE, str(lines)]
            if job:
                command = [_COMMAND, "link", "--batch", str(lines), "-o", str(job), "--json"]
                command += ["--quiet", "--part-size", "1"]
                command += [] if engine == "processes" else ["--cluster", engine]
            runs.append(run(engine, command, job))
            print(_line(runs[-1], runs[0]), flush=True)
    equal = len({one.digest for one in runs if one.digest}) == 1
    pipe = (runs[0].cpu_seconds + runs[-1].cpu_seconds) / 2
    print(f"{count:,} documents; bytes of all jobs are {'equal' if equal else 'DIFFERENT'}")
    for one in runs[1:-1]:
        print(f"{one.name}: {one.cpu_seconds / pipe - 1:+.1%} processor time")
    if json_file is not None:
        record = {"documents": count, "equal": equal, "runs": [asdict(one) for one in runs]}
        json_file.write_text(json.dumps(record, indent=1) + "\n")
    raise SystemExit(not equal)


def _line(one: BatchRun, first: BatchRun) -> str:
    return (
        f"{one.name:<12}{one.cpu_seconds:8.1f} s cpu ({one.cpu_seconds / first.cpu_seconds:.2f} x)"
        f"{one.seconds:8.1f} s{one.memory_mb:8.0f} MB ± {one.spread:.1%}  {one.links:,} links"
    )


if __name__ == "__main__":
    typer.run(main)
