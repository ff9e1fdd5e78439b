"""PagesReport: counts of what a build from plain pages has read, found and left out."""

from dataclasses import dataclass

from sgtb.wikipedia.build.build_report import DroppedPage, VectorCounts


@dataclass(frozen=True, slots=True)
class NameUseCounts:
    """Names of pages found in the texts of pages, each once per page.

    clear      names of one page only
    decided    names of several pages, decided by the links of the first kind
    undecided  the rest of these
    own        names of the page itself
    """

    clear: int
    decided: int
    undecided: int
    own: int


@dataclass(frozen=True, slots=True)
class PagesReport:
    """Report of a build.

    pages           lines read, without empty ones
    lists           pages that only list others with their title, which are left out
    repeated        pages with the id of an earlier page, which are left out
    ids             field of a page that is the entity's id
    dropped         the first lines that could not be used
    dropped_beyond  number of further ones
    """

    files: tuple[str, ...]
    pages: int
    lists: int
    repeated: int
    ids: str
    entities: int
    names: int
    spellings: int
    uses: NameUseCounts
    links: int
    pairs: int
    vectors: VectorCounts
    dropped: tuple[DroppedPage, ...]
    dropped_beyond: int
    seconds: float
