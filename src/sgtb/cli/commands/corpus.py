"""The commands `sgtb corpus …`: checks of annotated documents."""

from pathlib import Path

import typer

from sgtb.cli import train_options
from sgtb.cli.linker_options import print_json
from sgtb.cli.options import input_folder
from sgtb.cli.views.corpus_view import print_check
from sgtb.formats.survey import survey
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.training.gold_audit import GoldAudit

app = typer.Typer(no_args_is_help=True, help="Check annotated documents.", rich_markup_mode=None)


@app.callback()
def corpus() -> None:
    """Check annotated documents."""


@app.command("check")
def check(
    files: list[Path] = typer.Argument(..., metavar="FILE…", exists=True, help="Files or folders."),
    kb: Path | None = input_folder(
        "A knowledge base to check entities and candidates against.", metavar="KB"
    ),
    format: str | None = train_options.FORMAT_NAME,
    most: int = typer.Option(5, min=0, help="Problems of each kind to print."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per file."),
) -> None:
    """Find errors in annotated documents before training on them.

    Finds mentions that overlap, do not match the text, or cannot be linked.

    All problems are reported. With --kb also: entities missing from the knowledge base, with
    suggestions, and how many of the others are among the candidates of their mentions. Exit code 1
    if there are errors; missing entities are none.

    Example: sgtb corpus check train.jsonl dev.jsonl --kb companies
    """
    opened = None if kb is None else KnowledgeBase.open(kb)
    wrong = 0
    for file in files:
        audit = None if opened is None else GoldAudit(opened)
        found = survey(file, format, None if audit is None else audit.add)
        report = None if audit is None else audit.report()
        wrong += found.errors
        if as_json:
            print_json({**found.to_dict(), "kb": None if report is None else report.to_dict()})
        else:
            print_check(found, report, most)
    if wrong:
        raise typer.Exit(1)
