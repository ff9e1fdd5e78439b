"""HoldOut: pages of a dump that are not counted, for training and testing.

A knowledge base counts the links of its dump, so a linker trained or tested on the links of the
same pages would see its own labels. Held-out pages are entities with title, description and type,
but their links and their text are not counted. Which pages these are depends on their titles only.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from sgtb.core.errors import SettingsError

Split = Literal["train", "dev", "test"]
SPLITS: dict[Split, float] = {"test": 0.25, "dev": 0.25, "train": 0.5}
"""Shares of the held-out pages."""


@dataclass(frozen=True)
class HoldOut:
    """Rule that selects held-out pages by the hash of their titles."""

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
