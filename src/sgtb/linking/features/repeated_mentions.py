"""Repeats: mentions of a document that have the same name and the same candidates.

A third of all mentions repeat another. Features that do not depend on the sentence are computed
for the first mention and copied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Ints, Longs, Masks
from sgtb.core.ragged import Ragged, sliced
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.features.contexts import Contexts
from sgtb.native import group_repeats


@dataclass(frozen=True)
class Repeats:
    """Groups of mentions of a document with equal name, full name, words and candidates.

    once               candidates of the first mention of each group
    names, full_names  of each group
    mentions           mentions of each group
    place              i8[C]  row of each candidate in `once`
    """

    once: CandidateTable
    names: tuple[str, ...]
    full_names: tuple[str, ...]
    mentions: Ragged
    place: Longs

    @classmethod
    def of(cls, candidates: CandidateTable, contexts: Contexts) -> "Repeats":
        """Find the repeats."""
        bag, n = contexts.name_bag, len(candidates.mentions)
        first, members = np.empty((2, n), np.int64)
        of_group = np.empty(n + 1, np.int64)
        place = np.empty(candidates.n_candidates, np.int64)
        n_groups = group_repeats(
            candidates.mention_offsets,
            _Keys(
                numbered(contexts.names), numbered(contexts.full_names),
                candidates.candidate_offsets, candidates.entity, candidates.prior.view(np.uint32),
                bag.indptr, bag.indices, bag.data.view(np.uint32),
            ),
            first, of_group, members, place,
        )  # fmt: skip
        own = first[:n_groups]
        begins = candidates.candidate_offsets.astype(np.int64)
        entity = sliced(candidates.entity, begins[own], begins[own + 1])
        firsts = own.tolist()
        once = CandidateTable(
            candidates.documents, tuple(map(candidates.mentions.__getitem__, firsts)),
            np.searchsorted(own, candidates.mention_offsets).astype(np.int32),
            entity.indptr.astype(np.int32), entity.data, candidates.gold[own],
            sliced(candidates.prior, begins[own], begins[own + 1]).data,
        )  # fmt: skip
        return cls(
            once, tuple(map(contexts.names.__getitem__, firsts)),
            tuple(map(contexts.full_names.__getitem__, firsts)),
            Ragged(of_group[: n_groups + 1], members), place,
        )  # fmt: skip


def numbered(names: Sequence[str]) -> Longs:
    """Number names in the order of first occurrence."""
    distinct = dict.fromkeys(names)
    number = dict(zip(distinct, range(len(distinct)), strict=True))
    return np.fromiter(map(number.__getitem__, names), np.int64, len(names))


class _Keys(NamedTuple):
    """What must be equal in repeats; floats are compared by bits."""

    name: Longs
    full_name: Longs
    candidate_offsets: Ints
    entity: Ints
    prior: Masks
    word_offsets: Longs
    words: Ints
    values: Masks
