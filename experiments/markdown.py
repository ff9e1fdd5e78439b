"""Tables in Markdown."""

import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"[-+−±<>≤≥]?\s?\d")
_BLANK = {"", "-", "–", "—", "nan"}


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table, padded so that its source can be read too.

    Cells are converted by `str`. Columns of numbers are right-aligned.
    """
    cells = [[_cell(item) for item in row] for row in rows]
    for i, row in enumerate(cells):
        if len(row) != len(header):
            raise ValueError(f"row {i} has {len(row)} cells under {len(header)} headings: {row}")
    columns = [_column(_cell(head), [row[j] for row in cells]) for j, head in enumerate(header)]
    return "".join(f"| {' | '.join(line)} |\n" for line in zip(*columns, strict=True))


def _cell(item: object) -> str:
    return " ".join(str(item).split()).replace("|", "\\|")


def _column(head: str, cells: list[str]) -> list[str]:
    """Return heading, rule and cells, all of one width."""
    width = max(3, *map(len, [head, *cells]))
    filled = [cell for cell in cells if cell not in _BLANK]
    if filled and all(_NUMBER.match(cell) for cell in filled):
        rule = "-" * (width - 1) + ":"
        return [head.rjust(width), rule, *(cell.rjust(width) for cell in cells)]
    return [head.ljust(width), "-" * width, *(cell.ljust(width) for cell in cells)]
