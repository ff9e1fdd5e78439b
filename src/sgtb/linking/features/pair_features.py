"""Pair features φ_E: what is computed of two candidates chosen together, declared in one place."""

from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Floats, Longs
from sgtb.core.ragged import Ragged
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.entity_source import (
    DESCRIBED,
    ENTITY_VECTORS,
    LINKS,
    WORD_VECTORS,
    Evidence,
)
from sgtb.native import list_links


class PairFeature(NamedTuple):
    """A symmetric feature of two entities: the dot product of their vectors, or 1 if linked.

    needs    the evidence without which it is left out
    vectors  returns f4[N, W] of all entities; None for a relation
    links    returns, for some ascending rows, the numbers among them that each is linked with and
             that are not below its own; None for vectors
    """

    name: str
    needs: Evidence = frozenset()
    vectors: Callable[[EntityFacts], Floats] | None = None
    links: Callable[[EntityFacts, Longs], Ragged] | None = None


def _linked(facts: EntityFacts, rows: Longs) -> Ragged:
    indptr, links = np.empty(len(rows) + 1, np.int64), np.empty(len(facts.links.indices), np.int32)
    n_links = list_links(rows, facts.links.indptr, facts.links.indices, indptr, links)
    return Ragged(indptr, links[:n_links])


def _same(_: EntityFacts, rows: Longs) -> Ragged:
    return Ragged(np.arange(len(rows) + 1), np.arange(len(rows), dtype=np.int32))


def _cosine(field: str, *needs: str) -> PairFeature:
    return PairFeature(field, frozenset(needs), vectors=attrgetter(field))


PAIRS = (
    _cosine("topic_vector", DESCRIBED),
    _cosine("description_vector", DESCRIBED, WORD_VECTORS),
    _cosine("entity_vector", ENTITY_VECTORS),
    PairFeature("linked", frozenset([LINKS]), links=_linked),
    PairFeature("same", links=_same),
)
"""All pair features: vectors first, then relations."""
