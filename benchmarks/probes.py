"""Probes: fresh processes that measure one thing and print JSON. This is the parent's side.

They run the tasks of `benchmarks.kb_probe`, `benchmarks.linker_probe` and
`benchmarks.wiki_probe`.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.resident import TreeWatch

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Peak:
    """The peak memory of a probe and its children together, in MB; see `TreeWatch`."""

    rss_mb: float
    anon_mb: float
    processes: int
    samples: int


def checkout_of(python: str) -> Path:
    """Return the checkout whose `benchmarks` an interpreter runs.

    Another version runs its own: module names differ. Its environment is CHECKOUT/.venv.
    """
    if python == sys.executable:
        return ROOT
    checkout = Path(python).parents[2]
    if not (checkout / "benchmarks" / "probes.py").is_file():
        raise RuntimeError(
            f"{checkout} has no benchmarks/probes.py; expected the interpreter of a checkout, "
            "CHECKOUT/.venv/bin/python, as `make baseline-env` makes it"
        )
    return checkout


def environment_of(python: str) -> dict[str, str]:
    """Return the environment of a process: another version must not import this one."""
    kept = dict(os.environ)
    if python != sys.executable:
        kept.pop("PYTHONPATH", None)
    return kept


def ask(task: str, *words: object, python: str = sys.executable) -> Any:
    """Run a probe and return its answer.

    python  the interpreter, of this environment or of another
    """
    with tempfile.TemporaryFile("w+") as talk:
        probe = _start(talk, task, *words, python=python)
        answer, _ = probe.communicate()
        return _read(probe, task, answer, talk)


def watch(task: str, *words: object, python: str = sys.executable) -> tuple[Any, Peak]:
    """Run a probe; return its answer and its peak memory, sampled from outside."""
    with tempfile.TemporaryFile("w+") as talk:
        probe = _start(talk, task, *words, python=python)
        with TreeWatch(probe.pid) as seen:
            answer, _ = probe.communicate()
        peak = Peak(seen.rss_mb, seen.anon_mb, seen.processes, seen.samples)
        return _read(probe, task, answer, talk), peak


@contextmanager
def holding(task: str, *words: object) -> Iterator[int]:
    """Run a probe up to its answer, and keep it alive; yields its process id."""
    with tempfile.TemporaryFile("w+") as talk:
        probe = _start(talk, task, *words)
        assert probe.stdout is not None
        try:
            if not probe.stdout.readline():
                probe.wait()
                raise _failed(task, talk)
            yield probe.pid
        finally:
            probe.communicate()  # closes its stdin, which it waits for


def _start(
    talk: IO[str], task: str, *words: object, python: str = sys.executable
) -> subprocess.Popen[str]:
    module, _, name = task.partition(".")
    command = [python, "-m", f"benchmarks.{module}", name, *map(str, words)]
    return subprocess.Popen(
        command,
        cwd=checkout_of(python),
        env=environment_of(python),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=talk,
    )


def _read(probe: "subprocess.Popen[str]", task: str, answer: str, talk: IO[str]) -> Any:
    if probe.returncode:
        raise _failed(task, talk)
    return json.loads(answer)


def _failed(task: str, talk: IO[str]) -> RuntimeError:
    talk.seek(0)
    return RuntimeError(f"benchmarks.{task} failed:\n{talk.read()}")
