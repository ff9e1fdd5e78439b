"""WikiCounts: the rows of all pages, joined and counted: entities, names, links.

Tables, made in this order:

    links      every link of an article, as the shards have it
    said       names that pages say of themselves or of others, as the shards have them
    pages      each title once, of repeated ones the first; kind, type, description
    redirects  title, target: where a redirect leads in the end; open: into a cycle
    entities   number, title, page (-1: a red link), type, popularity; by the bytes of the title
    owners     page, number: the entity of every article; in order
    titles     title, number: of articles and redirects to them; -1: a list of meanings
    found      every link with its fate and its entity
    placed     page, ordinal, line, word, number (-1: none); in order
    edges      source, target: each link between entities once; in order
    linked     hash, pages: in how many pages the name of that hash is a link
    spellings  number, text, source, count; in order
"""

from pathlib import Path

from sgtb.kb.build.usable_names import EMPTY, LONG, URL, USABLE, title_names, title_problem
from sgtb.wikipedia.build.build_report import RedirectCounts
from sgtb.wikipedia.build.duckdb_store import Counting, tsv
from sgtb.wikipedia.build.page_rows import (
    ARTICLE,
    BOLD,
    DISAMBIGUATION,
    ENTRY,
    LINK_COLUMNS,
    NAME_COLUMNS,
    PAGE_BITS,
    PAGE_COLUMNS,
    REDIRECT,
)  # fmt: skip

RESOLVED, MISSING, LISTED, OWN, LEFT_OUT = 0, 1, 2, 3, 4
"""Fates of links: to an entity, to no page, to a list of meanings, to the page itself, on a page
that was left out."""
ANCHORS, NAMES, FIRST_PRIOR = 1, 2, 3
"""Sources of names, by their number."""


class WikiCounts:
    """Makes the tables, one after the other, from the shards in a folder."""

    def __init__(self, counting: Counting, folder: Path) -> None:
        self._db = counting
        self._folder = folder

    def load_pages(self) -> tuple[int, int, int]:
        """Make `pages`; return how many articles, lists of meanings, redirects were repeated.

        Files are read here and joined later: both at once would each hold their memory.
        """
        db = self._db
        for table, kind, columns in (
            ("all_pages", "pages", PAGE_COLUMNS),
            ("links", "links", LINK_COLUMNS),
            ("said", "names", NAME_COLUMNS),
        ):
            db.run(f"CREATE TABLE {table} AS SELECT * FROM {self._shards(kind, columns)}")
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
        articles, lists, redirects = (
            int(repeated.get(kind, 0)) for kind in (ARTICLE, DISAMBIGUATION, REDIRECT)
        )
        return articles, lists, redirects

    def follow_redirects(self) -> None:
        """Make `redirects`. Every round doubles how far each sees; a cycle has no end to see."""
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
        """Make `entities` and `titles`; return how many entities have no page."""
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
        """Return where redirects lead."""
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
        """Make `found`; return links by their fate, and resolved ones by the use of their anchor.

        A link keeps its entity where it stands on an article and does not lead back to it.
        """
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
        """Make `placed`, `edges`, `linked`; return how many links between entities there are."""
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
        db.run(
            "CREATE VIEW linking AS SELECT hash, page FROM found "
            f"WHERE use = {USABLE} AND fate IN ({RESOLVED}, {MISSING}, {LISTED})"
        )
        db.group("linked_once", "hash, page", "linking", "hash, page")
        db.group("linked", "hash, count(*)::BIGINT AS pages", "linked_once", "hash")
        db.run("DROP VIEW arrows; DROP VIEW linking; DROP TABLE unordered; DROP TABLE linked_once")
        return db.count_of("edges")

    def count_names(self, priors: str = "") -> int:
        """Make `spellings`; `priors` is a table of file, text, title, count. Return how many."""
        db = self._db
        db.run(
            "CREATE VIEW shown AS SELECT number, anchor AS text FROM found "
            f"WHERE fate = {RESOLVED} AND use = {USABLE}"
        )
        columns = f"number, text, {ANCHORS} AS source, count(*)::BIGINT AS count"
        db.group("counted", columns, "shown", "number, text")
        db.run("DROP VIEW shown; DROP TABLE found")
        db.run(
            "CREATE TABLE named AS "
            "SELECT number, title AS text, 0 AS kind FROM entities WHERE named = 1 "
            "UNION ALL SELECT number, bare, 0 FROM entities WHERE bare <> '' "
            "UNION ALL SELECT t.number, unnest([p.title, p.bare]), 1 FROM pages p "
            f"JOIN titles t USING (title) WHERE p.kind = {REDIRECT} AND p.named = 1 "
            "AND t.number >= 0 "
            f"UNION ALL SELECT t.number, n.name, {ENTRY} "
            "FROM said n JOIN titles t ON n.target = t.title "
            f"SEMI JOIN pages p ON n.page = p.page WHERE n.kind = {ENTRY} AND t.number >= 0 "
            f"UNION ALL SELECT e.number, n.name, {BOLD} "
            "FROM said n JOIN entities e ON n.page = e.page "
            f"WHERE n.kind = {BOLD}"
        )
        db.run(
            f"INSERT INTO counted SELECT number, text, {NAMES}, count(DISTINCT kind) FROM named "
            "WHERE text <> '' GROUP BY 1, 2"
        )
        if priors:
            db.run(
                f"INSERT INTO counted SELECT number, text, {FIRST_PRIOR} + file, "
                f"sum(count)::BIGINT FROM {priors} JOIN titles USING (title) "
                "WHERE number >= 0 AND count > 0 GROUP BY 1, 2, 3"
            )
        db.run(
            "CREATE TABLE spellings AS SELECT number, text, source::TINYINT AS source, count "
            "FROM counted ORDER BY number, text, source"
        )
        db.run("DROP TABLE counted; DROP TABLE named; DROP TABLE said")
        return db.count_of("spellings")

    def count_linking_pages(self) -> None:
        """Let the popularity of entities be the number of pages that link to them."""
        self._set_popularity(
            "SELECT target AS number, count(*) AS popularity FROM edges GROUP BY 1"
        )

    def sum_views(self, views: str) -> None:
        """Let it be the views of a page and of the redirects to it; a table of title and views."""
        self._set_popularity(
            f"SELECT number, sum(views) AS popularity FROM {views} JOIN titles USING (title) "
            "WHERE number >= 0 GROUP BY 1"
        )

    def set_types(self, types: str) -> None:
        """Let a table of title and type go before the types of the rules; its last line counts."""
        self._db.run(
            "UPDATE entities SET type = given.type FROM ("
            f"SELECT number, arg_max(type, line) AS type FROM {types} JOIN titles USING (title) "
            "WHERE number >= 0 GROUP BY 1) given WHERE entities.number = given.number"
        )

    def _set_popularity(self, query: str) -> None:
        self._db.run(
            f"UPDATE entities SET popularity = given.popularity FROM ({query}) given "
            "WHERE entities.number = given.number"
        )

    def _add_red_links(self, least: int) -> int:
        """Add titles without a page that enough pages link to."""
        db = self._db
        db.run(
            "CREATE TABLE red AS SELECT title FROM ("
            "SELECT DISTINCT coalesce(r.target, l.target) AS title, l.page "
            "FROM links l "
            f"SEMI JOIN (SELECT page FROM pages WHERE kind = {ARTICLE}) a ON l.page = a.page "
            "LEFT JOIN redirects r ON l.target = r.title) named "
            f"ANTI JOIN pages p USING (title) WHERE title <> '' GROUP BY 1 "
            f"HAVING count(*) >= {least}"
        )
        db.run(
            "CREATE TABLE numbered AS SELECT row_number() OVER (ORDER BY title) AS n, * FROM red"
        )
        for low, high in db.spans("numbered", "n", 100_000):
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
        if not db.count_of("red"):
            db.run("DROP TABLE red; DROP TABLE numbered")
            return 0
        columns = {"title": "VARCHAR", "named": "TINYINT", "bare": "VARCHAR"}
        db.run(
            "INSERT INTO members SELECT title, -1, '', '', named, bare "
            f"FROM {tsv(self._folder, 'red-*.tsv', columns)}"
        )
        db.run("DROP TABLE red; DROP TABLE numbered")
        return db.number("SELECT count(*) FROM members WHERE page < 0")

    def _shards(self, kind: str, columns: dict[str, str]) -> str:
        """Return the rows of all shards of a kind, with the number of their page."""
        rows = tsv(self._folder, f"{kind}-{'[0-9]' * 6}.tsv", columns)
        return (
            f"(SELECT (right(parse_filename(filename, true), 6)::BIGINT << {PAGE_BITS}) + place "
            f"AS page, * EXCLUDE (place, filename) FROM {rows})"
        )
