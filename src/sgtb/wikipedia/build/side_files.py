"""Files given besides dumps: types, priors and page views, with titles that fit the dumps'.

They are read before the dumps, so that what is wrong with them comes up at once, and are joined
with the titles of the dumps when these are known.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from sgtb.kb.build.usable_names import clean, is_name
from sgtb.wikipedia.build.build_report import FileCounts
from sgtb.wikipedia.build.duckdb_store import Counting, tsv
from sgtb.wikipedia.build.prior_file import read_priors
from sgtb.wikipedia.build.type_file import read_types
from sgtb.wikipedia.dump.pageviews import read_pageviews
from sgtb.wikipedia.dump.site import Site

TYPES, PRIORS, VIEWS = "given_types", "given_priors", "given_views"
"""Tables. All have `file`, which counts the files of a kind, `line` and `title`."""

_COLUMNS = {
    TYPES: {"type": "VARCHAR"},
    PRIORS: {"text": "VARCHAR", "count": "BIGINT"},
    VIEWS: {"views": "BIGINT"},
}


class GivenFiles:
    """Reads files into shards, then makes tables of them."""

    def __init__(self, folder: Path, site: Site) -> None:
        self._folder = folder
        self._site = site
        self._lines: dict[str, list[int]] = {}
        self._bad: dict[str, list[int]] = {}

    def read(self, types: Sequence[Path], priors: Sequence[Path], views: Sequence[Path]) -> None:
        """Read all files."""
        for i, path in enumerate(types):
            self._write(TYPES, i, ((line, title, type) for line, title, type in read_types(path)))
        for i, path in enumerate(priors):
            found = ((line, title, clean(name), n) for line, name, title, n in read_priors(path))
            usable = (row if is_name(row[2]) else None for row in found)
            self._write(PRIORS, i, usable)
        for i, path in enumerate(views):
            entries = read_pageviews([path], self._site)
            self._write(VIEWS, i, ((0, title, count) for title, count in entries))
            self._bad[VIEWS][-1] += entries.bad_lines

    def load(self, counting: Counting, table: str, paths: Sequence[Path]) -> tuple[FileCounts, ...]:
        """Make a table, and return what is in it of each file; `titles` must be there."""
        counting.run(
            f"CREATE TABLE {table} AS SELECT * EXCLUDE (filename) FROM "
            + tsv(
                self._folder,
                f"{table}-*.tsv",
                {"file": "INTEGER", "line": "BIGINT", "title": "VARCHAR", **_COLUMNS[table]},
            )
        )
        used = dict(
            counting.rows(
                f"SELECT file, count(*) FROM {table} JOIN titles USING (title) "
                "WHERE number >= 0 GROUP BY 1"
            )
        )
        for i in range(len(paths)):
            self._path(table, i).unlink()
        return tuple(
            FileCounts(str(path), lines + bad, used.get(i, 0), lines - used.get(i, 0), bad)
            for i, (path, lines, bad) in enumerate(
                zip(paths, self._lines[table], self._bad[table], strict=True)
            )
        )

    def _path(self, table: str, number: int) -> Path:
        return self._folder / f"{table}-{number}.tsv"

    def _write(
        self, table: str, number: int, rows: Iterable[tuple[int, str, *tuple[object, ...]] | None]
    ) -> None:
        """Write the rows of a file, with normal titles; None: a bad one."""
        lines = bad = 0
        with open(self._path(table, number), "wb") as file:
            for row in rows:
                if row is None:
                    bad += 1
                    continue
                line, title, *rest = row
                if table != VIEWS:  # their titles are normal already
                    title = self._site.title(title) or ""
                fields = (number, line, clean(title), *rest)
                file.write(("\t".join(map(str, fields)) + "\n").encode())
                lines += 1
        self._lines.setdefault(table, []).append(lines)
        self._bad.setdefault(table, []).append(bad)
