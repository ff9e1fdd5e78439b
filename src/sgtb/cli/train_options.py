"""Options of training commands and of annotated documents."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sgtb.formats.registry import FORMATS


def checked_format(name: str | None) -> str | None:
    """Return the name of a format; raises a usage error for an unknown one."""
    if name is not None and name not in FORMATS:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(FORMATS)}")
    return name


_KB: Any = typer.Option(
    metavar="DIR", exists=True, file_okay=False, help="Folder of the knowledge base."
)
KbFolder = Annotated[Path, _KB]
OptionalKbFolder = Annotated[Path | None, _KB]
TrainFiles = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", exists=True,
        help="Annotated documents to train on; may be given several times.",
    ),
]  # fmt: skip
DevFiles = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", exists=True,
        help="Annotated documents for model selection. Default: a fifth of the training documents.",
    ),
]  # fmt: skip
Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="MODEL", help="The file to write.", show_default=False),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT", callback=checked_format,
        help=f"Format of the documents: {', '.join(FORMATS)}. Default: detected from the content.",
    ),
]  # fmt: skip
Plan = Annotated[str, typer.Option(help="Search plan: local, bs, laso, bsg or bibsg.")]
Beam = Annotated[int, typer.Option(min=1, help="Beam width.")]
Depth = Annotated[int | None, typer.Option(show_default="by size", help="Depth of the trees.")]
Eta = Annotated[
    float | None,
    typer.Option("--eta", "--learning-rate", show_default="by size", help="Learning rate η."),
]
Trees = Annotated[int | None, typer.Option(show_default="by size", help="Maximum number of trees.")]
MinLeaf = Annotated[
    int | None, typer.Option(show_default="by size", help="Minimum rows of a leaf.")
]
Folds = Annotated[
    int | None,
    typer.Option(
        show_default="8, or as many as documents",
        help="Folds of the training documents for learned features.",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(metavar="GROUP", help="Feature group to leave out; may be given several times."),
]
Vectors = Annotated[
    str, typer.Option(metavar="none|glove|FILE", help="Word vectors for text similarity.")
]
NilRuleName = Annotated[
    str,
    typer.Option(
        metavar="auto|never|candidate",
        help="When mentions with candidates are NIL: never, or where NIL, a candidate of the "
        "search, is likelier than the best entity. auto: that, if enough mentions are NIL.",
    ),
]  # fmt: skip
NilPrecision = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", min=0.0, max=1.0,
        help="Target precision of links on left-out documents; less confident links become NIL.",
    ),
]  # fmt: skip
Hidden = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", min=0.0, max=1.0, show_default="by the size of the data",
        help="Share of the entities of each training document that are hidden from it, to learn "
        "NIL from.",
    ),
]  # fmt: skip
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Threads = Annotated[
    int | None,
    typer.Option(help="Number of threads. Default: all cores. The result does not depend on it."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC", show_default=False,
        help="Train the trees on a Dask cluster: local:N (N processes here), tcp://HOST:PORT or a "
        "scheduler file. The result is the same.",
    ),
]  # fmt: skip
