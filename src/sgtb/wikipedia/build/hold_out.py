"""HoldOut: pages of a dump that keep their links to themselves, to learn from and to test with.

A knowledge base has counted the links of its dump: how often a name means what, who is linked
with whom. A linker that is trained or tested on the links of the same pages would be asked what
it has been told. So some pages are held out: they are entities like all others, with title,
description and type, but none of their links is counted, nor a word of their text.

Which pages these are is told by their titles alone, whatever the dump and the order of its pages.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from sgtb.core.errors import SettingsError

Split = Literal["train", "dev", "test"]
SPLITS: dict[Split, float] = {"test": 0.25, "dev": 0.25, "train": 0.5}
"""What becomes of the pages held out, by their place."""
_PLACES = 1 << 64


@dataclass(frozen=True)
class HoldOut:
    """Which pages are held out.

    share  of all pages, below 1; 0: none
    turn   where among the places of titles the share begins: other turns hold out other pages
    """

    share: float = 0.0
    turn: float = 0.0

    def __post_init__(self) -> None:
        for name in ("share", "turn"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
                raise SettingsError(f"hold-out: the {name} is {value!r}; give 0 to below 1")

    def split(self, title: str) -> Split | None:
        """Return what a page is held out for; None: it is counted."""
        if not self.share:
            return None
        place = (place_of(title) - self.turn) % 1.0 / self.share
        for split, part in SPLITS.items():
            if place < part:
                return split
            place -= part
        return None


def place_of(title: str) -> float:
    """Return a title's place from 0 to below 1, as good as drawn at random."""
    number = int.from_bytes(blake2b(title.encode(), digest_size=8).digest(), "big")
    return number / _PLACES
