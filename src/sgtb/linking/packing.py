"""Packing: choices and their features become the learner's problems."""

from collections.abc import Collection

import numpy as np

from sgtb.learn.dtypes import Floats
from sgtb.learn.pairs import PairTable, TablePairs
from sgtb.learn.problems import Problems
from sgtb.linking.choices import Choices
from sgtb.linking.facts import EntityFacts
from sgtb.linking.schema import PAIRS, SCHEMA
from sgtb.linking.segments import group_of


def pair_table(facts: EntityFacts) -> PairTable:
    """Return the features of two candidates chosen together, in the order of PAIRS."""
    links, n = facts.links, len(facts.entities)
    above = links.rows < links.columns
    own = np.arange(n)
    return PairTable.build(
        n,
        [getattr(facts, name) for name in PAIRS if name.endswith("_vector")],
        [
            (links.rows[above], links.columns[above], np.ones(int(above.sum()))),
            (own, own, np.ones(n)),
        ],
    )


def pack(
    choices: Choices, features: Floats, pairs: PairTable, without: Collection[str] = ()
) -> Problems:
    """Return the problems of some documents, leaving out the feature groups named."""
    document = group_of(choices.candidate_offsets[choices.mention_offsets])
    key = document * np.int64(pairs.n_rows) + choices.entity
    distinct, where = np.unique(key, return_inverse=True)
    per_document = np.searchsorted(
        distinct, np.arange(len(choices.documents) + 1) * np.int64(pairs.n_rows)
    )
    return Problems(
        choices.mention_offsets,
        choices.candidate_offsets,
        choices.gold,
        (where - per_document[document]).astype(np.int32),
        per_document.astype(np.int64),
        np.ascontiguousarray(features[:, SCHEMA.columns_without(without)]),
        TablePairs((distinct % pairs.n_rows).astype(np.int32), pairs),
    )
