"""Packing: choices and their features become the learner's problems."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from sgtb.learn.dtypes import Floats, Longs
from sgtb.learn.pairs import PairTable, TablePairs
from sgtb.learn.problems import Problems
from sgtb.linking.choices import Choices
from sgtb.linking.facts import EntityFacts
from sgtb.linking.nodes import Nodes
from sgtb.linking.schema import SCHEMA, Schema
from sgtb.linking.segments import group_of
from sgtb.linking.slices import sliced


def pair_table(facts: EntityFacts, schema: Schema = SCHEMA, rows: Longs | None = None) -> PairTable:
    """Return the features of two candidates chosen together, in the schema's order.

    rows  ascending: of the entities that it is about, if not about all
    """
    own = np.arange(len(facts)) if rows is None else rows
    n = len(own)
    place = np.full(len(facts), -1, np.int64)
    place[own] = np.arange(n)
    links = sliced(facts.links.columns, facts.links.offsets[own], facts.links.offsets[own + 1])
    one, other = group_of(links.offsets), place[links.items]
    above = one < other
    each = np.arange(n)
    relations: dict[str, tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]] = {
        "linked": (one[above], other[above], np.ones(int(above.sum()))),
        "same": (each, each, np.ones(n)),
    }
    vectors = [getattr(facts, name) for name in schema.pairs if name not in relations]
    return PairTable.build(
        n,
        vectors if rows is None else [some.take(rows, 0) for some in vectors],
        [relations[name] for name in schema.pairs if name in relations],
    )


def pack(
    choices: Choices,
    features: Floats,
    pairs: PairTable,
    without: Collection[str] = (),
    schema: Schema = SCHEMA,
) -> Problems:
    """Return the problems of some documents, leaving out the feature groups named."""
    nodes = Nodes.of(choices, pairs.n_rows)
    return Problems(
        choices.mention_offsets,
        choices.candidate_offsets,
        choices.gold,
        nodes.number,
        nodes.offsets,
        np.ascontiguousarray(features[:, schema.columns_without(without)]),
        TablePairs(nodes.entity, pairs),
    )
