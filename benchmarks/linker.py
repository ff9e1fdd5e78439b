"""Benchmark of the linker: documents per second, latency, stages, memory, cold start.

    python -m benchmarks.linker                   tables
    python -m benchmarks.linker --json FILE       also one JSON object
    python -m benchmarks.linker --quick           on less, in less than 90 seconds
    python -m benchmarks.linker --only latency    one part: see Part

AIDA-CoNLL is read from $SGTB_DATA; without it only memory and a cold start are measured. Models and
knowledge bases are cached in a folder: the first run takes minutes longer.
"""

import json
import sys
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.dump_repeated import data_folder
from benchmarks.kb_generated import ListShape
from benchmarks.linker_aida import TRIAL, AidaSubjects, aida_subjects
from benchmarks.linker_fresh import FreshExtent, measure_cold, measure_memory
from benchmarks.linker_speed import Subject, latency, median_document, throughput
from benchmarks.linker_stages import stages
from benchmarks.linker_table import print_tables
from benchmarks.machine import load, machine
from benchmarks.measure import rounded
from experiments.aida_data import AidaData, default_cache
from sgtb.core.errors import CorpusError

_talk = Console(stderr=True, highlight=False)
_BEGIN = time.perf_counter()


class Part(StrEnum):
    """Parts that can be measured alone."""

    spans = "spans"
    texts = "texts"
    latency = "latency"
    stages = "stages"
    memory = "memory"
    cold = "cold"


OF_AIDA = (Part.spans, Part.texts, Part.latency, Part.stages)


@dataclass(frozen=True)
class Extent:
    """Extent of the measurements.

    train   documents of AIDA that models are trained on; None: all
    test    documents that are linked; None: all
    passes  over these, after a first one
    """

    quick: bool
    train: int | None
    test: int | None
    passes: int
    calls: int
    fresh: FreshExtent


FULL = Extent(False, None, None, 9, 300, FreshExtent(ListShape(1_000_000), 200, 200, 5))
QUICK = Extent(True, 60, 96, 1, 50, FreshExtent(ListShape(100_000), 40, 60, 2))


def measure(extent: Extent, parts: list[Part], folder: Path) -> dict[str, Any]:
    """Measure some parts and return one record, ready for JSON."""
    result: dict[str, Any] = {"quick": extent.quick, "machine": machine(load_at_start=load())}
    subjects = _subjects(extent, folder) if any(part in OF_AIDA for part in parts) else None
    if subjects is not None:
        result["aida"] = {
            "documents": len(subjects.documents), "trained_on": subjects.trained_on,
            "plan": TRIAL.plan, "trees": subjects.n_trees,
        }  # fmt: skip
    for part in parts:
        if part in OF_AIDA:
            measured = None if subjects is None else _of_aida(part, subjects, extent)
        elif part == Part.memory:
            measured = measure_memory(extent.fresh, folder, _say)
        else:
            measured = measure_cold(extent.fresh, _say)
        if measured is not None:
            result[part.value] = measured
    result["benchmark_seconds"] = time.perf_counter() - _BEGIN
    done: dict[str, Any] = rounded(result)
    return done


def _subjects(extent: Extent, folder: Path) -> AidaSubjects | None:
    try:
        data = AidaData.read(data_folder(), _say)
    except CorpusError as error:
        _say(f"AIDA is skipped: {error}")
        return None
    return aida_subjects(data, folder, extent.train, extent.test, _say)


def _of_aida(part: Part, subjects: AidaSubjects, extent: Extent) -> dict[str, Any]:
    _say(f"{part} ...")
    if part == Part.spans:
        return _runs(subjects.spans, extent, ((1, False), (2, False), (1, True)))
    if part == Part.texts:
        return _runs(subjects.texts, extent, ((1, False), (1, True)))
    if part == Part.stages:
        return {"spans": stages(subjects.spans), "texts": stages(subjects.texts)}
    text = median_document(subjects.documents).text
    result: dict[str, Any] = {"characters": len(text)}
    for name, reasons in (("plain", False), ("reasons", True)):
        with subjects.texts.linker(reasons) as linker:
            result[name] = latency(linker, text, extent.calls)
    return result


def _runs(subject: Subject, extent: Extent, runs: tuple[tuple[int, bool], ...]) -> dict[str, Any]:
    return {
        f"{'reasons' if reasons else 'plain'} {jobs}": throughput(
            subject, jobs, extent.passes, reasons
        )
        for jobs, reasons in runs
    }


def _say(what: str) -> None:
    _talk.print(f"{time.perf_counter() - _BEGIN:6.1f} s  {what}")


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Take less than 90 seconds.")] = False,
    only: Annotated[Part | None, typer.Option(help="Measure one part only.")] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write one JSON object here.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Keep models and knowledge bases here.", show_default="~/.cache/sgtb"),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Measure the linker."""
    place = (folder or default_cache()).resolve()
    place.mkdir(parents=True, exist_ok=True)
    result = measure(QUICK if quick else FULL, [only] if only else list(Part), place)
    if json_file is not None:
        json_file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    width = None if sys.stdout.isatty() else 130  # only a terminal has a width
    print_tables(result, Console(width=width), markdown)


if __name__ == "__main__":
    typer.run(main)
