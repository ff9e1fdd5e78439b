"""Entity sources: whoever can say what is known about entities, by their numbers.

Features are made from a source and nothing else, so that a table of entities in memory and a
knowledge base on disk give the same arrays.
"""

from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from sgtb.core.dtypes import Floats, Ints, Longs
from sgtb.core.entities import EntityTable
from sgtb.core.ragged import Ragged
from sgtb.core.sparse_matrix import SparseMatrix
from sgtb.kb.entity import TYPES
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.text.text_arrays import Texts

LINKS, DESCRIPTIONS, KNOWN_TYPES = "links", "descriptions", "types"
POPULARITY, ENTITY_VECTORS = "popularity", "entity vectors"
NAME_PRIORS, WORD_VECTORS = "name priors", "word vectors"
DESCRIBED = "links or descriptions"
"""Either of the two: both describe an entity."""

Evidence = frozenset[str]
"""What there is to make features of: some of the words above."""

SMALL = 64 << 20
"""Bytes of a knowledge base that may be in memory as a whole."""
_LOOKED_AT = 1 << 16
"""Entities asked whether they have a description or a type; enough to tell, and quickly."""


class EntityRows(NamedTuple):
    """What a source says about some entities.

    in_links, out_links  counts, as the source states them
    popularity           NaN where unknown
    degree               how many links it has among the entities known
    linked               the numbers of those it is linked with, ascending
    vectors              f4[n, D]  unit length, or zero; D is 0 without entity vectors
    """

    titles: Texts
    descriptions: Texts
    types: list[str]
    in_links: Ints
    out_links: Ints
    popularity: Floats
    degree: Longs
    linked: Ragged
    vectors: Floats


class EntitySource(Protocol):
    """Who knows about entities 0 to size - 1."""

    @property
    def size(self) -> int:
        """How many numbers there are."""

    @property
    def evidence(self) -> Evidence:
        """What it has to say."""

    def rows(self, numbers: Longs) -> EntityRows:
        """Return what is known about some entities."""

    def titles(self, numbers: Longs) -> Texts:
        """Return only their titles."""

    def degrees(self, numbers: Longs) -> Longs:
        """Return only how many links they have."""

    def least_popularity(self) -> float:
        """Return what stands for the popularity of those of whom none is known."""

    def release(self) -> None:
        """Let go of what was only read on the way; much was."""


class TableSource:
    """A table of entities; its links count either way."""

    def __init__(self, table: EntityTable) -> None:
        self._table = table

    @property
    def size(self) -> int:
        """How many entities the table has."""
        return len(self._table)

    @property
    def evidence(self) -> Evidence:
        """What the table holds."""
        table = self._table
        held = {
            LINKS: len(table.link_source) > 0,
            KNOWN_TYPES: any(table.types),
            POPULARITY: bool((~np.isnan(table.popularity)).any()),
        }
        return frozenset(name for name, there in held.items() if there)

    @cached_property
    def _linked(self) -> SparseMatrix:
        source, target, n = self._table.link_source, self._table.link_target, self.size
        return SparseMatrix.of(
            np.concatenate([source, target]), np.concatenate([target, source]),
            np.ones(2 * len(source)), (n, n),
        )  # fmt: skip

    def rows(self, numbers: Longs) -> EntityRows:
        """Return what is known about some entities."""
        table, n = self._table, len(numbers)
        linked = Ragged(self._linked.indptr, self._linked.indices)
        return EntityRows(
            self.titles(numbers), Texts.of([""] * n), [table.types[i] for i in numbers],
            table.in_links[numbers], table.out_links[numbers], table.popularity[numbers],
            self.degrees(numbers), linked.take(numbers), np.zeros((n, 0), np.float32),
        )  # fmt: skip

    def titles(self, numbers: Longs) -> Texts:
        """Return only their titles."""
        return Texts.of([self._table.titles[i] for i in numbers.tolist()])

    def degrees(self, numbers: Longs) -> Longs:
        """Return only how many links they have."""
        degrees: Longs = np.diff(self._linked.indptr)[numbers]
        return degrees

    def least_popularity(self) -> float:
        """Return the lowest there is."""
        return _least(self._table.popularity)

    def release(self) -> None:
        """Do nothing: a table is in memory anyway."""


class KbSource:
    """A knowledge base. It knows whom an entity links to; who links to it, it only counts."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    @property
    def size(self) -> int:
        """How many numbers are taken, those of removed entities included."""
        return len(self._kb.rows)

    @property
    def evidence(self) -> Evidence:
        """What the knowledge base holds."""
        kb, rows = self._kb, self._kb.rows[:_LOOKED_AT]
        held = {
            LINKS: kb.state.links > 0,
            DESCRIPTIONS: bool((rows["description_size"] > 0).any()),
            KNOWN_TYPES: bool((rows["type"] > 0).any()),
            POPULARITY: bool((~np.isnan(rows["popularity"])).any()),
            ENTITY_VECTORS: bool((rows["vector"] >= 0).any()),
            NAME_PRIORS: True,
        }
        return frozenset(name for name, there in held.items() if there)

    def rows(self, numbers: Longs) -> EntityRows:
        """Return what is known about some entities."""
        kb, rows = self._kb, self._kb.rows[numbers]
        return EntityRows(
            kb.titles(numbers), kb.descriptions(numbers),
            [TYPES[type_] for type_ in rows["type"].tolist()],
            np.where(rows["stated_in"] >= 0, rows["stated_in"], rows["in_links"]).astype(np.int32),
            np.where(rows["stated_out"] >= 0, rows["stated_out"], rows["links"]).astype(np.int32),
            rows["popularity"].astype(np.float32),
            np.maximum(rows["links"], rows["in_links"]).astype(np.int64),
            kb.link_lists(numbers.astype(np.int32)),
            kb.vectors(numbers.astype(np.int32)),
        )  # fmt: skip

    def titles(self, numbers: Longs) -> Texts:
        """Return only their titles."""
        return self._kb.titles(numbers)

    def degrees(self, numbers: Longs) -> Longs:
        """Return only how many links they have, out or in, whichever is more."""
        rows = self._kb.rows
        degrees: Longs = np.maximum(rows["links"][numbers], rows["in_links"][numbers])
        return degrees.astype(np.int64)

    def least_popularity(self) -> float:
        """Return the lowest among the entities looked at."""
        return _least(self._kb.rows["popularity"][:_LOOKED_AT])

    def release(self) -> None:
        """Let go of pages of files, if there are many."""
        if self._kb.size > SMALL:
            self._kb.release()


def _least(popularity: Floats) -> float:
    known = popularity[~np.isnan(popularity)]
    return float(known.min()) if len(known) else 0.0
