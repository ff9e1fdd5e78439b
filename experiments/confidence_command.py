"""The command `python -m experiments confidence`: how far answers on AIDA-CoNLL can be trusted."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table


def confidence(
    data: Annotated[
        Path,
        typer.Option(
            "--data", exists=True, file_okay=False, show_default=False,
            help="The folder that holds aida/ and pprforned/.",
        ),
    ],
    plan: Annotated[str, typer.Option(help="The plan to train.")] = "bsg",
    seed: Annotated[int, typer.Option(min=0, help="Decides folds and draws in training.")] = 0,
    trees: Annotated[
        int | None,
        typer.Option(min=1, help="Trees at most.", show_default="as reproduce aida"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="A folder for Markdown, JSON and figures."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Where models are kept.", show_default="~/.cache/sgtb"),
    ] = None,
    as_json_: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:  # fmt: skip
    """Measure confidence and NIL on AIDA-CoNLL: calibrated on dev, tested once.

    Linked mentions with PPRforNED's candidates; then all mentions looked up by name, with NIL
    decided by a threshold and as a candidate of its own.

    \b
    Examples:
      python -m experiments confidence --data data
      python -m experiments confidence --data data --out report --json
    """
    from experiments import confidence_aida as experiment
    from experiments import confidence_report as report
    from experiments.aida import checked_plans, unwatched
    from experiments.aida_data import AidaData, default_cache, silent
    from experiments.aida_linker import Trial
    from experiments.linker_cache import LinkerCache
    from sgtb.boosting.training_progress import TrainingBar

    (chosen,) = checked_plans([plan])
    say = silent if quiet else _say
    corpus = AidaData.read(data, say)
    kept = LinkerCache(cache or default_cache(), say)
    with kept.kb(corpus) as kb:
        result = experiment.run_confidence(
            corpus, kept, kb, Trial(chosen, seed, trees), unwatched if quiet else TrainingBar, say
        )
    record = report.as_json(result)
    if out is not None:
        report.write_report(result, record, out)
        say(f"written: {out}")
    if as_json_:
        print(json.dumps(record, indent=2))
        return
    console = Console()
    for title, headings, rows in (
        ("How sure answers are, AIDA-test", report.SURE_HEADINGS, report.sure_rows(record)),
        ("NIL, by name", report.NIL_HEADINGS, report.nil_rows(record)),
    ):
        console.print(_table(title, headings, rows))
    for note in report.notes(record):
        console.print(note, highlight=False)


def _table(title: str, headings: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Table:
    table = Table(title=title, box=box.SIMPLE, padding=(0, 0, 0, 1))
    for i, head in enumerate(headings):
        table.add_column(head, justify="right" if i else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _say(message: str) -> None:
    print(f"sgtb: {message}", file=sys.stderr, flush=True)
