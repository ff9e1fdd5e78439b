"""PageLinks: entities, names and links, counted from the rows of plain pages.

Tables, in the order of their creation; those marked * are sorted by their first columns. Further
ones are those of `LinkTables`:

    all_pages     rows of all pages
    entities      number, id, title, page, type, description, popularity; by the bytes of the id
    owners *      page, number: the entity of every page that is one
    named         number, page, text, kind, use, hash: all names of entities
    matches       page, ordinal, line, word, hash, lower: names found in texts
    meanings      hash, number, is_title, text: entities of a name
    senses        hash, count, number: number of these, and one of them
    uses *        matches without common words, with their source and outcome
    decided       page, hash, number: ambiguous names that were decided
"""

from collections.abc import Iterator

import numpy as np

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb.build.usable_names import USABLE
from sgtb.pages.cased_text import NameMatches, NameTable
from sgtb.pages.page_lines import NAME_COLUMNS, PAGE_COLUMNS, TITLE
from sgtb.pages.pages_settings import IdKey, NameUseCounts
from sgtb.wikipedia.build.duckdb_store import Arrays
from sgtb.wikipedia.build.page_counters import PAGE_BITS
from sgtb.wikipedia.build.wiki_counts import LISTED, OWN, RESOLVED, LinkTables

_COMMON_SHARE = 0.005
_COMMON_PAGES = 20
"""A lower-case name on a larger share of pages, and on more pages, is a common word."""
_MAX_MEANINGS = 64  # names of more entities stay undecided
_BATCH = 200_000

_CLEAR, _OPEN, _OWN = 0, 1, 2


class PageLinks(LinkTables):
    """The tables of a build from plain pages."""

    def load_pages(self, ids: IdKey) -> tuple[int, int, IdKey]:
        """Create `entities`, `owners`, `named`; return numbers of lists and repeats, and the id."""
        db = self._db
        self.load_shards("all_pages", "pages", PAGE_COLUMNS)
        self.load_shards("stated_names", "names", NAME_COLUMNS)
        used = self._set_ids(ids)
        if used == "title":
            # Pages of several wikis with similar titles, if of one type, get the id of the first.
            db.run(
                "UPDATE all_pages SET id = same.id FROM (SELECT key, arg_min(id, page) AS id "
                "FROM all_pages WHERE lists = 0 GROUP BY key HAVING min(id) <> max(id) "
                "AND count(DISTINCT nullif(type, '')) < 2) same "
                "WHERE all_pages.key = same.key AND lists = 0"
            )
        db.group("first_pages", "id, min(page) AS page", "all_pages", "id")
        repeated = db.count_of("all_pages") - db.count_of("first_pages")
        db.run(
            "CREATE TABLE entities AS SELECT (row_number() OVER (ORDER BY p.id) - 1)::INTEGER "
            "AS number, p.id, p.title, p.page, p.type, p.description, 0.0::DOUBLE AS popularity "
            "FROM all_pages p SEMI JOIN first_pages f USING (page) WHERE p.lists = 0 ORDER BY p.id"
        )
        lists = db.count_of("first_pages") - db.count_of("entities")
        db.run("CREATE TABLE owners AS SELECT page, number FROM entities ORDER BY page")
        db.run(
            "CREATE TABLE named AS SELECT e.number, n.page, n.name AS text, n.kind, n.use, n.hash "
            "FROM stated_names n JOIN all_pages p USING (page) JOIN entities e USING (id)"
        )
        db.run("DROP TABLE all_pages; DROP TABLE first_pages; DROP TABLE stated_names")
        db.run(
            "CREATE TABLE matches (page BIGINT, ordinal INTEGER, line INTEGER, word INTEGER, "
            "hash UBIGINT, lower UTINYINT)"
        )
        return lists, repeated, used

    def _set_ids(self, ids: IdKey) -> IdKey:
        """Return the field that is the id: titles, or an error, if one id has two titles."""
        found = self._db.rows(
            "SELECT id, min(title), max(title) FROM all_pages GROUP BY id "
            "HAVING min(title) <> max(title) ORDER BY id LIMIT 1"
        )
        if found and ids == "auto":
            self._db.run("UPDATE all_pages SET id = title")
            return "title"
        for id, one, other in found:
            raise KnowledgeBaseError(
                f"id {id!r} is that of {one!r} and of {other!r}; give pages with unique ids, or "
                "take titles as ids with --ids title"
            )
        return "title" if ids == "title" else "id"

    def name_table(self) -> NameTable:
        """Return the names that are searched in texts."""
        found = self._db.arrays(
            "SELECT hash, bit_or(use)::UTINYINT AS use FROM named WHERE use > 0 "
            "GROUP BY hash ORDER BY hash"
        )
        return NameTable.of(found["hash"], found["use"])

    def add_matches(self, chunk: int, found: NameMatches) -> None:
        """Add the names found in the texts of a chunk."""
        self._db.append(
            "matches",
            {
                "page": (chunk << PAGE_BITS) + found.page.astype(np.int64),
                "ordinal": np.arange(len(found.page), dtype=np.int32),
                "line": found.line,
                "word": found.word,
                "hash": found.hash,
                "lower": found.lower,
            },
        )

    def sort_uses(self) -> None:
        """Create `meanings`, `senses` and `uses`."""
        db = self._db
        db.run(
            "CREATE TABLE meanings AS SELECT hash, number, min(kind) = "
            f"{TITLE} AS is_title, min(text) AS text FROM named WHERE use > 0 GROUP BY 1, 2"
        )
        db.run(
            "CREATE TABLE senses AS SELECT hash, count(*) AS count, min(number) AS number "
            "FROM meanings GROUP BY 1"
        )
        most = max(_COMMON_PAGES, int(_COMMON_SHARE * db.count_of("owners")))
        db.run(
            "CREATE TABLE common AS SELECT hash FROM matches WHERE lower = 1 GROUP BY 1 "
            f"HAVING count(*) > {most}"
        )
        db.run(
            "CREATE TABLE uses AS SELECT m.page, m.ordinal, m.line, m.word, m.hash, "
            "o.number AS source, s.number, "
            f"CASE WHEN own.number IS NOT NULL THEN {_OWN} WHEN s.count = 1 THEN {_CLEAR} "
            f"ELSE {_OPEN} END::TINYINT AS kind "
            "FROM matches m JOIN owners o USING (page) JOIN senses s USING (hash) "
            "LEFT JOIN common c ON m.hash = c.hash AND m.lower = 1 "
            "LEFT JOIN meanings own ON m.hash = own.hash AND o.number = own.number "
            "WHERE c.hash IS NULL ORDER BY m.page, m.ordinal"
        )
        db.run("DROP TABLE matches; DROP TABLE common")
        db.run("CREATE TABLE decided (page BIGINT, hash UBIGINT, number INTEGER)")

    def clear_links(self) -> Arrays:
        """Return the distinct links by clear names, as source and target."""
        return self._db.arrays(
            f"SELECT DISTINCT source, number AS target FROM uses WHERE kind = {_CLEAR} "
            "ORDER BY source, target"
        )

    def open_uses(self) -> Iterator[tuple[Arrays, Arrays]]:
        """Yield, by ranges of pages, the meanings of ambiguous names and the pages' clear links.

        Meanings have page, hash, number, is_title, links page and number; a page's own entity is
        one of the latter.
        """
        for low, high in self._db.key_ranges("uses", "page", _BATCH):
            meanings = self._db.arrays(
                "SELECT u.page, u.hash, m.number, m.is_title FROM uses u "
                "JOIN senses s USING (hash) JOIN meanings m USING (hash) "
                "WHERE u.page BETWEEN $1 AND $2 "
                f"AND u.kind = {_OPEN} AND s.count <= {_MAX_MEANINGS} "
                "ORDER BY u.page, u.ordinal, m.number",
                low, high,
            )  # fmt: skip
            links = self._db.arrays(
                "SELECT page, number FROM ("
                f"SELECT DISTINCT page, number FROM uses WHERE kind = {_CLEAR} "
                "AND page BETWEEN $1 AND $2 "
                "UNION SELECT page, number FROM owners WHERE page BETWEEN $1 AND $2) "
                "ORDER BY page, number",
                low, high,
            )  # fmt: skip
            yield meanings, links

    def make_links(self) -> NameUseCounts:
        """Create `found` from clear and decided names."""
        db = self._db
        db.run(
            "CREATE TABLE found AS SELECT u.page, u.ordinal, u.line, u.word, m.text AS anchor, "
            f"{USABLE} AS use, u.hash, u.source, u.fate::TINYINT AS fate, u.number FROM ("
            "SELECT u.*  EXCLUDE (number), "
            f"CASE WHEN u.kind = {_OWN} THEN {OWN} WHEN u.kind = {_CLEAR} OR d.number IS NOT NULL "
            f"THEN {RESOLVED} ELSE {LISTED} END AS fate, "
            f"CASE u.kind WHEN {_CLEAR} THEN u.number WHEN {_OPEN} THEN coalesce(d.number, -1) "
            "ELSE -1 END AS number FROM uses u "
            "LEFT JOIN decided d ON u.page = d.page AND u.hash = d.hash) u "
            "LEFT JOIN meanings m ON u.hash = m.hash AND u.number = m.number"
        )
        rows = db.rows("SELECT kind, count(*) FROM uses GROUP BY 1")
        counts = dict(rows)
        decided = db.count_of("decided")
        db.run("DROP TABLE uses; DROP TABLE decided; DROP TABLE meanings; DROP TABLE senses")
        return NameUseCounts(
            clear=counts.get(_CLEAR, 0),
            decided=decided,
            undecided=counts.get(_OPEN, 0) - decided,
            own=counts.get(_OWN, 0),
        )

    def count_all(self) -> tuple[int, int]:
        """Create the tables of `LinkTables`; return the numbers of links and spellings.

        A page counts as one that links its own names, so that the link probability of a name that
        no other page has is 1.
        """
        edges = self.place_links()
        self.count_linked_pages(
            "SELECT hash, page FROM found UNION ALL SELECT hash, page FROM named WHERE use > 0"
        )
        self.count_linking_pages()
        self.count_anchors()
        self.count_named()
        return edges, self.sort_spellings()
