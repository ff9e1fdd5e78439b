"""Nodes: the distinct entities of documents, each once in every document that has it."""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import int64, kernel
from sgtb.learn.dtypes import Ints, Longs
from sgtb.linking.choices import Choices


class Nodes(NamedTuple):
    """The entities of D documents.

    offsets  i8[D + 1]
    entity   i4  ascending within a document
    number   i4[C]  of each candidate, which of its document's it is
    place    i8[C]  which of all it is
    """

    offsets: Longs
    entity: Ints
    number: Ints
    place: Longs

    @classmethod
    def of(cls, choices: Choices, n_entities: int) -> "Nodes":
        """Number the entities of each document."""
        borders = choices.candidate_offsets[choices.mention_offsets].astype(np.int64)
        n, d = choices.n_candidates, len(choices.documents)
        nodes = cls(
            np.zeros(d + 1, np.int64), np.empty(n, np.int32), np.empty(n, np.int32),
            np.empty(n, np.int64),
        )  # fmt: skip
        number_nodes(
            borders, choices.entity, np.zeros(n_entities + 1, np.int64), np.empty(n, np.int64),
            np.empty(n, np.int32), np.full(d, -1, np.int32), nodes,
        )  # fmt: skip
        return nodes._replace(entity=nodes.entity[: nodes.offsets[-1]])


@kernel
def number_nodes(
    borders: Longs, entity: Ints, starts: Longs, order: Longs, document: Ints, last: Ints,
    nodes: Nodes,
) -> None:  # fmt: skip
    """Go through all candidates by entity: so each document meets its own in ascending order.

    borders   of each document's candidates
    starts    scratch, zero: where the candidates of each entity begin
    order     scratch: the candidates by entity
    document  scratch: of each candidate
    last      scratch, -1: the entity that each document met last
    """
    n_documents = borders.shape[0] - 1
    for d in range(n_documents):
        for c in range(borders[d], borders[d + 1]):
            document[c] = d
            starts[entity[c] + 1] += 1
    for e in range(1, starts.shape[0]):
        starts[e] += starts[e - 1]
    for c in range(entity.shape[0]):
        e = int64(entity[c])
        order[starts[e]] = c
        starts[e] += 1
    for i in range(order.shape[0]):
        c = order[i]
        d = int64(document[c])
        if last[d] != entity[c]:
            last[d] = entity[c]
            nodes.offsets[d + 1] += 1
        nodes.number[c] = nodes.offsets[d + 1] - 1
    for d in range(n_documents):
        nodes.offsets[d + 1] += nodes.offsets[d]
        for c in range(borders[d], borders[d + 1]):
            nodes.place[c] = nodes.offsets[d] + nodes.number[c]
            nodes.entity[nodes.place[c]] = entity[c]
