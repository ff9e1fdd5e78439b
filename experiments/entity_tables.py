"""Entity tables: source, facts and candidates without a knowledge base, as in the paper."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from sgtb.core.dtypes import Ints, Longs
from sgtb.core.entities import EntityTable
from sgtb.core.errors import ProblemsError
from sgtb.core.ragged import Ragged, Texts
from sgtb.core.records import Document, Mention
from sgtb.core.sparse_matrix import SparseMatrix
from sgtb.linking.candidates.candidate_table import MATCHES, CandidateTable
from sgtb.linking.entities.background import Background, Lexicon
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.entity_source import (
    KNOWN_TYPES,
    LINKS,
    POPULARITY,
    EntityRows,
    Evidence,
    KbSource,
)

TOP = 30
"""Candidates per mention, as in the paper."""


class TableSource(KbSource):
    """A table of entities in place of a knowledge base; links count in both directions."""

    def __init__(self, table: EntityTable) -> None:
        self._table = table

    @property
    def size(self) -> int:
        """Number of entities."""
        return len(self._table)

    @property
    def evidence(self) -> Evidence:
        """Kinds of evidence in the table."""
        table = self._table
        held = {
            LINKS: len(table.link_source) > 0,
            KNOWN_TYPES: any(table.types),
            POPULARITY: bool((~np.isnan(table.popularity)).any()),
        }
        return frozenset(name for name, there in held.items() if there)

    @cached_property
    def _linked(self) -> SparseMatrix:
        source, target, n = self._table.link_source, self._table.link_target, self.size
        return SparseMatrix.of(
            np.concatenate([source, target]), np.concatenate([target, source]),
            np.ones(2 * len(source)), (n, n),
        )  # fmt: skip

    def rows(self, numbers: Longs) -> EntityRows:
        """Return the data of some entities."""
        table, n = self._table, len(numbers)
        linked = Ragged(self._linked.indptr, self._linked.indices)
        return EntityRows(
            self.titles(numbers), Texts.of([""] * n), [table.types[i] for i in numbers],
            table.in_links[numbers], table.out_links[numbers], table.popularity[numbers],
            self.degrees(numbers), linked.take(numbers), np.zeros((n, 0), np.float32),
        )  # fmt: skip

    def titles(self, numbers: Longs) -> Texts:
        """Return titles."""
        return Texts.of([self._table.titles[i] for i in numbers.tolist()])

    def degrees(self, numbers: Longs) -> Longs:
        """Return numbers of links."""
        degrees: Longs = np.diff(self._linked.indptr)[numbers]
        return degrees

    def least_popularity(self) -> float:
        """Return the lowest popularity."""
        known = self._table.popularity[~np.isnan(self._table.popularity)]
        return float(known.min()) if len(known) else 0.0

    def release(self) -> None:
        """Do nothing."""


def table_facts(entities: EntityTable, lexicon: Lexicon) -> EntityFacts:
    """Describe all entities of a table; their descriptions make the topics."""
    source, numbers = TableSource(entities), np.arange(len(entities))
    return EntityFacts.describe(source, Background.of(lexicon, source, numbers), numbers)


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
            chosen = _listed(document, mention, entities, top)
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


def _listed(document: Document, mention: Mention, entities: EntityTable, top: int) -> Ints:
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
