"""PagesSettings: settings of a build from plain pages."""

from dataclasses import dataclass
from typing import Literal, get_args

from sgtb.core.errors import SettingsError
from sgtb.wikipedia.build.build_settings import TableSettings

IdKey = Literal["auto", "id", "title"]


@dataclass(frozen=True)
class PagesSettings(TableSettings):
    """Limits and choices of a build from plain pages.

    ids      field of a page that is the entity's id; a page without "id" has its title; auto:
             "id", but "title" if one id has two titles, as in files of several wikis
    vectors  train vectors of words and entities
    """

    min_together: int = 2
    ids: IdKey = "auto"
    vectors: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ids not in get_args(IdKey):
            raise SettingsError(f"ids: {self.ids!r}; auto, id or title")

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of name counts, in the order of their numbers."""
        return "given", "page links", "names"
