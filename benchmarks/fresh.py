"""Measurements that need a fresh process: peak memory and cold start.

This is the parent's side; `benchmarks.child` runs in the process itself.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import fit_line
from benchmarks.probes import checkout_of, environment_of


@dataclass(frozen=True)
class Training:
    """A training on a generated corpus.

    If only parts of it were trained on, `seconds` come from a line through their times against
    their candidates; the peak is that of the whole corpus with one tree.
    """

    seconds: float
    peak_rss_mb: float
    n_trees: int
    shares_of_corpus: list[float]
    shares_seconds: list[float]


@dataclass(frozen=True)
class LargeDocument:
    """Decoding one document; `extra_mb` is the peak above what the process had before."""

    mentions: int
    candidates: int
    n_trees: int
    seconds: float
    extra_mb: float
    peak_rss_mb: float


@dataclass(frozen=True)
class ColdStart:
    """Medians. `seconds`: import, load, first prediction; the process adds starting Python."""

    seconds: float
    process_seconds: float
    repeats: int


def train(
    plan: str,
    n_trees: int,
    n_documents: Sequence[int] = (),
    shape: str = "aida",
    python: str = sys.executable,
) -> Training:
    """Train in a fresh process, on so many typical documents or on all of them.

    shape   of the generated corpus: as AIDA's train with our features, or with the "paper"'s
    python  the interpreter, of this environment or of another
    """
    words = "train", plan, str(n_trees), shape, *map(str, n_documents)
    answer = _ask(*words, python=python)
    shares, seconds = answer["shares"], answer["seconds"]
    total = seconds[0] if not n_documents else whole_from_parts(shares, seconds)
    return Training(total, answer["peak_mb"], n_trees, shares, seconds)


def whole_from_parts(shares: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the time of the whole, on the line through the times of two or more parts of it.

    A line, because what a tree costs apart from the documents weighs more in a small part.
    """
    line = fit_line(shares, seconds)
    return line.intercept + line.slope


def large_document(model: Path, document: Path) -> LargeDocument:
    """Decode a saved document with a saved model."""
    return LargeDocument(**_ask("large", str(model), str(document)))


def cold_start(model: Path, document: Path, repeats: int) -> ColdStart:
    """Load and predict in a fresh process each time, after a first one."""
    _ask("cold", str(model), str(document))
    inside, whole = [], []
    for _ in range(repeats):
        begin = time.perf_counter()
        inside.append(_ask("cold", str(model), str(document))["seconds"])
        whole.append(time.perf_counter() - begin)
    return ColdStart(statistics.median(inside), statistics.median(whole), repeats)


def _ask(*words: str, python: str = sys.executable) -> Any:
    command = [python, "-m", "benchmarks.child", *words]
    done = subprocess.run(
        command, cwd=checkout_of(python), env=environment_of(python), capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"benchmarks.child {words[0]} failed:\n{done.stderr}")
    return json.loads(done.stdout)
