"""LinkTables: counts of links and names, from the table `found` of all links of a collection.

`found` has page, ordinal, line, word, anchor, use, hash, source, fate, number; `entities` has
number and popularity. Tables that are created from them:

    placed *      page, ordinal, line, word, number (-1: none)
    edges *       source, target: distinct links between entities
    linked        hash, pages: number of pages on which the name of that hash is a link
    counted       number, text, source, count: how often an entity is linked by a text
    spellings *   as `counted`, with all sources; sorted
"""

from collections.abc import Mapping
from pathlib import Path

from sgtb.kb.build.usable_names import USABLE
from sgtb.wikipedia.build.duckdb_store import DuckDbStore, tsv
from sgtb.wikipedia.build.page_rows import PAGE_BITS

RESOLVED, MISSING, LISTED, OWN, LEFT_OUT = 0, 1, 2, 3, 4
"""Outcomes of links: to an entity, to no page, to a disambiguation page, to the page itself, on a
page that was left out."""
ANCHORS, NAMES, FIRST_PRIOR = 1, 2, 3
"""Numbers of the sources of names."""


class LinkTables:
    """Creates the tables; methods are called in their order."""

    def __init__(self, db: DuckDbStore) -> None:
        self._db = db

    def place_links(self) -> int:
        """Create `placed` and `edges`; return the number of links between entities."""
        db = self._db
        db.run(
            "CREATE TABLE placed AS SELECT page, ordinal, line, word, number FROM found "
            f"WHERE fate <> {LEFT_OUT} ORDER BY page, ordinal"
        )
        db.run(
            "CREATE VIEW arrows AS SELECT source, number AS target FROM found "
            f"WHERE fate = {RESOLVED}"
        )
        db.group("unordered", "source, target", "arrows", "source, target")
        db.run("CREATE TABLE edges AS SELECT * FROM unordered ORDER BY source, target")
        db.run("DROP VIEW arrows; DROP TABLE unordered")
        return db.count_of("edges")

    def count_linked_pages(self, query: str) -> None:
        """Create `linked` from a query of hash and page, once per link."""
        db = self._db
        db.run(f"CREATE VIEW linking AS {query}")
        db.group("linked_once", "hash, page", "linking", "hash, page")
        db.group("linked", "hash, count(*)::BIGINT AS pages", "linked_once", "hash")
        db.run("DROP VIEW linking; DROP TABLE linked_once")

    def count_anchors(self) -> None:
        """Create `counted` with the anchors of resolved links; drop `found`."""
        db = self._db
        db.run(
            "CREATE VIEW shown AS SELECT number, anchor AS text FROM found "
            f"WHERE fate = {RESOLVED} AND use = {USABLE}"
        )
        columns = f"number, text, {ANCHORS} AS source, count(*)::BIGINT AS count"
        db.group("counted", columns, "shown", "number, text")
        db.run("DROP VIEW shown; DROP TABLE found")

    def count_named(self) -> None:
        """Add to `counted` how many kinds of statements name an entity; drop `named`."""
        db = self._db
        db.run(
            f"INSERT INTO counted SELECT number, text, {NAMES}, count(DISTINCT kind) FROM named "
            "WHERE text <> '' GROUP BY 1, 2"
        )
        db.run("DROP TABLE named")

    def sort_spellings(self) -> int:
        """Create `spellings` and return their number."""
        db = self._db
        db.run(
            "CREATE TABLE spellings AS SELECT number, text, source::TINYINT AS source, count "
            "FROM counted ORDER BY number, text, source"
        )
        db.run("DROP TABLE counted")
        return db.count_of("spellings")

    def count_linking_pages(self) -> None:
        """Set the popularity of entities to the number of pages that link to them."""
        self.set_popularity("SELECT target AS number, count(*) AS popularity FROM edges GROUP BY 1")

    def set_popularity(self, query: str) -> None:
        """Set it from a query of number and popularity."""
        self._db.run(
            f"UPDATE entities SET popularity = given.popularity FROM ({query}) given "
            "WHERE entities.number = given.number"
        )


def shard_rows(folder: Path, kind: str, columns: Mapping[str, str]) -> str:
    """Return a query for the rows of all shards of a kind, with their page numbers."""
    rows = tsv(folder, f"{kind}-{'[0-9]' * 6}.tsv", columns)
    return (
        f"(SELECT (right(parse_filename(filename, true), 6)::BIGINT << {PAGE_BITS}) + place "
        f"AS page, * EXCLUDE (place, filename) FROM {rows})"
    )
