"""The linker that the options of a command select, and its output as JSON."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sgtb.cli.importing import imported
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.starter import STARTER

if TYPE_CHECKING:
    from sgtb.cli.views.link_view import Describe
    from sgtb.kb.knowledge_base import KnowledgeBase
    from sgtb.linking.link_options import LinkerSettings
    from sgtb.linking.linker import Linker


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


def open_linker(
    model: Path | None, kb: Path | None, settings: "LinkerSettings", quiet: bool = False
) -> "Linker":
    """Open the linker that the options select.

    Data that the knowledge base lacks is named on standard error.
    """
    from sgtb.linking.linker import Linker

    linker = Linker(model, kb, settings)
    lacking = [] if quiet else linker.lacking_evidence
    if lacking:
        print(
            f"{linker.kb.path} has no {' and no '.join(lacking)}, which the model was trained "
            "with: names and the remaining data decide",
            file=sys.stderr,
        )
    return linker


def print_json(record: dict[str, Any]) -> None:
    """Print a line of JSON; non-ASCII characters are escaped unless the output is UTF-8."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(record, ensure_ascii=plain, allow_nan=False), flush=True)
