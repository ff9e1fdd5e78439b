"""Options that several commands have, and the handler of --on-error."""

import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import typer

from sgtb.core.errors import KnowledgeBaseError, SgtbError
from sgtb.formats.error_handler import ErrorHandler
from sgtb.kb.layout import POINTER
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.starter import STARTER

DEFAULT_LINK_PROBABILITY = MentionSettings().min_link_probability


def existing_model(value: Any) -> Any:
    """Return the value of --model, one path or several; raises a usage error if one is missing."""
    for path in value if isinstance(value, list) else [value]:
        if path is not None and str(path) != STARTER and not path.exists():
            raise typer.BadParameter(
                f"{path}: no such file or folder; `{STARTER}` is the bundled model"
            )
    return value


def output_file(metavar: str, help: str, *names: str) -> Any:
    """Return the option of a file to write, None by default."""
    return typer.Option(None, *names, metavar=metavar, dir_okay=False, help=help)


def input_file(metavar: str | None, help: str, *names: str) -> Any:
    """Return the option of a file, or of several files, to read, None by default."""
    return typer.Option(None, *names, metavar=metavar, exists=True, dir_okay=False, help=help)


def input_folder(help: str, default: Any = None, metavar: str = "DIR") -> Any:
    """Return the option of a folder to read."""
    return typer.Option(default, metavar=metavar, exists=True, file_okay=False, help=help)


def share(help: str, default: float | None = None, metavar: str = "SHARE") -> Any:
    """Return the option of a number from 0 to 1."""
    return typer.Option(default, metavar=metavar, min=0.0, max=1.0, help=help)


def input_argument(metavar: str, help: str) -> Any:
    """Return the argument of a file, or of several files, to read."""
    return typer.Argument(..., metavar=metavar, exists=True, dir_okay=False, help=help)


def _handling(choice: str) -> str:
    if choice not in ("stop", "skip"):
        raise typer.BadParameter(f"{choice!r} is none of stop, skip")
    return choice


def _replaced(place: Path) -> Path:
    """Warn if a build will replace a knowledge base with changes of its own."""
    if (place / POINTER).exists():
        # Not at the top, for a quick `sgtb --help`.
        from sgtb.kb.knowledge_base import KnowledgeBase

        with suppress(KnowledgeBaseError), KnowledgeBase.open(place) as kb:
            changes = kb.state.generation
            if changes:
                print(
                    f"{place}: the build will replace this knowledge base and {changes} change(s) "
                    "made since it was built; `sgtb kb export` writes a list that has them",
                    file=sys.stderr,
                )
    return place


_LISTED = 20  # errors that are listed; all are counted


class DocumentErrors(ErrorHandler):
    """Handler of --on-error: stops, or skips and collects errors; files may be read again."""

    def __init__(self, choice: str) -> None:
        self._skips = choice == "skip"
        self._errors: dict[str, None] = {}

    def error(self, error: SgtbError) -> None:
        """Raise or collect an error."""
        if not self._skips:
            raise error
        self._errors[str(error)] = None

    def print(self) -> None:
        """Print number and list on standard error, if there are errors."""
        if not self._errors:
            return
        count = len(self._errors)
        more = "" if count <= _LISTED else f"; the first {_LISTED}"
        print(f"skipped, cannot be read: {count:,}{more}:", file=sys.stderr)
        for text in islice(self._errors, _LISTED):
            print(f"  {text}", file=sys.stderr, flush=True)


AS_JSON = typer.Option(False, "--json", help="Print one JSON object.")
QUIET = typer.Option(False, "--quiet", "-q", help="Show no progress.")
PROCESSES = typer.Option(1, metavar="N", min=1, max=256, help="Number of processes.")
ON_ERROR = typer.Option(
    "stop",
    metavar="stop|skip",
    callback=_handling,
    help="What to do with a mention, line or document that cannot be read: stop, or skip, "
    "count and list it.",
)

# A linker.
MODEL = typer.Option(
    None,
    metavar="FILE|DIR|starter",
    callback=existing_model,
    help="A model file (with --kb), a folder of `sgtb pack`, or `starter`, the bundled one. "
    "Default: starter.",
)
KB = input_folder("Folder of the knowledge base. Without --model, the starter's model links to it.")
AS_TEXT = typer.Option(
    False, "--text", help="Read arguments as text, even if files have these names."
)
FUZZY = typer.Option(None, help="Match unknown names to similar ones; by default as in training.")
ANY_CASE = typer.Option(False, "--any-case", help="Also detect names without capital letters.")
MIN_LINK_PROBABILITY = share(
    "Minimum share of a name's occurrences that are links, for detection.", DEFAULT_LINK_PROBABILITY
)
NIL = share(
    "Minimum confidence of a link; 0 links all names. Default: decided by the model.",
    metavar="CONFIDENCE",
)

# A new knowledge base.
OUT = typer.Option(
    ...,
    "--out",
    "-o",
    metavar="KB",
    callback=_replaced,
    help="Folder to write; an existing knowledge base is replaced at the end.",
)
LIST_FILE = input_argument(
    "FILE", "JSON Lines, CSV or Excel; plain or compressed (gzip, bzip2, xz)."
)
SHEET = typer.Option(None, metavar="NAME", help="Sheet of an Excel file. Default: the first.")
SKIP_LINKS = typer.Option(False, "--skip-unknown-links", help="Ignore links to unknown ids.")
VARIANTS = input_file(
    "FILE",
    "Own rules for variants of names: type or *, pattern and replacement, separated by tabs.",
)
NO_VARIANTS = typer.Option(False, "--no-variants", help="Make no variants of names.")
WORKERS = typer.Option(1, min=1, max=256, help="Number of processes.")
MEMORY = typer.Option(
    1024, min=256, help="Memory of the build in MB, besides that of the programs."
)
DIMENSIONS = typer.Option(100, min=1, max=4096, help="Dimensions of trained vectors.")
