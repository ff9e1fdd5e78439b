"""The linker that a command asks for, and the options that say which."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgtb.linking.mentions import MentionSettings

if TYPE_CHECKING:
    from sgtb.linking.linker import Linker, LinkerSettings

Model = Annotated[
    Path | None,
    typer.Option(
        "--model", metavar="FILE", exists=True, dir_okay=False, show_default=False,
        help="A trained model, with --kb; without both: the starter that comes with sgtb.",
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
_PATIENCE = 5.0
_COMPILING = "compiling for the first time; that takes about a minute, once"
MIN_LINK_PROBABILITY = MentionSettings().min_link_probability


def check_pair(model: Path | None, kb: Path | None) -> None:
    """Raise a usage error if one of both is missing: a model fits the base it was trained with."""
    if model is None and kb is not None:
        raise typer.BadParameter("--kb needs --model; without both, the starter is used")
    if kb is None and model is not None:
        raise typer.BadParameter("--model needs --kb; without both, the starter is used")


def linker_settings(
    candidates: int,
    reasons: bool,
    fuzzy: bool,
    any_case: bool,
    min_link_probability: float,
) -> "LinkerSettings":
    """Return the settings that options ask for; what they leave open is as in the library."""
    # Not at the top: with it comes a compiler, and `sgtb --help` should not wait for that.
    from sgtb.linking.linker import LinkerSettings

    return LinkerSettings(
        candidates=candidates,
        reasons=reasons,
        mentions=MentionSettings(capitals=not any_case, min_link_probability=min_link_probability),
        near_names=fuzzy,
    )


def open_linker(
    model: Path | None, kb: Path | None, settings: "LinkerSettings", quiet: bool = False
) -> "Linker":
    """Open the linker of a model and a knowledge base, or the starter; have it compiled."""
    _import_compiler()
    from sgtb.linking.linker import Linker

    if model is None or kb is None:
        linker = Linker.starter(settings)
    else:
        linker = Linker.load(model, kb, settings)
    with nullcontext() if quiet else _patience():
        linker.link("")
    return linker


def _import_compiler() -> None:
    """Import numba without scipy.

    It looks for BLAS in there when its first function runs, which takes a third of a second, and
    no kernel needs BLAS. This is a program of its own: nobody else's functions are compiled here.
    """
    hidden = "scipy.linalg"
    if hidden in sys.modules:
        return
    sys.modules[hidden] = None  # type: ignore[assignment]
    try:
        import_module("numba.np.arraymath")
    finally:
        del sys.modules[hidden]


@contextmanager
def _patience() -> Iterator[None]:
    """Say what takes so long, if it does."""
    timer = threading.Timer(_PATIENCE, print, [_COMPILING], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def print_json(record: dict[str, Any]) -> None:
    """Print one line of JSON, at once; characters as they are where the output can have them."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(record, ensure_ascii=plain, allow_nan=False), flush=True)
