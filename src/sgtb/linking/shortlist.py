"""Shortlist: the candidates that a search looks at. The ranker finds the others hopeless.

A name has a dozen candidates on average, and the search scores each of them with every tree, once
for every beam. The ranker has seen the same evidence, and where it is sure it is right: what it
holds for thousands of times less likely than the best was never chosen. Two candidates of each
mention stay in any case: a decision is explained by what it was made against.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Bools, Floats, Longs
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.features.schema import Schema
from sgtb.native import keep_best

MARGIN = 8.0
"""What the ranker puts that much below the best, odds of 1 to 3,000, is not searched."""
LEAST = 2


class Shortlist(NamedTuple):
    """Which of a mention's candidates are searched.

    candidates  with these candidates only
    rows     i8[K]  their places among all candidates
    below    f4[C]  by how much the ranker puts each of all candidates below the mention's best
    """

    candidates: CandidateTable
    rows: Longs
    below: Floats


def shortlisted(
    candidates: CandidateTable, features: Floats, schema: Schema, without: tuple[str, ...]
) -> Shortlist:
    """Shortlist by the ranker that a model looks at: that of all evidence, if it may."""
    column = _ranker_column(schema, without)
    if column is None:  # nothing tells, and everything is searched
        below = np.zeros(candidates.n_candidates, np.float32)
    else:
        below = np.ascontiguousarray(features[:, column])
    offsets = candidates.candidate_offsets.astype(np.int64)
    kept = below >= -MARGIN
    keep_best(below, offsets, LEAST, kept)
    rows = np.flatnonzero(kept)
    return Shortlist(_narrowed(candidates, kept, rows, offsets), rows, below)


def _ranker_column(schema: Schema, without: tuple[str, ...]) -> int | None:
    """Return the column that tells how far candidates are below the best; None: no ranker."""
    for group, column in (
        ("joint ranker", "joint_score_below_best"), ("ranker", "rank_score_below_best"),
    ):  # fmt: skip
        if group not in without:
            return schema.names.index(column)
    return None


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
        entity=candidates.entity[rows], prior=candidates.prior[rows], gold=gold,
    )  # fmt: skip
