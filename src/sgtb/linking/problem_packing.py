"""Packing of candidates and features as problems of the learner."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sgtb.boosting.data.pairs import PairTable, TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Bools, Floats, Longs
from sgtb.core.sparse_matrix import spread
from sgtb.linking.candidates.candidate_table import CandidateTable, Nodes
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.features.schema import PAIRS, SCHEMA, Schema
from sgtb.linking.links import Found
from sgtb.native import keep_best


@dataclass(frozen=True)
class Layout:
    """Documents with their candidates."""

    with_candidates: Longs  # i8[M], the mentions that have candidates, counted over all documents
    candidates: CandidateTable  # of these mentions, by segment; entities are rows of `facts`
    source: Longs  # i8[S], the document of each segment
    facts: EntityFacts  # of all candidates
    found: tuple[Found, ...]  # how those of every mention were found, also of those without any


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
    names: Longs | None = None,
) -> Problems:
    """Pack problems, without some feature groups.

    names  from `candidate_names`, of a table with more candidates; None: of this one
    """
    nodes = Nodes.of(candidates, pairs.n_rows)
    name = np.empty(len(nodes.entity), np.int64)
    name[nodes.place] = candidate_names(candidates, pairs.n_rows) if names is None else names
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
        TablePairs(nodes.entity, pairs, name),
    )


def candidate_names(candidates: CandidateTable, n_entities: int) -> Longs:
    """Return i8[C], equal for two candidates of a document that are those of the same mentions."""
    nodes = Nodes.of(candidates, n_entities)
    # Hashes of mentions, whose sums differ for different sets of them.
    hashed = np.arange(1, len(candidates.gold) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    hashed = (hashed ^ hashed >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
    names = np.zeros(len(nodes.entity), np.uint64)
    np.add.at(names, nodes.place, spread(hashed, candidates.candidate_offsets))
    return names[nodes.place].view(np.int64)


# Shortlist: the candidates that the search scores.


MARGIN = 8.0  # candidates scored this much below the best, odds of 1 to 3,000, are left out
LEAST = 2


class Shortlist(NamedTuple):
    """Candidates kept for the search."""

    candidates: CandidateTable  # the table with these only
    rows: Longs  # i8[K], their rows among all candidates
    below: Floats  # f4[C], difference of each candidate to the mention's best, by the ranker


def shortlisted(
    candidates: CandidateTable, features: Floats, schema: Schema, without: tuple[str, ...]
) -> Shortlist:
    """Shortlist by the joint ranker, or by the local one if the model does without."""
    if "joint ranker" not in without:
        below = features[:, schema.names.index("joint_score_below_best")]
    elif "ranker" not in without:
        below = features[:, schema.names.index("rank_score_below_best")]
    else:  # everything is kept
        below = np.zeros(candidates.n_candidates, np.float32)
    below = np.ascontiguousarray(below)
    offsets = candidates.candidate_offsets.astype(np.int64)
    kept = below >= -MARGIN
    keep_best(below, offsets, LEAST, kept)
    rows = np.flatnonzero(kept)
    return Shortlist(_narrowed(candidates, kept, rows, offsets), rows, below)


def _narrowed(
    candidates: CandidateTable, kept: Bools, rows: Longs, offsets: Longs
) -> CandidateTable:
    before = np.concatenate([[0], np.cumsum(kept)])
    gold = candidates.gold.copy()
    known = np.flatnonzero(gold >= 0)
    at = offsets[known] + gold[known]
    gold[known] = np.where(kept[at], before[at] - before[offsets[known]], -1)
    return replace(
        candidates, candidate_offsets=before[offsets].astype(np.int32),
        entity=candidates.entity[rows], prior=candidates.prior[rows], match=candidates.match[rows],
        gold=gold,
    )  # fmt: skip
