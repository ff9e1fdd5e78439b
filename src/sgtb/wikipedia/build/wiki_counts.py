"""WikiCounts: entities, names and links, joined and counted from the rows of all pages.

LinkTables: the tables that are made of `found` and `entities`, also in builds from plain pages.
Tables, in the order of their creation; those marked * are sorted by their first columns:

    links         all links of articles, as in the shards
    stated_names  bold names and entries of disambiguation pages, as in the shards
    pages         distinct titles (the first of repeated ones) with kind, type, description
    redirects     title, final target; open: part of a cycle
    entities      number, title, page (-1: red link), type, popularity; by the bytes of the title
    owners *      page, number: the entity of every article
    titles        title, number: articles and redirects to them; -1: disambiguation page
    found         page, ordinal, line, word, anchor, use, hash, source, fate, number of all links
    placed *      page, ordinal, line, word, number (-1: none)
    edges *       source, target: distinct links between entities
    linked        hash, pages: number of pages on which the name of that hash is a link
    counted       number, text, source, count: how often an entity is linked by a text
    spellings *   as `counted`, with all sources
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from sgtb.kb.build.usable_names import USABLE, title_names, title_problem
from sgtb.wikipedia.build.build_report import RedirectCounts
from sgtb.wikipedia.build.duckdb_store import DuckDbStore, tsv
from sgtb.wikipedia.build.page_counters import PAGE_BITS
from sgtb.wikipedia.build.page_rows import (
    ARTICLE,
    BOLD,
    DISAMBIGUATION,
    ENTRY,
    LINK_COLUMNS,
    NAME_COLUMNS,
    PAGE_COLUMNS,
    REDIRECT,
)  # fmt: skip

RESOLVED, MISSING, LISTED, OWN, LEFT_OUT = 0, 1, 2, 3, 4
"""Outcomes of links: to an entity, to no page, to a disambiguation page, to the page itself, on a
page that was left out."""
ANCHORS, NAMES, FIRST_PRIOR = 1, 2, 3  # numbers of the sources of names


class LinkTables:
    """Creates the tables from the shards in a folder; methods are called in their order."""

    def __init__(self, db: DuckDbStore, folder: Path) -> None:
        self._db, self._folder = db, folder

    def load_shards(self, table: str, kind: str, columns: Mapping[str, str]) -> None:
        """Create a table of the rows of all shards of a kind, with their page numbers."""
        rows = tsv(self._folder, f"{kind}-{'[0-9]' * 6}.tsv", columns)
        self._db.run(
            f"CREATE TABLE {table} AS SELECT (right(parse_filename(filename, true), 6)::BIGINT "
            f"<< {PAGE_BITS}) + place AS page, * EXCLUDE (place, filename) FROM {rows}"
        )

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


class WikiCounts(LinkTables):
    """The tables of a build from dumps."""

    repeated: Counter[int]  # repeated pages by kind
    red_entities: int  # entities without a page
    fates: Counter[int]  # links by outcome
    uses: Counter[int]  # resolved links by the use of their anchor
    edges: int  # links between entities

    def load_pages(self) -> None:
        """Create `pages`."""
        db = self._db  # reading and joining are separate statements: each needs its own memory
        self.load_shards("all_pages", "pages", PAGE_COLUMNS)
        self.load_shards("links", "links", LINK_COLUMNS)
        self.load_shards("stated_names", "names", NAME_COLUMNS)
        db.group("first_pages", "title, min(page) AS page", "all_pages", "title")
        db.run(
            "CREATE TABLE pages AS SELECT p.* FROM all_pages p SEMI JOIN first_pages f USING (page)"
        )
        self.repeated = db.counts(
            "kind", "(SELECT * FROM all_pages p ANTI JOIN first_pages f USING (page))"
        )
        db.run("DROP TABLE all_pages; DROP TABLE first_pages")

    def follow_redirects(self) -> None:
        """Create `redirects`. Each round doubles the steps followed; cycles stay open."""
        db = self._db
        db.run(
            "CREATE TABLE redirects AS SELECT title, target, true AS open FROM pages "
            f"WHERE kind = {REDIRECT}"
        )
        before, left = -1, db.count_of("redirects")
        while left not in (0, before):
            db.run(
                "CREATE TABLE further AS SELECT r.title, coalesce(n.target, r.target) AS target, "
                "n.title IS NOT NULL AS open "
                "FROM redirects r LEFT JOIN redirects n ON r.target = n.title"
            )
            db.run("DROP TABLE redirects; ALTER TABLE further RENAME TO redirects")
            before, left = left, db.number("SELECT count(*) FROM redirects WHERE open")

    def make_entities(self, red_links: int) -> None:
        """Create `entities`, `owners` and `titles`."""
        db = self._db
        db.run(
            "CREATE TABLE members AS SELECT title, page, type, description, named, bare FROM pages "
            f"WHERE kind = {ARTICLE}"
        )
        self.red_entities = self._add_red_links(red_links) if red_links else 0
        db.run(
            "CREATE TABLE entities AS SELECT (row_number() OVER (ORDER BY title) - 1)::INTEGER "
            "AS number, *, 0.0::DOUBLE AS popularity FROM members ORDER BY title"
        )
        db.run("DROP TABLE members")
        db.run(
            "CREATE TABLE owners AS SELECT page, number FROM entities WHERE page >= 0 ORDER BY page"
        )
        db.run(
            "CREATE TABLE titles AS SELECT title, number FROM entities "
            f"UNION ALL SELECT title, -1 FROM pages WHERE kind = {DISAMBIGUATION} "
            "UNION ALL SELECT r.title, coalesce(e.number, -1) FROM redirects r "
            "LEFT JOIN entities e ON r.target = e.title "
            f"LEFT JOIN (SELECT title FROM pages WHERE kind = {DISAMBIGUATION}) d "
            "ON r.target = d.title "
            "WHERE NOT r.open AND (e.title IS NOT NULL OR d.title IS NOT NULL)"
        )

    def redirect_counts(self) -> RedirectCounts:
        """Return the redirects by their final target."""
        counts: Counter[str] = self._db.counts(
            "CASE WHEN r.open THEN 'cycles' WHEN t.number IS NULL THEN 'broken' "
            "WHEN t.number >= 0 THEN 'resolved' ELSE 'disambiguation' END",
            "redirects r LEFT JOIN titles t USING (title)",
        )
        return RedirectCounts(**counts)

    def resolve_links(self) -> None:
        """Create `found`."""
        db = self._db
        db.run(
            "CREATE TABLE found AS SELECT l.page, l.ordinal, l.line, l.word, l.anchor, l.use, "
            "l.hash, e.number AS source, "
            f"CASE WHEN e.number IS NULL THEN {LEFT_OUT} WHEN t.number IS NULL THEN {MISSING} "
            f"WHEN t.number < 0 THEN {LISTED} WHEN t.number = e.number THEN {OWN} "
            f"ELSE {RESOLVED} END::TINYINT AS fate, "
            f"CASE WHEN fate = {RESOLVED} THEN t.number ELSE -1 END::INTEGER AS number "
            "FROM links l LEFT JOIN titles t ON l.target = t.title "
            "LEFT JOIN owners e ON l.page = e.page"
        )
        db.run("DROP TABLE links")
        self.fates = db.counts("fate", "found")
        self.uses = db.counts("use", f"found WHERE fate = {RESOLVED}")

    def count_links(self) -> None:
        """Create `placed`, `edges`, `linked`."""
        self.edges = self.place_links()
        self.count_linked_pages(
            f"SELECT hash, page FROM found WHERE use = {USABLE} "
            f"AND fate IN ({RESOLVED}, {MISSING}, {LISTED})"
        )

    def count_names(self, priors: str = "") -> int:
        """Create `spellings`, also from a table of priors, if given; return their number."""
        db = self._db
        self.count_anchors()
        db.run(
            "CREATE TABLE named AS "
            "SELECT number, title AS text, 0 AS kind FROM entities WHERE named = 1 "
            "UNION ALL SELECT number, bare, 0 FROM entities WHERE bare <> '' "
            "UNION ALL SELECT t.number, unnest([p.title, p.bare]), 1 FROM pages p "
            f"JOIN titles t USING (title) WHERE p.kind = {REDIRECT} AND p.named = 1 "
            "AND t.number >= 0 "
            f"UNION ALL SELECT t.number, n.name, {ENTRY} "
            "FROM stated_names n JOIN titles t ON n.target = t.title "
            f"SEMI JOIN pages p ON n.page = p.page WHERE n.kind = {ENTRY} AND t.number >= 0 "
            f"UNION ALL SELECT e.number, n.name, {BOLD} "
            "FROM stated_names n JOIN entities e ON n.page = e.page "
            f"WHERE n.kind = {BOLD}"
        )
        self.count_named()
        if priors:
            db.run(
                f"INSERT INTO counted SELECT number, text, {FIRST_PRIOR} + file, "
                f"sum(count)::BIGINT FROM {priors} JOIN titles USING (title) "
                "WHERE number >= 0 AND count > 0 GROUP BY 1, 2, 3"
            )
        db.run("DROP TABLE stated_names")
        return self.sort_spellings()

    def sum_views(self, views: str) -> None:
        """Set it to the views of a page and of its redirects, from a table of title and views."""
        self.set_popularity(
            f"SELECT number, sum(views) AS popularity FROM {views} JOIN titles USING (title) "
            "WHERE number >= 0 GROUP BY 1"
        )

    def set_types(self, types: str) -> None:
        """Override types from a table of title and type; the last line of a title counts."""
        self._db.run(
            "UPDATE entities SET type = given.type FROM ("
            f"SELECT number, arg_max(type, line) AS type FROM {types} JOIN titles USING (title) "
            "WHERE number >= 0 GROUP BY 1) given WHERE entities.number = given.number"
        )

    def _add_red_links(self, min_pages: int) -> int:
        """Add titles without a page that at least `min_pages` pages link to."""
        db = self._db
        db.run(
            "CREATE TABLE red AS SELECT title FROM ("
            "SELECT DISTINCT coalesce(r.target, l.target) AS title, l.page "
            "FROM links l "
            f"SEMI JOIN (SELECT page FROM pages WHERE kind = {ARTICLE}) a ON l.page = a.page "
            "LEFT JOIN redirects r ON l.target = r.title) named "
            f"ANTI JOIN pages p USING (title) WHERE title <> '' GROUP BY 1 "
            f"HAVING count(*) >= {min_pages}"
        )
        db.run(
            "CREATE TABLE numbered AS SELECT row_number() OVER (ORDER BY title) AS n, * FROM red"
        )
        for low, high in db.key_ranges("numbered", "n", 100_000):
            found = db.rows(
                "SELECT title FROM numbered WHERE n BETWEEN $1 AND $2 ORDER BY title", low, high
            )
            names = {title: title_names(title) for (title,) in found if not title_problem(title)}
            rows = (f"{title}\t{int(named)}\t{bare}\n" for title, (named, bare) in names.items())
            (self._folder / f"red-{low}.tsv").write_bytes("".join(rows).encode())
        count = db.count_of("red")
        db.run("DROP TABLE red; DROP TABLE numbered")
        if not count:
            return 0
        columns = {"title": "VARCHAR", "named": "TINYINT", "bare": "VARCHAR"}
        db.run(
            "INSERT INTO members SELECT title, -1, '', '', named, bare "
            f"FROM {tsv(self._folder, 'red-*.tsv', columns)}"
        )
        return db.number("SELECT count(*) FROM members WHERE page < 0")
