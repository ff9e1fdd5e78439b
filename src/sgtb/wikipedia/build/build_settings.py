"""Settings of builds from many pages, and of those from Wikipedia dumps."""

from dataclasses import dataclass, field
from pathlib import Path

from sgtb.core.errors import SettingsError
from sgtb.core.settings import check_integer
from sgtb.kb.build.entity_fields import MAX_SOURCES
from sgtb.kb.layout import MAX_DIMENSIONS
from sgtb.wikipedia.build.hold_out import HoldOut

MIN_MEMORY = 256 << 20
MAX_PRIORS = MAX_SOURCES - 3


@dataclass(frozen=True)
class TableSettings:
    """Limits of a build.

    workers       processes that read pages
    memory        memory limit in bytes
    dimensions    of trained vectors
    min_count     minimum frequency of words and entities that get a trained vector
    min_together  minimum number of pages for a pair of entities that are linked near each other
    strict        raise on unreadable pages instead of leaving them out
    """

    workers: int = 1
    memory: int = 1 << 30
    dimensions: int = 100
    min_count: int = 5
    min_together: int = 1
    strict: bool = False

    def __post_init__(self) -> None:
        if self.memory < MIN_MEMORY:
            raise SettingsError(
                f"memory: {self.memory:,} bytes; a build needs at least {MIN_MEMORY:,}"
            )
        check_integer("workers", self.workers, 1, 1024)
        check_integer("dimensions", self.dimensions, 1, MAX_DIMENSIONS)
        check_integer("min_count", self.min_count, 1, 2**31)
        check_integer("min_together", self.min_together, 1, 2**31)


@dataclass(frozen=True)
class WikiSettings(TableSettings):
    """Inputs and limits of a build from dumps.

    pageviews  files of page views, for popularity; default: number of linking pages
    types      TSV of title and type; takes precedence over types found by rules
    priors     TSVs of name, title and count, each a source of its own
    vectors    "none", "train", or the path of a vector file
    red_links  minimum number of linking pages for an entity without a page; 0: none
    hold_out   pages whose links and text are not counted, for training and testing
    """

    pageviews: tuple[Path, ...] = ()
    types: Path | None = None
    priors: tuple[Path, ...] = ()
    vectors: str | Path = "none"
    red_links: int = 0
    hold_out: HoldOut = field(default_factory=HoldOut)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("red_links", self.red_links, 0, 2**31)
        if len(self.priors) > MAX_PRIORS:
            raise SettingsError(f"priors: {len(self.priors)} files; at most {MAX_PRIORS}")
        stems = [path.stem for path in self.priors]
        reserved = ("given", "anchors", "names")
        for i, stem in enumerate(stems):
            if stem in reserved or stem in stems[:i]:
                raise SettingsError(
                    f"priors: {self.priors[i]}: the source {stem!r} already exists; rename the file"
                )

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of name counts, in the order of their numbers."""
        return ("given", "anchors", "names", *(path.stem for path in self.priors))
