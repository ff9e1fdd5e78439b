"""The command `sgtb pack`: model, knowledge base and model card in one folder."""

import json
import sys
from pathlib import Path
from typing import Any

import typer

from sgtb.cli import options
from sgtb.cli.linker_options import check_pair
from sgtb.core.errors import SgtbError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def pack(
    folder: Path = typer.Argument(
        ..., metavar="FOLDER", help="The folder to write: a new or a packed one."
    ),
    model: Path | None = options.MODEL,
    kb: Path | None = options.KB,
    evaluation: Path | None = options.input_file(
        "FILE", "Output of `sgtb evaluate --json` for the model card."
    ),
    with_kb: bool = typer.Option(
        True, "--with-kb/--without-kb", help="Whether to include the knowledge base."
    ),
) -> None:
    """Put a trained linker into one folder, to share or to upload it.

    `sgtb link --model FOLDER` and Linker.from_pretrained use it. The model card, README.md, states
    the training data and the accuracy; the licence is left to you.

    \b
    Examples:
      sgtb pack my-linker --model my.model --kb my.kb --evaluation scores.json
      sgtb pack my-linker --kb my.kb
    """
    if model is None and kb is None:
        raise typer.BadParameter("give --model, --kb or both; `--model starter` packs the starter")
    check_pair(model, kb)
    measured = None if evaluation is None else _read(evaluation)
    from sgtb.linking.linker import Linker

    with Linker(model, kb) as linker:
        linker.save_pretrained(folder, measured, kb=with_kb)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size / 1e6:,.1f} MB", file=sys.stderr)


def _read(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise SgtbError(f"{path}: not JSON: {error}") from None
    if not isinstance(record, dict):
        raise SgtbError(f"{path}: not a JSON object as printed by `sgtb evaluate --json`")
    return record
