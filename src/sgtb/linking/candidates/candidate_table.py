"""CandidateTable: mentions and their candidates, in flat arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Floats, Ints, Longs
from sgtb.core.entities import EntityTable
from sgtb.core.errors import ProblemsError
from sgtb.core.records import Document, Mention
from sgtb.linking.candidates.matched_lists import MATCHES
from sgtb.native import number_nodes

TOP = 30
"""Candidates per mention, as in the paper."""


@dataclass(frozen=True)
class CandidateTable:
    """D documents, M mentions with candidates, C candidates.

    mentions           in document order
    mention_offsets    i4[D+1]
    candidate_offsets  i4[M+1]
    entity             i4[C]    entity number, or row in a table of facts
    gold               i4[M]    position of the gold candidate within its mention; -1: absent
    prior              f4[C]    of the name; NaN if unknown
    match              f4[C, len(MATCHES)]  how names match; 0 for given candidates
    """

    documents: tuple[Document, ...]
    mentions: tuple[Mention, ...]
    mention_offsets: Ints
    candidate_offsets: Ints
    entity: Ints
    gold: Ints
    prior: Floats
    match: Floats

    @property
    def n_candidates(self) -> int:
        """C."""
        return len(self.entity)


def listed_candidates(
    documents: Sequence[Document],
    entities: EntityTable,
    wanted: Callable[[Mention], bool] = lambda mention: mention.in_kb,
    top: int = TOP,
) -> CandidateTable:
    """Return the candidates listed in documents, the `top` of each mention by in-links.

    Ties go to the lower number. Neither the order of a list nor the gold matters.

    wanted  selects mentions
    """
    mentions: list[Mention] = []
    mention_offsets, candidate_offsets = [0], [0]
    entity: list[Ints] = []
    gold: list[int] = []
    for document in documents:
        for mention in filter(wanted, document.mentions):
            chosen = _strongest(document, mention, entities, top)
            mentions.append(mention)
            entity.append(chosen)
            candidate_offsets.append(candidate_offsets[-1] + len(chosen))
            number = entities.number.get(mention.gold or "", -1)
            gold.append(_place(chosen, number))
        mention_offsets.append(len(mentions))
    return CandidateTable(
        tuple(documents), tuple(mentions),
        np.array(mention_offsets, np.int32), np.array(candidate_offsets, np.int32),
        np.concatenate([*entity, np.zeros(0, np.int32)]).astype(np.int32),
        np.array(gold, np.int32),
        np.full(candidate_offsets[-1], np.nan, np.float32),
        np.zeros((candidate_offsets[-1], len(MATCHES)), np.float32),
    )  # fmt: skip


def _strongest(document: Document, mention: Mention, entities: EntityTable, top: int) -> Ints:
    if mention.candidates is None:
        raise ProblemsError(
            f"document {document.id}: {mention.text!r} at {mention.start} lists no candidates"
        )
    try:
        numbers = np.unique(entities.numbers(mention.candidates))
    except KeyError as unknown:
        raise ProblemsError(
            f"document {document.id}: candidate {unknown} of {mention.text!r} is unknown"
        ) from None
    order = np.lexsort((numbers, -entities.in_links[numbers]))
    return numbers[order][:top].astype(np.int32)


def _place(chosen: Ints, number: int) -> int:
    found = np.flatnonzero(chosen == number)
    return int(found[0]) if len(found) else -1


# Nodes: the distinct entities of each document.


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
