"""Two versions of the package, measured alternately in one run.

    SGTB_BASELINE_PYTHON=PYTHON python -m benchmarks.versions     a table
    ... --json FILE                                               also one JSON object
    ... --quick                                                   smaller
    ... --only training                                           one part: see Part

PYTHON is CHECKOUT/.venv/bin/python of another version, which runs the benchmarks of
its own checkout; `make baseline-env` creates one. Every figure is measured in a new process, of
this version and of the other in turn, so that load on the machine affects both. Without another
version there are no ratios. benchmarks/versions.json is the record that the documentation shows:
this version, and the last one with just-in-time compilation (1aca5d3).
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.dump_repeated import data_folder
from benchmarks.fresh import train
from benchmarks.history import HISTORY, append, comparison, last_of_kind, record_of
from benchmarks.linker_fresh import TEXT, command_seconds
from benchmarks.measure import rounded
from benchmarks.probes import ask
from experiments.aida_data import default_cache

OURS, OTHERS = "this version", "baseline"
_BEGIN = time.perf_counter()
_talk = Console(stderr=True, highlight=False)

Figures = dict[str, float]
"""Figures of one version, by the key of their row."""


class Part(StrEnum):
    """Parts that can be measured alone."""

    training = "training"
    linking = "linking"
    starting = "starting"
    installing = "installing"


ONCE = (Part.installing,)
"""Parts that one process of each version is enough for."""


@dataclass(frozen=True)
class Extent:
    """Extent of the measurements.

    rounds       processes of each version, for each figure
    trees        of bsg; bibsg grows twice as many
    train, test  documents of AIDA; 0: all
    passes       over the test documents, after a first one
    """

    quick: bool
    rounds: int
    trees: int
    train: int
    test: int
    passes: int


FULL = Extent(False, 3, 250, 0, 0, 9)
QUICK = Extent(True, 1, 25, 60, 96, 2)


@dataclass(frozen=True)
class Row:
    """A row of the table.

    key   of its figure
    more  whether more is better
    """

    key: str
    label: str
    form: str
    more: bool = False


_SECONDS, _SPEED = "{:.2f} s", "{:,.0f} docs/s"
ROWS = (
    Row("bsg", "training bsg, {trees} trees", _SECONDS),
    Row("bibsg", "training bibsg, {twice} trees", _SECONDS),
    Row("paper", "training bsg, {trees} trees, paper-shaped", _SECONDS),
    Row("spans_two", "AIDA test, spans, two processes", _SPEED, more=True),
    Row("spans", "AIDA test, spans, one process", _SPEED, more=True),
    Row("spans_first", "  spans, first pass of a new linker", _SPEED, more=True),
    Row("text", "AIDA test, plain text, one process", _SPEED, more=True),
    Row("text_first", "  plain text, first pass of a new linker", _SPEED, more=True),
    Row("reasons_ms", "  extra processor time for reasons", "{:.2f} ms a document"),
    Row("command", "sgtb link TEXT, new process", _SECONDS),
    Row("import", "import of the linker", _SECONDS),
    Row("starter", "import, Linker.starter() and first link", _SECONDS),
    Row("starter_mb", "  resident memory with the starter", "{:.0f} MB"),
    Row("installed_mb", "installed, with all requirements", "{:.0f} MB"),
    Row("command_first", "sgtb link TEXT, first after installation", _SECONDS),
)


def training(extent: Extent, python: str, folder: Path) -> Figures:
    """Train on generated corpora."""
    runs = (("bsg", "bsg", 1, "aida"), ("bibsg", "bibsg", 2, "aida"), ("paper", "bsg", 1, "paper"))
    return {
        key: train(plan, times * extent.trees, shape=shape, python=python).seconds
        for key, plan, times, shape in runs
    }


def linking(extent: Extent, python: str, folder: Path) -> Figures:
    """Link AIDA's test documents."""
    words = folder, extent.train, extent.test, extent.passes
    return linking_figures(ask("linker_probe.aida", *words, python=python)["runs"])


def linking_figures(runs: Mapping[str, Mapping[str, float]]) -> Figures:
    """Return the figures of the runs of `linker_probe.aida`."""
    spans, text, reasons = runs["spans"], runs["text"], runs["text, reasons"]
    return {
        "spans_two": runs["spans, 2 processes"]["docs_per_second"],
        "spans": spans["docs_per_second"],
        "spans_first": spans["first_docs_per_second"],
        "text": text["docs_per_second"],
        "text_first": text["first_docs_per_second"],
        # Differences of wall times would depend more on other programs.
        "reasons_ms": reasons["processor_ms"] - text["processor_ms"],
    }


def starting(extent: Extent, python: str, folder: Path) -> Figures:
    """Start processes; the second one counts, when files are in memory and caches are filled."""
    for _ in range(2):
        command = command_seconds("link", TEXT, python=python)
        answer = ask("linker_probe.first_link", TEXT, python=python)
    return {
        "command": command,
        "import": answer["import_seconds"],
        "starter": answer["seconds"],
        "starter_mb": answer["rss_mb"],
    }


def installing(extent: Extent, python: str, folder: Path) -> Figures:
    """Add up the files of an installation, and link a text as if it had just been made."""
    size = ask("linker_probe.install_size", python=python)["mb"]
    with tempfile.TemporaryDirectory() as empty:  # numba's kernels are not yet compiled there
        first = command_seconds("link", TEXT, python=python, env={"NUMBA_CACHE_DIR": empty})
    return {"installed_mb": size, "command_first": first}


_MEASURES: Mapping[Part, Callable[[Extent, str, Path], Figures]] = {
    Part.training: training,
    Part.linking: linking,
    Part.starting: starting,
    Part.installing: installing,
}


def measure(
    extent: Extent, parts: Iterable[Part], pythons: Mapping[str, str], folder: Path
) -> dict[str, Any]:
    """Measure some parts; return the median of every figure, by version and row.

    pythons  the interpreters, by the names of their versions
    """
    result: dict[str, Figures] = {version: {} for version in pythons}
    for part in parts:
        taken: dict[str, list[Figures]] = {version: [] for version in pythons}
        for i in range(1 if part in ONCE else extent.rounds):
            turn = list(pythons.items())
            for version, python in turn if i % 2 == 0 else turn[::-1]:
                _talk.print(f"{time.perf_counter() - _BEGIN:6.1f} s  {part} {i + 1}, {version} ...")
                taken[version].append(_MEASURES[part](extent, python, folder))
        for version, figures in taken.items():
            result[version] |= medians(figures)
    done: dict[str, Any] = rounded(
        {"quick": extent.quick, "rounds": extent.rounds, "trees": extent.trees, **result}
    )
    return done


def medians(figures: list[Figures]) -> Figures:
    """Return the median of every figure."""
    return {key: statistics.median(one[key] for one in figures) for key in figures[0]}


def ratio(row: Row, ours: float, others: float) -> float:
    """Return the ratio of the two versions, above 1 if this one is better."""
    return ours / others if row.more else others / ours


def table_of(result: Mapping[str, Any]) -> Table:
    """Return the table; without another version it has no ratios."""
    ours, others = result[OURS], result.get(OTHERS)
    table = Table("measured", title=f"sgtb{', quick run' * result['quick']}")
    for column in (OURS,) if others is None else (OTHERS, OURS, "ratio"):
        table.add_column(column, justify="right")
    for row in ROWS:
        if row.key not in ours:
            continue
        label = row.label.format(trees=result["trees"], twice=2 * result["trees"])
        own = row.form.format(ours[row.key])
        if others is None:
            table.add_row(label, own)
        else:
            times = ratio(row, ours[row.key], others[row.key])
            table.add_row(label, row.form.format(others[row.key]), own, f"× {times:.2f}")
    return table


def markdown_of(result: Mapping[str, Any], keys: Collection[str] = ()) -> str:
    """Return the table in Markdown; only some rows if their keys are given."""
    ours, others = result[OURS], result[OTHERS]
    lines = ["| | before | sgtb | times better |", "|---|--:|--:|--:|"]
    for row in ROWS:
        if keys and row.key not in keys:
            continue
        label = row.label.format(trees=result["trees"], twice=2 * result["trees"]).strip()
        cells = (row.form.format(version[row.key]) for version in (others, ours))
        times = ratio(row, ours[row.key], others[row.key])
        lines.append(f"| {label} | {' | '.join(cells)} | {times:.1f} |")
    return "\n".join(lines)


def notes_of(result: Mapping[str, Any]) -> list[str]:
    """Return notes on the measurement."""
    return [
        f"Medians of {result['rounds']} processes of each version, by turns. Ratio: how many times "
        "better this version is.",
        "Installation: one process. It finds nothing that another one left in a cache.",
        "Trainings: two threads, generated corpora of 946 documents. Paper-shaped: 19 local and 3 "
        "pair features, 18,448 mentions of 11 candidates, trees of depth 3, beams of 4.",
    ]


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Measure less.")] = False,
    only: Annotated[Part | None, typer.Option(help="Measure one part only.")] = None,
    baseline: Annotated[
        str, typer.Option(envvar="SGTB_BASELINE_PYTHON", help="Interpreter of another version.")
    ] = "",
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write one JSON object here.")
    ] = None,
    history: Annotated[
        bool, typer.Option("--history", help="Append to benchmarks/history.jsonl and compare.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option(help="Keep models here.", show_default="~/.cache/sgtb")
    ] = None,
) -> None:
    """Measure this version and another one."""
    place = (folder or default_cache()).resolve()
    os.environ["SGTB_DATA"] = str(data_folder())  # the other version runs in another folder
    place.mkdir(parents=True, exist_ok=True)
    pythons = {OURS: sys.executable}
    if baseline:
        pythons = {OTHERS: os.path.abspath(baseline), **pythons}
    else:
        _talk.print("no SGTB_BASELINE_PYTHON: no ratios; `make baseline-env` makes an environment")
    extent = QUICK if quick else FULL
    result = measure(extent, [only] if only else list(Part), pythons, place)
    if json_file is not None:
        json_file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    width = None if sys.stdout.isatty() else 110
    console = Console(width=width)
    console.print(table_of(result))
    for note in notes_of(result):
        console.print(f"- {note}", highlight=False)
    if history and not quick and only is None:
        record = record_of(result[OURS])
        before = last_of_kind(HISTORY, record["machine"])
        append(record)
        if before is not None:
            console.print(comparison(before, record))


if __name__ == "__main__":
    typer.run(main)
