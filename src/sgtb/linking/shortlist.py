"""Shortlist: the candidates that the search scores.

A mention has a dozen candidates on average, and the search scores each with every tree. A candidate
that the ranker scores far below the best one was never chosen, so it is left out. Two candidates of
each mention are kept: reasons compare the answer with the runner-up.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Bools, Floats, Longs
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.features.schema import Schema
from sgtb.native import keep_best

MARGIN = 8.0
"""Candidates scored this much below the best, odds of 1 to 3,000, are left out."""
LEAST = 2


class Shortlist(NamedTuple):
    """Candidates kept for the search.

    candidates  the table with these only
    rows        i8[K]  their rows among all candidates
    below       f4[C]  difference of each candidate to the mention's best, by the ranker
    """

    candidates: CandidateTable
    rows: Longs
    below: Floats


def shortlisted(
    candidates: CandidateTable, features: Floats, schema: Schema, without: tuple[str, ...]
) -> Shortlist:
    """Shortlist by the joint ranker, or by the local one if the model does without."""
    column = _ranker_column(schema, without)
    if column is None:  # no ranker: everything is kept
        below = np.zeros(candidates.n_candidates, np.float32)
    else:
        below = np.ascontiguousarray(features[:, column])
    offsets = candidates.candidate_offsets.astype(np.int64)
    kept = below >= -MARGIN
    keep_best(below, offsets, LEAST, kept)
    rows = np.flatnonzero(kept)
    return Shortlist(_narrowed(candidates, kept, rows, offsets), rows, below)


def _ranker_column(schema: Schema, without: tuple[str, ...]) -> int | None:
    """Return the column of differences to the best candidate; None: no ranker."""
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
