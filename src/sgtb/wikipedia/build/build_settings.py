"""Settings of builds from many pages, and of those from Wikipedia dumps."""

from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from sgtb.core.errors import SettingsError
from sgtb.core.settings import check_integer
from sgtb.kb.build.entity_fields import MAX_SOURCES
from sgtb.kb.layout import MAX_DIMENSIONS

MIN_MEMORY = 256 << 20
_SOURCES = ("given", "anchors", "names")
MAX_PRIORS = MAX_SOURCES - len(_SOURCES)


@dataclass(frozen=True)
class TableSettings:
    """Limits of a build."""

    workers: int = 1  # processes that read pages
    memory: int = 1 << 30  # memory limit in bytes
    dimensions: int = 100  # of trained vectors
    min_count: int = 5  # minimum frequency of words and entities with a trained vector
    min_together: int = 1  # minimum number of pages that link a pair of entities near each other
    strict: bool = False  # raise on unreadable pages instead of leaving them out

    def __post_init__(self) -> None:
        if self.memory < MIN_MEMORY:
            raise SettingsError(
                f"memory: {self.memory:,} bytes; a build needs at least {MIN_MEMORY:,}"
            )
        check_integer("workers", self.workers, 1, 1024)
        check_integer("dimensions", self.dimensions, 1, MAX_DIMENSIONS)
        check_integer("min_count", self.min_count, 1, 2**31)
        check_integer("min_together", self.min_together, 1, 2**31)


Split = Literal["train", "dev", "test"]
SPLITS: dict[Split, float] = {"test": 0.25, "dev": 0.25, "train": 0.5}
"""Shares of the held-out pages."""


@dataclass(frozen=True)
class HoldOut:
    """Rule that selects pages that are not counted, for training and testing.

    A knowledge base counts the links of its dump, so a linker trained or tested on the links of the
    same pages would see its own labels. Held-out pages are entities with title, description and
    type, but their links and their text are not counted. They are chosen by hashes of their titles.
    """

    share: float = 0.0  # share of all pages, below 1; 0: none
    turn: float = 0.0  # start of the range of hashes, below 1; other values select other pages

    def __post_init__(self) -> None:
        for name in ("share", "turn"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
                raise SettingsError(f"hold-out: the {name} is {value!r}; give 0 or more, below 1")

    def split(self, title: str) -> Split | None:
        """Return the split that a page is held out for; None: it is counted."""
        if not self.share:
            return None
        position = (title_hash(title) - self.turn) % 1.0 / self.share
        for split, part in SPLITS.items():
            if position < part:
                return split
            position -= part
        return None


def title_hash(title: str) -> float:
    """Return a hash of a title, uniform from 0 to below 1."""
    number = int.from_bytes(blake2b(title.encode(), digest_size=8).digest(), "big")
    return number / (1 << 64)


@dataclass(frozen=True)
class WikiSettings(TableSettings):
    """Inputs and limits of a build from dumps."""

    pageviews: tuple[Path, ...] = ()  # for popularity; default: number of linking pages
    types: Path | None = None  # TSV of title and type; takes precedence over rules
    priors: tuple[Path, ...] = ()  # TSVs of name, title and count, each a source of its own
    vectors: str | Path = "none"  # "none", "train", or the path of a vector file
    red_links: int = 0  # minimum number of linking pages of an entity without page; 0: none
    hold_out: HoldOut = field(default_factory=HoldOut)  # pages that are not counted

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("red_links", self.red_links, 0, 2**31)
        if len(self.priors) > MAX_PRIORS:
            raise SettingsError(f"priors: {len(self.priors)} files; at most {MAX_PRIORS}")
        stems = [path.stem for path in self.priors]
        for i, stem in enumerate(stems):
            if stem in (*_SOURCES, *stems[:i]):
                raise SettingsError(
                    f"priors: {self.priors[i]}: the source {stem!r} already exists; rename the file"
                )

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of name counts, in the order of their numbers."""
        return (*_SOURCES, *(path.stem for path in self.priors))
