"""Entity, Candidate and Alias: what a knowledge base answers, one by one and in arrays."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

TYPES = ("", "PER", "ORG", "LOC", "MISC")
"""The coarse types, by the number that stands for them on disk; "" where it is unknown."""


@dataclass(frozen=True, slots=True)
class Alias:
    """A spelling that an entity goes by: how often, according to which source."""

    name: str
    source: str
    count: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that a name may mean.

    prior   how likely, by the name alone: the mean over the sources that know the name
    counts  how often each source saw it, in the order of the knowledge base's `sources`
    """

    id: str
    number: int
    title: str
    prior: float
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entity:
    """What is known about an entity.

    popularity  any measure of fame, NaN where unknown
    in_links    links to it and from it: as the source states them, else those known here
    out_links
    links       the ids of the entities it links to
    """

    id: str
    number: int
    title: str
    description: str
    type: str
    popularity: float
    in_links: int
    out_links: int
    aliases: tuple[Alias, ...]
    links: tuple[str, ...]


class CandidateLists(NamedTuple):
    """The candidates of several names: those of name i are items offsets[i] to offsets[i + 1]."""

    offsets: npt.NDArray[np.int64]
    entity: npt.NDArray[np.int32]
    prior: npt.NDArray[np.float32]


class NameHeads(NamedTuple):
    """Of several names: whether there is such a name, pages that link it, pages that hold it."""

    known: npt.NDArray[np.bool_]
    linked: npt.NDArray[np.uint32]
    pages: npt.NDArray[np.uint32]
