"""Packing of candidates and features as problems of the learner."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from sgtb.boosting.data.pairs import PairTable, TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Floats, Longs
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.candidates.entity_nodes import Nodes
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.features.pair_features import PAIRS
from sgtb.linking.features.schema import SCHEMA, Schema
from sgtb.linking.links import Found


@dataclass(frozen=True)
class Layout:
    """Documents with their candidates.

    with_candidates  i8[M]  the mentions that have candidates, counted over all documents
    candidates       of these mentions; entities are rows of `facts`
    facts            of all candidates
    found            how the candidates of every mention were found, those without any included
    """

    with_candidates: Longs
    candidates: CandidateTable
    facts: EntityFacts
    found: tuple[Found, ...]


def pair_table(facts: EntityFacts, schema: Schema = SCHEMA, rows: Longs | None = None) -> PairTable:
    """Return the pair features of the schema.

    rows  rows of the facts, ascending; None: all
    """
    own = np.arange(len(facts)) if rows is None else rows
    n = len(own)
    features = [feature for feature in PAIRS if feature.name in schema.pairs]
    spaces = [feature.vectors(facts) for feature in features if feature.vectors]
    relations = [feature.links(facts, own) for feature in features if feature.links]
    targets = np.concatenate([np.zeros(0, np.int32), *(one.data for one in relations)])
    base = np.cumsum([0, *(len(one.data) for one in relations)])
    return PairTable(
        vectors=np.concatenate(
            [np.zeros((n, 0), np.float32), *(s.take(own, 0) for s in spaces)], axis=1
        ),
        space_offsets=np.cumsum([0, *(space.shape[1] for space in spaces)]),
        link_offsets=np.array([one.indptr for one in relations], np.int64).reshape(-1, n + 1)
        + base[:-1, None],
        link_targets=targets,
        link_counts=np.ones(len(targets), np.float32),
    )


def pack(
    candidates: CandidateTable,
    features: Floats,
    pairs: PairTable,
    without: Collection[str] = (),
    schema: Schema = SCHEMA,
) -> Problems:
    """Pack problems, without some feature groups."""
    nodes = Nodes.of(candidates, pairs.n_rows)
    columns = schema.columns_without(without)
    return Problems(
        candidates.mention_offsets,
        candidates.candidate_offsets,
        candidates.gold,
        nodes.number,
        nodes.offsets,
        np.ascontiguousarray(
            features if len(columns) == features.shape[1] else features[:, columns]
        ),
        TablePairs(nodes.entity, pairs),
    )
