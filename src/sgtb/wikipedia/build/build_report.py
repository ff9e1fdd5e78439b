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

    resolved: int = 0
    disambiguation: int = 0
    broken: int = 0
    cycles: int = 0


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Links by outcome; `found` is the sum of the others."""

    found: int
    resolved: int  # to an entity, directly or by redirects
    missing: int  # to a page that is not in the dumps, or to a broken redirect
    disambiguation: int  # to a disambiguation page
    other_namespaces: int  # to files, categories, other wikis and invalid titles
    own_page: int  # to the page itself
    listed: int  # on a disambiguation page, where the first link of an item is an entry
    left_out: int  # on a page that was left out
    held_out: int = 0  # on a page that was held out


@dataclass(frozen=True, slots=True)
class NameCounts:
    """Names that were kept, and those that were not."""

    names: int
    spellings: int
    anchors_empty: int  # resolved links without anchor text
    anchors_long: int  # resolved links whose anchor text is too long for a name
    anchors_urls: int  # resolved links whose anchor text is a URL
    names_unusable: int  # titles, bold names and entries that are empty or too long
    spellings_beyond: int  # the rarest spellings of entities that have too many


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
    """Report of a build."""

    files: tuple[str, ...]
    file_bytes: int  # size of the dumps on disk
    text_bytes: int  # size of their wikitext
    entities: int
    red_entities: int
    pages: PageCounts
    redirects: RedirectCounts
    links: LinkCounts
    entity_links: int  # distinct links between entities
    pairs: int  # pairs of entities that are linked near each other
    held_out: int  # articles whose links and text were not counted
    names: NameCounts
    pageviews: tuple[FileCounts, ...]
    types: tuple[FileCounts, ...]
    priors: tuple[FileCounts, ...]
    vectors: VectorCounts
    dropped: tuple[DroppedPage, ...]  # the first pages that could not be used
    dropped_beyond: int  # number of further ones
    seconds: float
