"""EntityBatch: consecutive entities of a list, packed by a kernel for the columns."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Ints
from sgtb.kb.layout import ROW

SIZES = ("id_size", "title_size", "description_size", "spellings_size")


class EntityBatch(NamedTuple):
    """N entities with consecutive numbers, from `first` on.

    spellings      number of all spellings
    unknown_links  links that were left out
    text           id, title, description and spellings of each
    names, ids     records of names and ids, as runs
    types          distinct names of types
    sizes          i4[N, 4]  bytes of the parts of the text
    popularity     f4[N]
    type           i4[N]  index in `types`
    stated_in      i4[N]
    stated_out     i4[N]
    n_links        i4[N]
    links          i4  targets of the links of all, ascending
    """

    first: int
    spellings: int
    unknown_links: int
    text: bytes
    names: bytes
    ids: bytes
    types: list[str]
    sizes: Ints
    popularity: npt.NDArray[np.float32]
    type: Ints
    stated_in: Ints
    stated_out: Ints
    n_links: Ints
    links: Ints

    @classmethod
    def of(cls, *fields: Any) -> "EntityBatch":
        """Return a batch of the fields that a kernel returns, with arrays as bytes."""
        *plain, sizes, popularity, type, stated_in, stated_out, n_links, links = fields
        ints = (type, stated_in, stated_out, n_links, links)
        arrays = [
            np.frombuffer(sizes, np.int32).reshape(-1, len(SIZES)),
            np.frombuffer(popularity, np.float32),
            *(np.frombuffer(values, np.int32) for values in ints),
        ]
        return cls._make([*plain, *arrays])

    def rows(
        self, text_at: int, types: npt.NDArray[np.uint8], own_types: npt.NDArray[np.uint16]
    ) -> npt.NDArray[np.void]:
        """Return the rows of the entities, whose text begins at `text_at`.

        types, own_types  numbers of the coarse and own types of `self.types`
        """
        rows = np.zeros(len(self.type), ROW)
        sizes = self.sizes.sum(axis=1, dtype=np.int64)
        rows["text_at"] = text_at + np.cumsum(sizes) - sizes
        for i, name in enumerate(SIZES):
            rows[name] = self.sizes[:, i]
        rows["stated_in"], rows["stated_out"] = self.stated_in, self.stated_out
        rows["popularity"] = self.popularity
        rows["vector"], rows["alive"] = -1, 1
        rows["type"], rows["own_type"] = types[self.type], own_types[self.type]
        return rows
