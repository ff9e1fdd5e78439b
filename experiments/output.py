"""Output of experiments: tables and JSON on standard output, messages on standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table


def say(message: str) -> None:
    """Print a message to standard error."""
    print(f"sgtb: {message}", file=sys.stderr, flush=True)


def print_json(record: Any) -> None:
    """Print a record as one JSON value."""
    print(json.dumps(record, indent=2))


def print_table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    text_columns: int = 1,
    narrow: bool = True,
) -> None:
    """Print a table: text columns first, then numbers set to the right.

    narrow  half the usual padding, so that means with their deviations fit in 80 columns
    """
    padding = (0, 0, 0, 1) if narrow else (0, 1)
    table = Table(title=title, box=box.SIMPLE, padding=padding)
    for i, heading in enumerate(headings):
        justify: Any = "left" if i < text_columns else "right"
        table.add_column(heading, justify=justify, no_wrap=narrow)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def print_notes(notes: Iterable[str]) -> None:
    """Print paragraphs, wrapped to the width of the terminal."""
    for note in notes:
        Console().print(note, highlight=False)


def peak_bytes() -> int:
    """Return the peak memory of this process; Linux counts it in kilobytes."""
    try:
        import resource
    except ImportError:  # Windows
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
