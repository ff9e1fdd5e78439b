"""Entity, Candidate and Alias: results of look-ups, as records and as arrays."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

TYPES = ("", "PER", "ORG", "LOC", "MISC")  # coarse types by their number on disk; "": unknown


@dataclass(frozen=True, slots=True)
class Alias:
    """A spelling of an entity with its count in a source."""

    name: str
    source: str
    count: int


class Candidate(NamedTuple):
    """A candidate entity of a name; a tuple, which is created faster than a dataclass.

    prior   P(entity | name), the mean over the sources that have the name
    counts  count per source, in the order of the knowledge base's `sources`
    """

    id: str
    number: int
    title: str
    prior: float
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of the knowledge base.

    popularity  any measure; NaN: unknown
    in_links    number of links to it, as stated by the source, else of this knowledge base
    out_links   number of links from it, likewise
    links       ids of the entities it links to
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
    """Candidates of names, those of name i from offsets[i] on; `variant`: only by a variant."""

    offsets: npt.NDArray[np.int64]
    entity: npt.NDArray[np.int32]
    prior: npt.NDArray[np.float32]
    variant: npt.NDArray[np.bool_]


class SimilarNames(NamedTuple):
    """Names similar to others, most similar first; CSR as above, `scores` f4[n, len(SCORES)]."""

    offsets: npt.NDArray[np.int64]
    names: list[str]
    scores: npt.NDArray[np.float32]


class NameHeads(NamedTuple):
    """Per name: whether it is known, and how."""

    known: npt.NDArray[np.bool_]
    linked: npt.NDArray[np.uint32]  # pages on which it is a link
    pages: npt.NDArray[np.uint32]  # pages on which it occurs
    variant: npt.NDArray[np.bool_]  # whether it is only a variant of other names
