"""Type files: title<TAB>PER|ORG|LOC|MISC, one entity a line."""

from collections.abc import Iterator
from pathlib import Path

from sgtb.kb.entity import TYPES
from sgtb.wikipedia.build.tsv_lines import line_error, tsv_lines

_ALLOWED = TYPES[1:]


def read_types(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, title and type."""
    for line, (title, type) in tsv_lines(path, ("title", "type")):
        if type not in _ALLOWED:
            raise line_error(path, line, f"the type is {type[:40]!r}, not {', '.join(_ALLOWED)}")
        yield line, title, type
