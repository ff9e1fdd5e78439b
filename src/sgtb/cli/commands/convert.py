"""The command `sgtb convert`: conversion of annotated documents."""

from operator import attrgetter
from pathlib import Path

import typer

from sgtb.cli import options
from sgtb.cli.linker_options import print_json
from sgtb.cli.train_options import checked_format
from sgtb.cli.views.progress_views import DocumentCounter
from sgtb.formats.conversion import Conversion
from sgtb.formats.conversion import convert as convert_file
from sgtb.formats.registry import FORMATS

app = typer.Typer(add_completion=False, rich_markup_mode=None)
_NAMES = ", ".join(FORMATS)


@app.command()
def convert(
    source: Path = typer.Argument(..., metavar="IN", exists=True, help="A file or folder to read."),
    target: Path = typer.Argument(
        ..., metavar="OUT", help="File to write; .gz, .bz2 and .xz are compressed. WNED: a folder."
    ),
    source_format: str | None = typer.Option(
        None,
        "--from",
        metavar="FORMAT",
        callback=checked_format,
        help=f"Format of IN: {_NAMES}. Default: detected from the content.",
    ),
    target_format: str | None = typer.Option(
        None,
        "--to",
        metavar="FORMAT",
        callback=checked_format,
        help="Format of OUT. Default: by its suffix.",
    ),
    on_error: str = options.ON_ERROR,
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Convert annotated documents to another format, and say what is lost.

    The formats are those of docs/guide/formats.md. Suffixes of OUT: .jsonl, .zelda.jsonl,
    .blink.jsonl, .kilt.jsonl, .elevant.jsonl, .tsv (AIDA), .ttl (NIF), .spacy (DocBin); a name
    without suffix is a folder (WNED).

    Example: sgtb convert AIDA-YAGO2-dataset.tsv aida.jsonl
    """
    counter = DocumentCounter(quiet, noun="mention", parts=attrgetter("mentions"))
    handler = options.DocumentErrors(on_error)
    done = convert_file(source, target, source_format, target_format, counter.passing, handler)
    handler.print()
    if as_json:
        print_json(done.to_dict())
    else:
        _print(done)


def _print(done: Conversion) -> None:
    print(
        f"read {done.source}, {done.source_format}: {done.documents:,} documents, "
        f"{done.mentions:,} mentions"
    )
    print(f"wrote {done.target}, {done.target_format}: {done.written:,} documents")
    if done.losses:
        print(f"not representable in {done.target_format}, left out:")
        for what, times in done.losses.items():
            print(f"  {times:,} {what}")
