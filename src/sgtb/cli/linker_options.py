"""The linker that a command asks for, and the options that say which."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgtb.cli.importing import imported
from sgtb.linking.mentions.mention_detection import MentionSettings

if TYPE_CHECKING:
    from sgtb.linking.link_options import LinkerSettings
    from sgtb.linking.linker import Linker

Model = Annotated[
    Path | None,
    typer.Option(
        "--model", metavar="FILE|DIR", exists=True, show_default=False,
        help="A trained model, with --kb, or a folder of `sgtb pack`; without: the starter that "
        "comes with sgtb.",
    ),
]  # fmt: skip
Kb = Annotated[
    Path | None,
    typer.Option(
        "--kb", metavar="DIR", exists=True, file_okay=False, show_default=False,
        help="The folder of a knowledge base, with --model.",
    ),
]  # fmt: skip
AsText = Annotated[
    bool, typer.Option("--text", help="Link the argument itself, even if a file has its name.")
]
Fuzzy = Annotated[
    bool, typer.Option("--fuzzy", help="Where no name fits, look for names spelt nearly so.")
]
AnyCase = Annotated[
    bool, typer.Option("--any-case", help="Find names without capital letters, too.")
]
MinLinkProbability = Annotated[
    float,
    typer.Option(
        "--min-link-probability", metavar="SHARE", min=0.0, max=1.0,
        help="Leave out names that are a link on a smaller share of the pages that have them.",
    ),
]  # fmt: skip
Nil = Annotated[
    float | None,
    typer.Option(
        "--nil", metavar="CONFIDENCE", min=0.0, max=1.0, show_default=False,
        help="Link no name with less confidence; 0 links all. Without: as the model learned to.",
    ),
]  # fmt: skip
MIN_LINK_PROBABILITY = MentionSettings().min_link_probability


def check_pair(model: Path | None, kb: Path | None) -> None:
    """Raise a usage error if one of both is missing: a model fits the base it was trained with."""
    if model is None and kb is not None:
        raise typer.BadParameter("--kb needs --model; without both, the starter is used")
    if kb is None and model is not None and not model.is_dir():
        raise typer.BadParameter("--model needs --kb; without both, the starter is used")


def linker_settings(
    candidates: int,
    reasons: bool,
    fuzzy: bool,
    any_case: bool,
    min_link_probability: float,
    nil: float | None = None,
) -> "LinkerSettings":
    """Return the settings that options ask for; what they leave open is as in the library."""
    # Not at the top: `sgtb --help` should not wait for it.
    imported("sgtb.linking.linker")
    from sgtb.linking.link_options import LinkerSettings

    return LinkerSettings(
        candidates=candidates,
        reasons=reasons,
        mentions=MentionSettings(capitals=not any_case, min_link_probability=min_link_probability),
        near_names=fuzzy,
        nil=nil,
    )


def open_linker(model: Path | None, kb: Path | None, settings: "LinkerSettings") -> "Linker":
    """Open the linker of a model and a knowledge base, or the starter."""
    from sgtb.linking.linker import Linker

    if model is None:
        linker = Linker.starter(settings)
    elif model.is_dir():
        linker = Linker.from_pretrained(model, settings, kb)
    else:
        assert kb is not None, "see check_pair"
        linker = Linker.load(model, kb, settings)
    return linker


def print_json(record: dict[str, Any]) -> None:
    """Print one line of JSON, at once; characters as they are where the output can have them."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(record, ensure_ascii=plain, allow_nan=False), flush=True)
