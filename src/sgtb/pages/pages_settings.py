"""PagesSettings: settings of a build from plain pages."""

from dataclasses import dataclass
from typing import Literal, get_args

from sgtb.core.errors import SettingsError
from sgtb.kb.layout import MAX_DIMENSIONS
from sgtb.wikipedia.build.build_settings import MIN_MEMORY

IdKey = Literal["auto", "id", "title"]


@dataclass(frozen=True)
class PagesSettings:
    """Limits and choices of a build.

    workers       processes that read pages and find names
    memory        memory limit in bytes
    ids           field of a page that is the entity's id; a page without "id" has its title; auto:
                  "id", but "title" if one id has two titles, as in files of several wikis
    vectors       train vectors of words and entities
    dimensions    of these
    min_count     minimum frequency of words and entities that get a vector
    min_together  minimum number of pages for a pair of entities that are linked near each other
    strict        raise on unreadable lines instead of leaving them out
    """

    workers: int = 1
    memory: int = 1 << 30
    ids: IdKey = "auto"
    vectors: bool = False
    dimensions: int = 100
    min_count: int = 5
    min_together: int = 2
    strict: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= 1024:
            raise SettingsError(f"workers: {self.workers}; from 1 to 1024")
        if self.memory < MIN_MEMORY:
            raise SettingsError(
                f"memory: {self.memory:,} bytes; a build needs at least {MIN_MEMORY:,}"
            )
        if self.ids not in get_args(IdKey):
            raise SettingsError(f"ids: {self.ids!r}; auto, id or title")
        if not 1 <= self.dimensions <= MAX_DIMENSIONS:
            raise SettingsError(f"dimensions: {self.dimensions}; from 1 to {MAX_DIMENSIONS}")
        for name in ("min_count", "min_together"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name}: {getattr(self, name)}; 1 or more")

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of name counts, in the order of their numbers."""
        return "given", "page links", "names"
