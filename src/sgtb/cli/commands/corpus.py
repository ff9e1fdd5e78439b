"""The commands `sgtb corpus …`: annotated documents looked over."""

from pathlib import Path
from typing import Annotated

import typer

from sgtb.cli.commands.convert import checked_format
from sgtb.cli.linker_options import print_json
from sgtb.cli.views.corpus_view import print_check
from sgtb.formats.registry import FORMATS
from sgtb.formats.survey import survey
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.training.gold_audit import GoldAudit

app = typer.Typer(
    no_args_is_help=True,
    help="Annotated documents: what is in them, and what is wrong with them.",
    rich_markup_mode="rich",
)


@app.callback()
def corpus() -> None:
    """Annotated documents: what is in them, and what is wrong with them."""


@app.command("check")
def check(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", exists=True, help="Files or folders.")
    ],
    kb: Annotated[
        Path | None,
        typer.Option(
            "--kb", metavar="KB", exists=True, file_okay=False, show_default=False,
            help="A knowledge base: are the entities in it, and can their mentions be linked?",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMAT", callback=checked_format, show_default=False,
            help=f"The format of all files: {', '.join(FORMATS)}; without, it is found out.",
        ),
    ] = None,
    most: Annotated[
        int, typer.Option("--most", min=0, help="How many problems of a kind to print.")
    ] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a file.")] = False,
) -> None:  # fmt: skip
    """Look for mentions that overlap, that do not match the text, or that cannot be linked.

    Everything that is wrong is told, not just the first of it. With --kb: entities that the
    knowledge base lacks, and what may be meant instead; how many of the others are among the
    candidates of their names. Ends with 1 if anything is wrong; an entity that the knowledge base
    lacks is not.

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
