"""WikiSettings: how a knowledge base is built from Wikipedia dumps."""

from dataclasses import dataclass, field
from pathlib import Path

from sgtb.core.errors import SettingsError
from sgtb.kb.build.entity_lines import MAX_SOURCES
from sgtb.kb.layout import MAX_DIMENSIONS
from sgtb.wikipedia.build.hold_out import HoldOut

LEAST_MEMORY = 256 << 20
MOST_PRIORS = MAX_SOURCES - 3


@dataclass(frozen=True)
class WikiSettings:
    """What to build, and with what.

    workers       processes that read pages
    memory        bytes that the build may hold, whatever the size of the dumps
    pageviews     files of page views: popularity; without them it is the pages that link
    types         a TSV of title and type, which go before the types found by rules
    priors        TSVs of name, title and count, each a source of its own
    vectors       "none", "train", or the path of a file of vectors
    dimensions    of vectors that are trained
    min_count     how often a word or an entity must occur to get a vector
    red_links     from how many pages a title without a page must be linked to be an entity; 0: none
    min_together  in how many pages two entities must be met to be kept as a pair
    hold_out      pages whose links and text are not counted, to learn from and to test with
    strict        refuse damaged dumps instead of leaving out what is damaged
    """

    workers: int = 1
    memory: int = 1 << 30
    pageviews: tuple[Path, ...] = ()
    types: Path | None = None
    priors: tuple[Path, ...] = ()
    vectors: str | Path = "none"
    dimensions: int = 100
    min_count: int = 5
    red_links: int = 0
    min_together: int = 1
    hold_out: HoldOut = field(default_factory=HoldOut)
    strict: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= 1024:
            raise SettingsError(f"workers: {self.workers}; from 1 to 1024")
        if self.memory < LEAST_MEMORY:
            raise SettingsError(
                f"memory: {self.memory:,} bytes; a build needs {LEAST_MEMORY:,} at least"
            )
        if not 1 <= self.dimensions <= MAX_DIMENSIONS:
            raise SettingsError(f"dimensions: {self.dimensions}; from 1 to {MAX_DIMENSIONS}")
        if self.min_count < 1:
            raise SettingsError(f"min_count: {self.min_count}; 1 or more")
        if self.red_links < 0:
            raise SettingsError(f"red_links: {self.red_links}; 0 or more")
        if self.min_together < 1:
            raise SettingsError(f"min_together: {self.min_together}; 1 or more")
        if len(self.priors) > MOST_PRIORS:
            raise SettingsError(f"priors: {len(self.priors)} files; at most {MOST_PRIORS}")
        stems = [path.stem for path in self.priors]
        taken = ("given", "anchors", "names")
        for i, stem in enumerate(stems):
            if stem in taken or stem in stems[:i]:
                raise SettingsError(
                    f"priors: {self.priors[i]} would be the source {stem!r}, which there is "
                    "already; give the file another name"
                )

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of name counts, in the order in which a knowledge base numbers them."""
        return ("given", "anchors", "names", *(path.stem for path in self.priors))
