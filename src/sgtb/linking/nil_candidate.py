"""The NIL candidate: "nothing in the knowledge base", one more choice at every mention.

It is the last candidate of its mention, and an entity of its document that has nothing in common
with any other. Its features are those of the mention's best candidate by the ranker, and some more
that are 0 for all others: the trees are asked what speaks for nothing, given that this is the best
there is.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.pairs import PairTable, TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Floats, Longs
from sgtb.core.errors import ProblemsError
from sgtb.core.segments import group_of
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.features.feature_registry import LABELS
from sgtb.linking.features.schema import Schema

Bools = npt.NDArray[np.bool_]

GROUP = "nil"
"""The feature group of the columns that only the NIL candidate has."""
REASON_LABELS = {**LABELS, GROUP: "no candidate fits"}
"""Names for people of all feature groups that reasons speak of, by key."""
NIL_FEATURES = ("nil", "nil_lead", "nil_name_outside", "nil_name_inside", "nil_best_met")
"""A constant 1; the lead of the best candidate over the next by the ranker; how often training
documents had the name as NIL, the name with an entity, and the best candidate."""


def best_candidates(
    candidates: CandidateTable, features: Floats, schema: Schema, without: Collection[str] = ()
) -> Longs:
    """Return the row of each mention's best candidate by the ranker, the first of several."""
    order = _by_score(candidates, features, schema, without)
    return order[candidates.candidate_offsets[:-1]]


def nil_rows(
    candidates: CandidateTable,
    features: Floats,
    schema: Schema,
    without: Collection[str],
    known: Longs,
) -> Floats:
    """Return the features of every mention's NIL candidate: f4[M, L + len(NIL_FEATURES)].

    features  f4[C, F]  all of the schema's
    known     i8[M, 3]  what `TrainingCounts` tells of names and best candidates
    """
    offsets = candidates.candidate_offsets.astype(np.int64)
    if (np.diff(offsets) < 1).any():
        raise ProblemsError("a mention without candidates needs no NIL among them")
    scores = features[:, _score(schema, without)]
    order = _by_score(candidates, features, schema, without)
    best, several = order[offsets[:-1]], np.diff(offsets) > 1
    lead = scores[best].copy()  # over 0, where nothing else competes
    lead[several] -= scores[order[offsets[:-1][several] + 1]]
    own = np.stack([np.ones(len(best)), lead, *np.log1p(known).T], axis=1)
    same = features[best][:, schema.columns_without(without)]
    return np.concatenate([same, own.astype(np.float32)], axis=1)


def add_nil(problems: Problems, rows: Floats, outside: Bools) -> Problems:
    """Return problems whose mentions have NIL as their last candidate.

    rows     what `nil_rows` made of the mentions
    outside  b1[M]  the mentions whose right candidate it is
    """
    n = problems.n_mentions
    fits = rows.shape == (n, problems.n_local + len(NIL_FEATURES)) and outside.shape == (n,)
    if not isinstance(problems.pairs, TablePairs) or not fits:
        raise ProblemsError(f"NIL rows of the shape {rows.shape} do not fit {n} mentions")
    offsets = problems.candidate_offsets.astype(np.int64)
    grown = offsets + np.arange(n + 1)
    nil, others = grown[1:] - 1, np.arange(problems.n_candidates) + group_of(offsets)
    local = np.zeros((int(grown[-1]), rows.shape[1]), np.float32)
    local[others, : problems.n_local] = problems.local
    local[nil] = rows
    n_entities = np.diff(problems.entity_offsets)
    entity = np.empty(len(local), np.int32)
    entity[others] = problems.entity
    # The highest number of its document: ties go to the others.
    entity[nil] = np.repeat(n_entities, np.diff(problems.mention_offsets))
    return replace(
        problems,
        candidate_offsets=grown.astype(np.int32),
        gold=np.where(outside, np.diff(offsets), problems.gold).astype(np.int32),
        entity=entity,
        entity_offsets=problems.entity_offsets + np.arange(len(n_entities) + 1),
        local=local,
        pairs=_with_nothing(problems.pairs, problems.entity_offsets),
    )


def _score(schema: Schema, without: Collection[str]) -> int:
    """Return the column of the ranker that sees most of what the model may see."""
    joint = "joint ranker" not in without
    return schema.names.index("joint_score" if joint else "rank_score")


def _by_score(
    candidates: CandidateTable, features: Floats, schema: Schema, without: Collection[str]
) -> Longs:
    """Return the candidates of each mention, best first; equals as they stand."""
    scores = features[:, _score(schema, without)]
    return np.lexsort((-scores, group_of(candidates.candidate_offsets)))


def _with_nothing(pairs: TablePairs, entity_offsets: Longs) -> TablePairs:
    """Return pairs with one more entity per document, whose pair features are all 0."""
    table = pairs.table
    nothing = np.zeros((1, table.vectors.shape[1]), np.float32)
    grown = PairTable(
        np.concatenate([table.vectors, nothing]),
        table.space_offsets,
        np.concatenate([table.link_offsets, table.link_offsets[:, -1:]], axis=1),
        table.link_targets,
        table.link_counts,
    )
    row = np.insert(pairs.row, entity_offsets[1:], np.int32(table.n_rows))
    return TablePairs(row.astype(np.int32), grown)
