"""Settings and report of a build from plain pages."""

from dataclasses import dataclass
from typing import Literal, get_args

from sgtb.core.errors import SettingsError
from sgtb.wikipedia.build.build_report import DroppedPage, VectorCounts
from sgtb.wikipedia.build.build_settings import TableSettings

IdKey = Literal["auto", "id", "title"]


@dataclass(frozen=True)
class PagesSettings(TableSettings):
    """Limits and choices of a build from plain pages."""

    min_together: int = 2
    # field of a page that is the entity's id; a page without "id" has its title; auto: "id", but
    # "title" if one id has two titles, as in files of several wikis
    ids: IdKey = "auto"
    vectors: bool = False  # train vectors of words and entities

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ids not in get_args(IdKey):
            raise SettingsError(f"ids: {self.ids!r}; auto, id or title")

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of name counts, in the order of their numbers."""
        return "given", "page links", "names"


@dataclass(frozen=True, slots=True)
class NameUseCounts:
    """Names of pages found in the texts of pages, each once per page."""

    clear: int  # names of one page only
    decided: int  # names of several pages, decided by the links of the first kind
    undecided: int  # the rest of these
    own: int  # names of the page itself


@dataclass(frozen=True, slots=True)
class PagesReport:
    """Report of a build."""

    files: tuple[str, ...]
    pages: int  # lines read, without empty ones
    lists: int  # pages that only list others with their title, which are left out
    repeated: int  # pages with the id of an earlier page, which are left out
    ids: str  # field of a page that is the entity's id
    entities: int
    names: int
    spellings: int
    uses: NameUseCounts
    links: int
    pairs: int
    vectors: VectorCounts
    dropped: tuple[DroppedPage, ...]  # the first lines that could not be used
    dropped_beyond: int  # number of further ones
    seconds: float
