"""Options of training commands and of annotated documents."""

import typer

from sgtb.cli.options import input_folder, share
from sgtb.formats.registry import FORMATS


def checked_format(name: str | None) -> str | None:
    """Return the name of a format; raises a usage error for an unknown one."""
    if name is not None and name not in FORMATS:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(FORMATS)}")
    return name


KB_FOLDER = input_folder("Folder of the knowledge base.", ...)
OPTIONAL_KB_FOLDER = input_folder("Folder of the knowledge base.")
TRAIN_FILES = typer.Option(
    None,
    metavar="FILE",
    exists=True,
    help="Annotated documents to train on; may be given several times.",
)
DEV_FILES = typer.Option(
    None,
    metavar="FILE",
    exists=True,
    help="Annotated documents for model selection. Default: a fifth of the training documents.",
)
OUTPUT = typer.Option(
    ..., "--output", "-o", metavar="MODEL", help="The file to write.", show_default=False
)
FORMAT_NAME = typer.Option(
    None,
    metavar="FORMAT",
    callback=checked_format,
    help=f"Format of the documents: {', '.join(FORMATS)}. Default: detected from the content.",
)
MIN_LEAF = typer.Option(None, show_default="by size", help="Minimum rows of a leaf.")
FOLDS = typer.Option(
    None,
    show_default="8, or as many as documents",
    help="Folds of the training documents for learned features.",
)
WITHOUT = typer.Option(
    None, metavar="GROUP", help="Feature group to leave out; may be given several times."
)
VECTORS = typer.Option("none", metavar="none|glove|FILE", help="Word vectors for text similarity.")
NIL_PRECISION = share(
    "Target precision of links on left-out documents; less confident links become NIL."
)
SEED = typer.Option(0, min=0, help="Random seed.")
THREADS = typer.Option(
    None, help="Number of threads. Default: all cores. The result does not depend on it."
)
CLUSTER = typer.Option(
    None,
    metavar="SPEC",
    show_default=False,
    help="Train the trees on a Dask cluster: local:N (N processes here), tcp://HOST:PORT or a "
    "scheduler file. The result is the same.",
)
