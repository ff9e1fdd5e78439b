"""WikiReport: what was read for a knowledge base, what became of it, and what was left out."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DroppedPage:
    """A page that could not be used: where it stands, and why."""

    file: str
    line: int
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class PageCounts:
    """Pages of the dumps by what they are; `pages` is the sum of the others."""

    pages: int
    articles: int
    redirects: int
    disambiguation: int
    other_namespaces: int
    dropped: int
    repeated: int


@dataclass(frozen=True, slots=True)
class RedirectCounts:
    """Redirects by where they lead in the end."""

    resolved: int
    disambiguation: int
    broken: int
    cycles: int


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Links by their fate; `found` is the sum of the others.

    resolved          lead to an entity, perhaps over redirects
    missing           to a page that is not in the dumps, or a redirect that leads nowhere
    disambiguation    to a page that lists meanings
    other_namespaces  to files, categories, other wikis, or what is no title
    own_page          to the page they stand on
    listed            stand on a page that lists meanings; the first of an item is an entry
    left_out          stand on a page that was left out
    held_out          stand on a page that was held out
    """

    found: int
    resolved: int
    missing: int
    disambiguation: int
    other_namespaces: int
    own_page: int
    listed: int
    left_out: int
    held_out: int = 0


@dataclass(frozen=True, slots=True)
class NameCounts:
    """Names that were kept, and those that were not.

    anchors_empty     resolved links that show no text
    anchors_long      ... or more than a name may have
    anchors_urls      ... or a URL
    names_unusable    titles, bold names, entries that are empty or too long
    spellings_beyond  spellings of entities that have too many, the rarest
    """

    names: int
    spellings: int
    anchors_empty: int
    anchors_long: int
    anchors_urls: int
    names_unusable: int
    spellings_beyond: int


@dataclass(frozen=True, slots=True)
class FileCounts:
    """Lines of a file that was given besides the dumps."""

    file: str
    lines: int
    used: int
    unknown_titles: int
    bad: int


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """Vectors that were kept, and keys of a file that fit nothing."""

    dimensions: int
    entities: int
    words: int
    unknown: int


@dataclass(frozen=True, slots=True)
class WikiReport:
    """What a build has read and made.

    file_bytes      of the dumps on disk
    text_bytes      of the wikitext in them
    entity_links    links between entities, each once
    pairs           of entities that are linked near each other
    held_out        articles whose links and text were not counted
    dropped         pages that could not be used, the first of them; dropped_beyond: how many more
    """

    files: tuple[str, ...]
    file_bytes: int
    text_bytes: int
    entities: int
    red_entities: int
    pages: PageCounts
    redirects: RedirectCounts
    links: LinkCounts
    entity_links: int
    pairs: int
    held_out: int
    names: NameCounts
    pageviews: tuple[FileCounts, ...]
    types: tuple[FileCounts, ...]
    priors: tuple[FileCounts, ...]
    vectors: VectorCounts
    dropped: tuple[DroppedPage, ...]
    dropped_beyond: int
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Return the report as what JSON can hold."""
        return asdict(self)
