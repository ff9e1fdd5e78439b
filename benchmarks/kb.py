"""Benchmark of the knowledge base: look-ups compared with SQLite, builds, memory, sizes on disk.

    python -m benchmarks.kb                   tables
    python -m benchmarks.kb --json FILE       also one JSON object
    python -m benchmarks.kb --quick           in less than 90 seconds, on less, without vectors
    python -m benchmarks.kb --only lookups    one part: lookups, build, memory, vectors
    python -m benchmarks.kb --baseline PYTHON also the look-ups of another version

PYTHON is CHECKOUT/.venv/bin/python of that version. It builds a knowledge base from the same list,
and looks up the same names alternately.

Everything is generated, or made of the real dumps in $SGTB_DATA, and measured in this one run.
"""

import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import lmdb
import typer
from rich.console import Console

from benchmarks.kb_build import BuildExtent, measure_build, measure_memory, measure_vectors
from benchmarks.kb_generated import ListShape
from benchmarks.kb_lookups import LookupExtent, measure_lookups
from benchmarks.kb_sizing import LIST, computed, measured_units
from benchmarks.kb_table import print_tables
from benchmarks.machine import load, machine
from benchmarks.measure import rounded

_talk = Console(stderr=True, highlight=False)
_BEGIN = time.perf_counter()


class Part(StrEnum):
    """Parts that can be measured alone."""

    lookups = "lookups"
    build = "build"
    memory = "memory"
    vectors = "vectors"


@dataclass(frozen=True)
class Extent:
    """Extent of the measurements."""

    quick: bool
    lookups: LookupExtent
    build: BuildExtent


FULL = Extent(
    False,
    LookupExtent(ListShape(1_000_000), opens=9, batches=20, turns=3),
    BuildExtent(100_000_000, 12.0, (210_000_000, 2_100_000_000), 20_000_000),
)
QUICK = Extent(
    True,
    LookupExtent(ListShape(100_000), opens=3, batches=5, turns=1),
    BuildExtent(20_000_000, 3.0, (20_000_000, 40_000_000), 5_000_000),
)


def measure(extent: Extent, parts: list[Part], folder: Path) -> dict[str, Any]:
    """Measure some parts in a folder and return one record, ready for JSON."""
    on = machine(
        load_at_start=load(),
        lmdb=".".join(map(str, lmdb.version())),
        sqlite=sqlite3.sqlite_version,
    )
    result: dict[str, Any] = {"quick": extent.quick, "machine": on}
    todo: dict[Part, Callable[[], dict[str, Any]]] = {
        Part.lookups: lambda: measure_lookups(extent.lookups, folder, _say),
        Part.build: lambda: measure_build(extent.build, folder, _say),
        Part.memory: lambda: measure_memory(extent.build, folder, _say),
        Part.vectors: lambda: measure_vectors(extent.build, folder, _say),
    }
    for part in parts:
        result[part.value] = todo[part]()
    if Part.lookups in parts:
        known = {LIST: result["lookups"]["sizes"]}
        if Part.build in parts:
            known["wiki, linked titles too"] = result["build"]["sizes"]
        if Part.vectors in parts:
            known["wiki with vectors"] = result["vectors"]["sizes"]
        units = measured_units(known, folder, _say, extent.quick)
        result["sizing"] = {"measured": units, "computed": computed(units)}
    result["benchmark_seconds"] = time.perf_counter() - _BEGIN
    done: dict[str, Any] = rounded(result)
    return done


def _say(what: str) -> None:
    _talk.print(f"{time.perf_counter() - _BEGIN:6.1f} s  {what}")


@contextmanager
def _working_folder(given: Path | None) -> Iterator[Path]:
    """Yield a working folder; a given one is kept, with the generated list in it."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="sgtb-bench-") as folder:
        yield Path(folder).resolve()


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Take less than 90 seconds.")] = False,
    only: Annotated[Part | None, typer.Option(help="Measure one part only.")] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write one JSON object here.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Work here, and keep the generated list.")
    ] = None,
    dump_mb: Annotated[
        int | None,
        typer.Option(help="XML of the larger dump that memory is measured on; 1 GB: 2 minutes."),
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="Interpreter of another version, CHECKOUT/.venv/bin/python.")
    ] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Measure the knowledge base."""
    extent = QUICK if quick else FULL
    if baseline:
        other = os.path.abspath(baseline)
        extent = replace(extent, lookups=replace(extent.lookups, baseline=other))
    if dump_mb is not None:
        dumps = (dump_mb * 100_000, dump_mb * 1_000_000)
        extent = replace(extent, build=replace(extent.build, memory_dumps=dumps))
    parts = [only] if only else [part for part in Part if not quick or part != Part.vectors]
    with _working_folder(folder) as place:
        result = measure(extent, parts, place)
    if json_file is not None:
        json_file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    width = None if sys.stdout.isatty() else 130  # only a terminal has a width
    print_tables(result, Console(width=width), markdown)


if __name__ == "__main__":
    typer.run(main)
