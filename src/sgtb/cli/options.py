"""Options that several commands have."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.starter import STARTER

MIN_LINK_PROBABILITY = MentionSettings().min_link_probability


def existing_model(value: Any) -> Any:
    """Return the value of --model, one path or several; raises a usage error if one is missing."""
    for path in value if isinstance(value, list) else [value]:
        if path is not None and str(path) != STARTER and not path.exists():
            raise typer.BadParameter(
                f"{path}: no such file or folder; `{STARTER}` is the bundled model"
            )
    return value


def output_file(metavar: str, help: str, *names: str) -> Any:
    """Return the option of a file to write."""
    return typer.Option(*names, metavar=metavar, dir_okay=False, help=help)


def input_file(metavar: str | None, help: str, *names: str) -> Any:
    """Return the option of a file, or of several files, to read."""
    return typer.Option(*names, metavar=metavar, exists=True, dir_okay=False, help=help)


def input_argument(metavar: str, help: str) -> Any:
    """Return the argument of a file, or of several files, to read."""
    return typer.Argument(metavar=metavar, exists=True, dir_okay=False, help=help)


def _handling(choice: str) -> str:
    if choice not in ("stop", "skip"):
        raise typer.BadParameter(f"{choice!r} is none of stop, skip")
    return choice


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Processes = Annotated[int, typer.Option(metavar="N", min=1, max=256, help="Number of processes.")]
OnError = Annotated[
    str,
    typer.Option(
        metavar="stop|skip", callback=_handling,
        help="What to do with a mention, line or document that cannot be read: stop, or skip, "
        "count and list it.",
    ),
]  # fmt: skip

# A linker.
Model = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE|DIR|starter", callback=existing_model,
        help="A model file (with --kb), a folder of `sgtb pack`, or `starter`, the bundled one. "
        "Default: starter.",
    ),
]  # fmt: skip
Kb = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", exists=True, file_okay=False,
        help="Folder of the knowledge base. Without --model, the starter's model links to it.",
    ),
]  # fmt: skip
AsText = Annotated[
    bool, typer.Option("--text", help="Read arguments as text, even if files have these names.")
]
Fuzzy = Annotated[
    bool | None,
    typer.Option(help="Match unknown names to similar ones; by default as in training."),
]
AnyCase = Annotated[
    bool, typer.Option("--any-case", help="Also detect names without capital letters.")
]
MinLinkProbability = Annotated[
    float,
    typer.Option(
        metavar="SHARE", min=0.0, max=1.0,
        help="Minimum share of a name's occurrences that are links, for detection.",
    ),
]  # fmt: skip
Nil = Annotated[
    float | None,
    typer.Option(
        metavar="CONFIDENCE", min=0.0, max=1.0,
        help="Minimum confidence of a link; 0 links all names. Default: decided by the model.",
    ),
]  # fmt: skip

# A new knowledge base.
Out = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="KB",
        help="Folder to write; an existing knowledge base is replaced at the end.",
    ),
]  # fmt: skip
ListFile = Annotated[
    Path,
    input_argument("FILE", "JSON Lines, CSV or Excel; plain or compressed (gzip, bzip2, xz)."),
]
Sheet = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Sheet of an Excel file. Default: the first."),
]
SkipLinks = Annotated[
    bool, typer.Option("--skip-unknown-links", help="Ignore links to unknown ids.")
]
Variants = Annotated[
    Path | None,
    input_file(
        "FILE",
        "Own rules for variants of names: type or *, pattern and replacement, separated by tabs.",
    ),
]
NoVariants = Annotated[bool, typer.Option("--no-variants", help="Make no variants of names.")]
Workers = Annotated[int, typer.Option(min=1, max=256, help="Number of processes.")]
Memory = Annotated[
    int, typer.Option(min=256, help="Memory of the build in MB, besides that of the programs.")
]
Dimensions = Annotated[int, typer.Option(min=1, max=4096, help="Dimensions of trained vectors.")]
