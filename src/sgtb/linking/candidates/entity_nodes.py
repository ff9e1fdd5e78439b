"""Nodes: the distinct entities of each document."""

from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Ints, Longs
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.native import number_nodes


class Nodes(NamedTuple):
    """Distinct entities of D documents.

    offsets  i8[D + 1]
    entity   i4  ascending within a document
    number   i4[C]  node of each candidate, counted within its document
    place    i8[C]  node of each candidate, counted over all documents
    """

    offsets: Longs
    entity: Ints
    number: Ints
    place: Longs

    @classmethod
    def of(cls, candidates: CandidateTable, n_entities: int) -> "Nodes":
        """Number the entities of each document."""
        borders = candidates.candidate_offsets[candidates.mention_offsets].astype(np.int64)
        n, d = candidates.n_candidates, len(candidates.documents)
        nodes = cls(
            np.empty(d + 1, np.int64), np.empty(n, np.int32), np.empty(n, np.int32),
            np.empty(n, np.int64),
        )  # fmt: skip
        number_nodes(borders, candidates.entity, n_entities, nodes)
        return nodes._replace(entity=nodes.entity[: nodes.offsets[-1]])
