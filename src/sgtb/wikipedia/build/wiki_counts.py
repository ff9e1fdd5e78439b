"""WikiCounts: entities, names and links, joined and counted from the rows of all pages.

Tables, in the order of their creation; those marked * are sorted by their first columns:

    links         all links of articles, as in the shards
    stated_names  bold names and entries of disambiguation pages, as in the shards
    pages         distinct titles (the first of repeated ones) with kind, type, description
    redirects     title, final target; open: part of a cycle
    entities      number, title, page (-1: red link), type, popularity; by the bytes of the title
    owners *      page, number: the entity of every article
    titles        title, number: articles and redirects to them; -1: disambiguation page
    found         all links with outcome and entity
    placed *      page, ordinal, line, word, number (-1: none)
    edges *       source, target: distinct links between entities
    linked        hash, pages: number of pages on which the name of that hash is a link
    spellings *   number, text, source, count
"""

from pathlib import Path

from sgtb.kb.build.usable_names import EMPTY, LONG, URL, USABLE, title_names, title_problem
from sgtb.wikipedia.build.build_report import RedirectCounts
from sgtb.wikipedia.build.duckdb_store import DuckDbStore, tsv
from sgtb.wikipedia.build.link_tables import (
    FIRST_PRIOR,
    LEFT_OUT,
    LISTED,
    MISSING,
    OWN,
    RESOLVED,
    LinkTables,
    shard_rows,
)
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


class WikiCounts(LinkTables):
    """Creates the tables from the shards in a folder; methods are called in their order."""

    def __init__(self, db: DuckDbStore, folder: Path) -> None:
        super().__init__(db)
        self._folder = folder

    def load_pages(self) -> tuple[int, int, int]:
        """Create `pages`; return how many articles, disambiguation pages, redirects are repeated.

        Reading and joining are separate statements, because each needs its own memory.
        """
        db = self._db
        for table, kind, columns in (
            ("all_pages", "pages", PAGE_COLUMNS),
            ("links", "links", LINK_COLUMNS),
            ("stated_names", "names", NAME_COLUMNS),
        ):
            db.run(
                f"CREATE TABLE {table} AS SELECT * FROM {shard_rows(self._folder, kind, columns)}"
            )
        db.group("first_pages", "title, min(page) AS page", "all_pages", "title")
        db.run(
            "CREATE TABLE pages AS SELECT p.* FROM all_pages p SEMI JOIN first_pages f USING (page)"
        )
        repeated = dict(
            db.rows(
                "SELECT kind, count(*) FROM all_pages p ANTI JOIN first_pages f USING (page) "
                "GROUP BY 1"
            )
        )
        db.run("DROP TABLE all_pages; DROP TABLE first_pages")
        articles, disambiguation, redirects = (
            int(repeated.get(kind, 0)) for kind in (ARTICLE, DISAMBIGUATION, REDIRECT)
        )
        return articles, disambiguation, redirects

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

    def make_entities(self, red_links: int) -> int:
        """Create `entities`, `owners` and `titles`; return how many entities have no page."""
        db = self._db
        db.run(
            "CREATE TABLE members AS SELECT title, page, type, description, named, bare FROM pages "
            f"WHERE kind = {ARTICLE}"
        )
        red = self._add_red_links(red_links) if red_links else 0
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
        return red

    def redirect_counts(self) -> RedirectCounts:
        """Return the redirects by their final target."""
        rows = self._db.rows(
            "SELECT r.open, t.number IS NULL, coalesce(t.number, 0) >= 0, count(*) "
            "FROM redirects r LEFT JOIN titles t USING (title) GROUP BY ALL"
        )
        counts = {"resolved": 0, "disambiguation": 0, "broken": 0, "cycles": 0}
        for is_open, is_broken, has_entity, count in rows:
            if is_open:
                fate = "cycles"
            elif is_broken:
                fate = "broken"
            else:
                fate = "resolved" if has_entity else "disambiguation"
            counts[fate] += count
        return RedirectCounts(**counts)

    def resolve_links(self) -> tuple[dict[int, int], dict[int, int]]:
        """Create `found`; return links by outcome, and resolved ones by the use of their anchor."""
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
        fates = dict(db.rows("SELECT fate, count(*) FROM found GROUP BY 1"))
        uses = dict(db.rows(f"SELECT use, count(*) FROM found WHERE fate = {RESOLVED} GROUP BY 1"))
        return (
            {fate: fates.get(fate, 0) for fate in (RESOLVED, MISSING, LISTED, OWN, LEFT_OUT)},
            {use: uses.get(use, 0) for use in (USABLE, EMPTY, LONG, URL)},
        )

    def count_links(self) -> int:
        """Create `placed`, `edges`, `linked`; return the number of links between entities."""
        edges = self.place_links()
        self.count_linked_pages(
            f"SELECT hash, page FROM found WHERE use = {USABLE} "
            f"AND fate IN ({RESOLVED}, {MISSING}, {LISTED})"
        )
        return edges

    def count_names(self, priors: str = "") -> int:
        """Create `spellings` and return their number.

        priors  table of file, text, title, count; "": none
        """
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
            titles = [
                title
                for (title,) in db.rows(
                    "SELECT title FROM numbered WHERE n BETWEEN $1 AND $2 ORDER BY title", low, high
                )
                if not title_problem(title)
            ]
            names = [title_names(title) for title in titles]
            path = self._folder / f"red-{low}.tsv"
            path.write_bytes(
                "".join(
                    f"{title}\t{int(named)}\t{bare}\n"
                    for title, (named, bare) in zip(titles, names, strict=True)
                ).encode()
            )
        found = db.count_of("red")
        db.run("DROP TABLE red; DROP TABLE numbered")
        if not found:
            return 0
        columns = {"title": "VARCHAR", "named": "TINYINT", "bare": "VARCHAR"}
        db.run(
            "INSERT INTO members SELECT title, -1, '', '', named, bare "
            f"FROM {tsv(self._folder, 'red-*.tsv', columns)}"
        )
        return db.number("SELECT count(*) FROM members WHERE page < 0")
