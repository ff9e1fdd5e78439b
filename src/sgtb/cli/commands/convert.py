"""The command `sgtb convert`: annotated documents of one format written in another."""

import json
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import typer

from sgtb.cli.views.document_counter import Counter
from sgtb.formats.conversion import Conversion
from sgtb.formats.conversion import convert as convert_file
from sgtb.formats.registry import FORMATS

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
_NAMES = ", ".join(FORMATS)


def checked_format(name: str | None) -> str | None:
    """Return the name of a format, unless there is none of that name."""
    if name is not None and name not in FORMATS:
        raise typer.BadParameter(f"{name!r} is none of {_NAMES}")
    return name


@app.command()
def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", exists=True, help="A file or folder to read.")
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="The file to write; .gz, .bz2 and .xz are packed. WNED: a folder."
        ),
    ],
    source_format: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FORMAT", callback=checked_format, show_default=False,
            help=f"The format of IN: {_NAMES}; without, it is found out.",
        ),
    ] = None,
    target_format: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="FORMAT", callback=checked_format, show_default=False,
            help="The format of OUT; without, what its name ends in tells.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:  # fmt: skip
    """Write annotated documents in another format, and say what it could not hold.

    Endings of OUT: .jsonl, .zelda.jsonl, .blink.jsonl,
    .kilt.jsonl, .elevant.jsonl, .tsv (AIDA), .ttl (NIF), .spacy (DocBin); a name without an ending
    is that of a folder (WNED).

    Example: sgtb convert AIDA-YAGO2-dataset.tsv aida.jsonl
    """
    counter = Counter(quiet, noun="mention", parts=attrgetter("mentions"))
    done = convert_file(source, target, source_format, target_format, counter.passing)
    if as_json:
        print(json.dumps(done.to_dict()))
    else:
        _say(done)


def _say(done: Conversion) -> None:
    print(
        f"read {done.source}, {done.source_format}: {done.documents:,} documents, "
        f"{done.mentions:,} mentions"
    )
    print(f"wrote {done.target}, {done.target_format}: {done.written:,} documents")
    if done.losses:
        print(f"{done.target_format} cannot hold, and the file has not:")
        for what, times in done.losses.items():
            print(f"  {times:,} {what}")
