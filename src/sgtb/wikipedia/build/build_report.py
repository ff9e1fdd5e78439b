"""WikiReport: counts of what a build has read, used and left out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DroppedPage:
    """A page that could not be used, with the reason."""

    file: str
    line: int
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class PageCounts:
    """Pages of the dumps by kind; `pages` is the sum of the others."""

    pages: int
    articles: int
    redirects: int
    disambiguation: int
    other_namespaces: int
    dropped: int
    repeated: int


@dataclass(frozen=True, slots=True)
class RedirectCounts:
    """Redirects by their final target."""

    resolved: int
    disambiguation: int
    broken: int
    cycles: int


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Links by outcome; `found` is the sum of the others.

    resolved          to an entity, directly or by redirects
    missing           to a page that is not in the dumps, or to a broken redirect
    disambiguation    to a disambiguation page
    other_namespaces  to files, categories, other wikis and invalid titles
    own_page          to the page itself
    listed            on a disambiguation page, where the first link of an item is an entry
    left_out          on a page that was left out
    held_out          on a page that was held out
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

    anchors_empty     resolved links without anchor text
    anchors_long      resolved links whose anchor text is too long for a name
    anchors_urls      resolved links whose anchor text is a URL
    names_unusable    titles, bold names and entries that are empty or too long
    spellings_beyond  the rarest spellings of entities that have too many
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
    """Lines of a side file."""

    file: str
    lines: int
    used: int
    unknown_titles: int
    bad: int


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """Vectors that were kept; `unknown` are keys of a vector file that match nothing."""

    dimensions: int
    entities: int
    words: int
    unknown: int


@dataclass(frozen=True, slots=True)
class WikiReport:
    """Report of a build.

    file_bytes      size of the dumps on disk
    text_bytes      size of their wikitext
    entity_links    distinct links between entities
    pairs           pairs of entities that are linked near each other
    held_out        articles whose links and text were not counted
    dropped         the first pages that could not be used
    dropped_beyond  number of further ones
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
