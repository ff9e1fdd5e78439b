"""EntityTable: facts about entities, in columns by entity number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgtb.core.dtypes import Floats, Ints


@dataclass(frozen=True)
class EntityTable:
    """Entities in ascending order of their ids, which is also the order that breaks ties."""

    ids: tuple[str, ...]  # the id of each entity, as a corpus or knowledge base names it
    titles: tuple[str, ...]  # the title of its page, with spaces
    types: tuple[str, ...]  # a coarse type, "" where unknown
    in_links: Ints  # i4[N], links from other pages to it
    out_links: Ints  # i4[N], links from it to other pages
    popularity: Floats  # f4[N], any measure of popularity, NaN where unknown
    link_source: Ints  # i4[K], known links among these entities, by entity number, each once
    link_target: Ints  # i4[K], sorted by source, then target

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def number(self) -> Mapping[str, int]:
        """The number of each id."""
        return {id: i for i, id in enumerate(self.ids)}

    def numbers(self, ids: Sequence[str]) -> Ints:
        """Return the numbers of several ids; an unknown id is a KeyError."""
        return np.fromiter(map(self.number.__getitem__, ids), np.int32, len(ids))
