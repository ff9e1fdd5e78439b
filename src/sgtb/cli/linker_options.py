"""Options of commands that use a linker, and the linker they select."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgtb.cli.importing import imported
from sgtb.linking.mentions.mention_settings import MentionSettings

if TYPE_CHECKING:
    from sgtb.linking.link_options import LinkerSettings
    from sgtb.linking.linker import Linker

Model = Annotated[
    Path | None,
    typer.Option(
        "--model", metavar="FILE|DIR", exists=True,
        help="A model file (with --kb), or a folder of `sgtb pack`. Default: the bundled starter.",
    ),
]  # fmt: skip
Kb = Annotated[
    Path | None,
    typer.Option(
        "--kb", metavar="DIR", exists=True, file_okay=False,
        help="Folder of the knowledge base of the model.",
    ),
]  # fmt: skip
AsText = Annotated[
    bool, typer.Option("--text", help="Read arguments as text, even if files have these names.")
]
Fuzzy = Annotated[
    bool | None,
    typer.Option(
        "--fuzzy/--no-fuzzy", help="Match unknown names to similar ones; by default as in training."
    ),
]
AnyCase = Annotated[
    bool, typer.Option("--any-case", help="Also detect names without capital letters.")
]
MinLinkProbability = Annotated[
    float,
    typer.Option(
        "--min-link-probability", metavar="SHARE", min=0.0, max=1.0,
        help="Minimum share of a name's occurrences that are links, for detection.",
    ),
]  # fmt: skip
Nil = Annotated[
    float | None,
    typer.Option(
        "--nil", metavar="CONFIDENCE", min=0.0, max=1.0,
        help="Minimum confidence of a link; 0 links all names. Default: decided by the model.",
    ),
]  # fmt: skip
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
MIN_LINK_PROBABILITY = MentionSettings().min_link_probability


def check_pair(model: Path | None, kb: Path | None) -> None:
    """Raise a usage error if only one of model and knowledge base is given."""
    if model is None and kb is not None:
        raise typer.BadParameter("--kb needs --model; without both, the starter is used")
    if kb is None and model is not None and not model.is_dir():
        raise typer.BadParameter("--model needs --kb; without both, the starter is used")


def linker_settings(
    candidates: int,
    reasons: bool,
    fuzzy: bool | None,
    any_case: bool,
    min_link_probability: float,
    nil: float | None = None,
) -> "LinkerSettings":
    """Return the settings of the options."""
    # Not at the top, for a quick `sgtb --help`.
    imported("sgtb.linking.linker")
    from sgtb.linking.link_options import LinkerSettings

    return LinkerSettings(
        candidates=candidates,
        reasons=reasons,
        mentions=MentionSettings(capitals=not any_case, min_link_probability=min_link_probability),
        fuzzy=fuzzy,
        nil=nil,
    )


def open_linker(model: Path | None, kb: Path | None, settings: "LinkerSettings") -> "Linker":
    """Open the linker that the options select."""
    from sgtb.linking.linker import Linker

    return Linker.open(model, kb, settings)


def print_json(record: dict[str, Any]) -> None:
    """Print a line of JSON; non-ASCII characters are escaped unless the output is UTF-8."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(record, ensure_ascii=plain, allow_nan=False), flush=True)
