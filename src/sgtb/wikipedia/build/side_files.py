"""Side files: types, priors and page views given besides dumps.

    types       title<TAB>PER|ORG|LOC|MISC
    priors      name<TAB>title<TAB>count; counts are whole numbers, or all of them probabilities
    page views  see `pageviews.py`

They are read before the dumps, so that their errors are reported at once, and joined with the
titles of the dumps later.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb.build.usable_names import clean, is_name
from sgtb.kb.entity import TYPES as ENTITY_TYPES
from sgtb.kb.name_index import MAX_COUNT
from sgtb.wikipedia.build.build_report import FileCounts
from sgtb.wikipedia.build.duckdb_store import DuckDbStore, tsv
from sgtb.wikipedia.dump.pageviews import read_pageviews
from sgtb.wikipedia.dump.site import Site

TYPES, PRIORS, VIEWS = "given_types", "given_priors", "given_views"
"""Tables. All have the columns `file` (number of the file), `line` and `title`."""
PROBABILITY_SCALE = 1_000_000  # the count that stands for a probability of one
_COLUMNS = {
    TYPES: {"type": "VARCHAR"},
    PRIORS: {"text": "VARCHAR", "count": "BIGINT"},
    VIEWS: {"views": "BIGINT"},
}
_MAX_LINE = 1 << 16
_INTEGER = re.compile(r"\d{1,10}")
_FRACTION = re.compile(r"(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


class SideFiles:
    """Reads side files into TSV shards, then loads these into tables."""

    def __init__(self, folder: Path, site: Site) -> None:
        self._folder = folder
        self._site = site
        self._counts: dict[str, list[tuple[int, int]]] = {TYPES: [], PRIORS: [], VIEWS: []}

    def read(self, types: Sequence[Path], priors: Sequence[Path], views: Sequence[Path]) -> None:
        """Read all files."""
        for path in types:
            self._write(TYPES, _read_types(path))
        for path in priors:
            self._write(PRIORS, _read_priors(path))
        for path in views:
            entries = read_pageviews(path, self._site)
            self._write(VIEWS, (entry and (0, *entry) for entry in entries))

    def load(self, db: DuckDbStore, table: str, paths: Sequence[Path]) -> tuple[FileCounts, ...]:
        """Create the table of some files, if any, by `titles`; return the counts of each file."""
        if not paths:
            return ()
        columns = {"file": "INTEGER", "line": "BIGINT", "title": "VARCHAR", **_COLUMNS[table]}
        db.run(
            f"CREATE TABLE {table} AS SELECT * EXCLUDE (filename) FROM "
            + tsv(self._folder, f"{table}-*.tsv", columns)
        )
        used = db.counts("file", f"{table} JOIN titles USING (title) WHERE number >= 0")
        for i in range(len(paths)):
            self._path(table, i).unlink()
        counts = zip(paths, self._counts[table], strict=True)
        return tuple(
            FileCounts(str(path), lines + bad, used[i], unknown_titles=lines - used[i], bad=bad)
            for i, (path, (lines, bad)) in enumerate(counts)
        )

    def _path(self, table: str, number: int) -> Path:
        return self._folder / f"{table}-{number}.tsv"

    def _write(
        self, table: str, rows: Iterable[tuple[int, str, *tuple[object, ...]] | None]
    ) -> None:
        """Write the rows of a file with normalised titles; None counts as a bad line."""
        number = len(self._counts[table])
        lines = bad = 0
        with open(self._path(table, number), "wb") as file:
            for row in rows:
                if row is None:
                    bad += 1
                    continue
                line, title, *rest = row
                if table != VIEWS:  # page views have normalised titles already
                    title = self._site.title(title) or ""
                fields = (number, line, clean(title), *rest)
                file.write(("\t".join(map(str, fields)) + "\n").encode())
                lines += 1
        self._counts[table].append((lines, bad))


def _read_types(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, title and type."""
    allowed = ENTITY_TYPES[1:]
    for line, (title, type_) in _tsv_lines(path, ("title", "type")):
        if type_ not in allowed:
            raise _line_error(path, line, f"the type is {type_[:40]!r}, not {', '.join(allowed)}")
        yield line, title, type_


def _read_priors(path: Path) -> Iterator[tuple[int, str, str, int] | None]:
    """Yield line, title, name and count; None for a line whose name cannot be used."""
    has_probabilities = _has_probabilities(path)
    for line, (name, title, value) in _tsv_lines(path, ("name", "title", "count")):
        count = float(value)
        if has_probabilities and count > 1:
            message = f"{value} is not a probability, but other lines have probabilities"
            raise _line_error(path, line, message)
        if count > MAX_COUNT:
            raise _line_error(path, line, f"the count {value} is larger than {MAX_COUNT}")
        scaled = round(count * PROBABILITY_SCALE) if has_probabilities else round(count)
        name = clean(name)
        yield (line, title, name, scaled) if is_name(name) else None


def _has_probabilities(path: Path) -> bool:
    """Check all counts; a single fraction makes all of them probabilities."""
    found = False
    for line, (_, _, value) in _tsv_lines(path, ("name", "title", "count")):
        if _INTEGER.fullmatch(value):
            continue
        if not _FRACTION.fullmatch(value) or not 0 <= float(value) <= 1:
            raise _line_error(
                path, line, f"{value[:40]!r} is neither a count nor a probability from 0 to 1"
            )
        found = True
    return found


def _tsv_lines(path: Path, fields: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Yield number and fields of every non-empty line."""
    try:
        with open(path, "rb") as file:
            number = 0
            while raw := file.readline(_MAX_LINE):
                number += 1
                if not raw.endswith(b"\n") and len(raw) == _MAX_LINE:
                    raise _line_error(path, number, f"longer than {_MAX_LINE:,} bytes")
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise _line_error(path, number, f"not UTF-8 ({error.reason})") from None
                if not line.strip():
                    continue
                values = [field.strip() for field in line.split("\t")]
                if len(values) != len(fields) or not all(values):
                    form = "<TAB>".join(fields)
                    raise _line_error(path, number, f"{line[:60]!r} is not {form}")
                yield number, values
    except FileNotFoundError:
        raise KnowledgeBaseError(f"{path}: no such file") from None
    except OSError as error:
        raise KnowledgeBaseError(f"{path}: cannot be read: {error.strerror}") from None


def _line_error(path: Path, line: int, message: str) -> KnowledgeBaseError:
    return KnowledgeBaseError(f"{path}, line {line}: {message}")
