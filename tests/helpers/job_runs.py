"""Jobs for tests: inputs of short documents, runs of the command, and what must be true after."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sgtb.jobs.link_job import JobCounts, LinkJob
from sgtb.jobs.process_engine import ProcessEngine
from sgtb.jobs.worker_linker import linker_spec

FAULTS = Path(__file__).parent / "fault_injection"
TEXTS = (
    "Jordan won six rings with the Bulls.",
    "In Amman the king of Jordan watched them on television.",
    "nobody here has a name.",
    "Jordan passed, Pippen scored, and the Bulls beat Utah again.",
)
ENTITIES = [
    {"id": id, "name": name, "description": about, "type": type, "popularity": 9, "links": ["B"]}
    for id, name, about, type in (
        ("J", "Jordan", "basketball player", "PER"),
        ("B", "Bulls", "basketball team", "ORG"),
        ("U", "Utah", "basketball team", "ORG"),
    )
]
"""Entities of the texts, with all that the starter's model needs."""
PART_BYTES = 1_000
_OWN = ProcessEngine(1)
"""Kept for all runs: a process takes seconds to start."""
FULL = int(os.environ.get("SGTB_FAULT_MOMENTS", "1"))


def moments(parts: int) -> list[int]:
    """Return numbers of finished parts at which a fault is injected."""
    return sorted({int((i + 0.5) * (parts - 1) / FULL) for i in range(FULL)})


def write_lines(path: Path, count: int, others: Mapping[int, bytes] | None = None) -> Path:
    """Write documents, and other lines before the documents of some numbers."""
    with open(path, "wb") as file:
        for i in range(count):
            if others and i in others:
                file.write(others[i] + b"\n")
            record = {"id": f"d{i}", "text": TEXTS[i % len(TEXTS)]}
            file.write(json.dumps(record).encode() + b"\n")
    return path


def run_here(
    job: Path, *inputs: Path, engine=None, spec=None, part_bytes: int = PART_BYTES
) -> JobCounts:
    """Run a job from this process."""
    begun = LinkJob.begin(job, [str(path) for path in inputs], spec or linker_spec(), part_bytes)
    return begun.run(engine or _OWN)


def start_command(job: Path, *inputs: Path, cluster: str | None = None, **env: str):
    """Start `sgtb link --batch`, with faults, in a process group of its own."""
    return subprocess.Popen(
        [
            sys.executable, "-c", "from sgtb.cli.main import app; app()", "link", "--batch",
            *map(str, inputs), "-o", str(job), "--part-size", str(PART_BYTES / 1e6), "--json",
            *(["--cluster", cluster] if cluster else []),
        ],
        env=faulty(**env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def faulty(**env: str) -> dict[str, str]:
    """Return an environment in which processes have faults."""
    return {**os.environ, "PYTHONPATH": str(FAULTS), "SGTB_DEBUG": "1", **env}


def wait_for_parts(job: Path, count: int, client=None, seconds: float = 120) -> None:
    """Return when a job has this many finished parts, or all; its client must not fail."""
    deadline = time.monotonic() + seconds
    while len(list(job.glob("part-*.json"))) < count and not (job / "_SUCCESS").exists():
        assert time.monotonic() < deadline, f"{job}: no {count} parts within {seconds} seconds"
        assert client is None or client.poll() in (None, 0), client.communicate()
        time.sleep(0.01)


def content(job: Path) -> dict[str, str]:
    """Return the digests of all files of a job but temporary ones."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(job.iterdir())
        if not path.name.startswith(".")
    }


def documents_of(job: Path) -> list[str]:
    """Return the ids of all documents of the output and of the rejected ones."""
    linked = [
        id
        for path in sorted(job.glob("part-*.parquet"))
        for id in dict.fromkeys(pq.read_table(path)["document"].to_pylist())
    ]
    return linked + pq.read_table(job / "rejected.parquet")["document"].to_pylist()


def links_of(job: Path) -> list[dict[str, Any]]:
    """Return the rows of all parts."""
    return pa.concat_tables(map(pq.read_table, sorted(job.glob("part-*.parquet")))).to_pylist()


def check_complete(job: Path, reference: Path, ids: Iterable[str]) -> None:
    """Check that every document is there once, and that all bytes are those of another job."""
    assert sorted(documents_of(job)) == sorted(ids)
    assert content(job) == content(reference)
