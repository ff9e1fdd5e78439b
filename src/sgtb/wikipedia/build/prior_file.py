"""Prior files: name<TAB>title<TAB>count, how often a name means an entity.

The count is a whole number, or in all lines of the file a probability, from 0 to 1.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sgtb.kb.name_index import MAX_COUNT
from sgtb.wikipedia.build.tsv_lines import line_error, tsv_lines

SCALE = 1_000_000
"""What a probability of one counts."""
_WHOLE = re.compile(r"\d{1,10}")
_FRACTION = re.compile(r"(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


def read_priors(path: Path) -> Iterator[tuple[int, str, str, int]]:
    """Yield line, name, title and count."""
    scale = SCALE if _holds_probabilities(path) else 1
    for line, (name, title, value) in tsv_lines(path, ("name", "title", "count")):
        count = float(value)
        if count > (1 if scale == SCALE else MAX_COUNT):
            message = (
                f"{value} is no probability, but other lines hold some"
                if scale > 1
                else (f"the count {value} is too large")
            )
            raise line_error(path, line, message)
        yield line, name, title, round(count * scale)


def _holds_probabilities(path: Path) -> bool:
    """Look at all counts: a single fraction makes them probabilities."""
    found = False
    for line, (_, _, value) in tsv_lines(path, ("name", "title", "count")):
        if _WHOLE.fullmatch(value):
            continue
        if not _FRACTION.fullmatch(value) or not 0 <= float(value) <= 1:
            raise line_error(
                path, line, f"{value[:40]!r} is neither a count nor a probability from 0 to 1"
            )
        found = True
    return found
