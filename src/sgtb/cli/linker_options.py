"""Options of commands that use a linker, and the linker they select."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgtb.cli.importing import imported
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.starter import STARTER

if TYPE_CHECKING:
    from sgtb.cli.views.link_view import Describe
    from sgtb.kb.knowledge_base import KnowledgeBase
    from sgtb.linking.link_options import LinkerSettings
    from sgtb.linking.linker import Linker


def existing_model(value: Any) -> Any:
    """Return the value of --model, one path or several; raises a usage error if one is missing."""
    for path in value if isinstance(value, list) else [value]:
        if path is not None and str(path) != STARTER and not path.exists():
            raise typer.BadParameter(
                f"{path}: no such file or folder; `{STARTER}` is the bundled model"
            )
    return value


Model = Annotated[
    Path | None,
    typer.Option(
        "--model", metavar="FILE|DIR|starter", callback=existing_model,
        help="A model file (with --kb), a folder of `sgtb pack`, or `starter`, the bundled one. "
        "Default: starter.",
    ),
]  # fmt: skip
Kb = Annotated[
    Path | None,
    typer.Option(
        "--kb", metavar="DIR", exists=True, file_okay=False,
        help="Folder of the knowledge base. Without --model, the starter's model links to it.",
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


def check_pair(model: Path | None, kb: Path | None, quiet: bool = False) -> None:
    """Raise a usage error for a model file without a knowledge base.

    A knowledge base without a model is used with the starter's, with a note on standard error.
    """
    if model is None and kb is not None and not quiet:
        print(f"no --model given: the starter's model links to {kb}", file=sys.stderr)
    if kb is None and model is not None and str(model) != STARTER and not model.is_dir():
        raise typer.BadParameter("--model needs --kb, unless it is a packed folder or `starter`")


def describer(kb: "KnowledgeBase") -> "Describe":
    """Return a function from the id of an entity to its description."""

    def describe(id: str) -> str:
        number = kb.number(id)
        return "" if number is None else kb.description_of(number)

    return describe


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
