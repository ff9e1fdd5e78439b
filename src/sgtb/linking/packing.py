"""Packing: choices and their features become the learner's problems."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from sgtb.learn.dtypes import Floats
from sgtb.learn.pairs import PairTable, TablePairs
from sgtb.learn.problems import Problems
from sgtb.linking.choices import Choices
from sgtb.linking.facts import EntityFacts
from sgtb.linking.nodes import Nodes
from sgtb.linking.schema import SCHEMA, Schema


def pair_table(facts: EntityFacts, schema: Schema = SCHEMA) -> PairTable:
    """Return the features of two candidates chosen together, in the schema's order."""
    links, n = facts.links, len(facts)
    above = links.rows < links.columns
    own = np.arange(n)
    relations: dict[str, tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]] = {
        "linked": (links.rows[above], links.columns[above], np.ones(int(above.sum()))),
        "same": (own, own, np.ones(n)),
    }
    return PairTable.build(
        n,
        [getattr(facts, name) for name in schema.pairs if name not in relations],
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
