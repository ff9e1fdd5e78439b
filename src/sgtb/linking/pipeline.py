"""Workbench: from documents to problems. Training and linking both work here, and nowhere else."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Floats, Longs
from sgtb.core.records import Document
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.candidates.candidate_lookup import CandidateFinder
from sgtb.linking.candidates.candidate_table import Choices
from sgtb.linking.entities.background import Background
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.entity_source import KbSource
from sgtb.linking.entities.fact_store import FactStore
from sgtb.linking.features.feature_matrix import Table
from sgtb.linking.features.schema import Schema
from sgtb.linking.links import Found
from sgtb.linking.nil_candidate import best_candidates, nil_rows
from sgtb.linking.problem_packing import pack, pair_table

Recall = Callable[[Choices, Sequence[str]], Longs]
"""Given mentions and the id of one candidate of each: what was met of them, as `Memory` tells."""


@dataclass(frozen=True)
class Layout:
    """Documents with their candidates.

    choices  of the mentions that have candidates; entities are rows of `facts`
    facts    of all candidates
    found    how the candidates of every mention were found, those without any included
    """

    choices: Choices
    facts: EntityFacts
    found: tuple[Found, ...]


class Workbench:
    """A knowledge base, what was fixed by training, and the features that there are."""

    def __init__(
        self,
        kb: KnowledgeBase,
        background: Background,
        schema: Schema,
        finder: CandidateFinder,
    ) -> None:
        self.kb, self.background, self.schema, self.finder = kb, background, schema, finder
        self._store = FactStore(KbSource(kb), background)

    def forget(self) -> None:
        """Drop what was read from the knowledge base: it has changed."""
        self._store.forget()
        self.finder.forget()

    def lay_out(self, documents: Sequence[Document]) -> Layout:
        """Give every mention its candidates; look up what is known of them.

        Gold is looked at to say where it stands among the candidates, and for nothing else.
        """
        found = self.finder.find(documents)
        sizes = np.diff(found.offsets)
        asked = np.flatnonzero(sizes)
        every = [mention for document in documents for mention in document.mentions]
        mentions = [every[i] for i in asked.tolist()]
        numbers, rows = np.unique(found.entity, return_inverse=True)
        ends = np.cumsum([len(document.mentions) for document in documents])
        choices = Choices(
            tuple(documents), tuple(mentions),
            np.searchsorted(asked, np.concatenate([[0], ends])).astype(np.int32),
            np.concatenate([[0], np.cumsum(sizes[asked])]).astype(np.int32),
            rows.astype(np.int32), np.full(len(mentions), -1, np.int32), found.prior,
        )  # fmt: skip
        facts = self._store.facts(numbers.astype(np.int64))
        return Layout(self._with_gold(choices, numbers.astype(np.int64)), facts, found.found)

    def _with_gold(self, choices: Choices, numbers: Longs) -> Choices:
        """Return the choices with the places of what is annotated."""
        if not any(mention.in_kb for mention in choices.mentions):
            return choices
        gold = choices.gold.copy()
        for m, mention in enumerate(choices.mentions):
            number = self.kb.number(mention.gold) if mention.in_kb and mention.gold else None
            if number is not None:
                first, last = choices.candidate_offsets[m : m + 2]
                right = np.flatnonzero(numbers[choices.entity[first:last]] == number)
                gold[m] = right[0] if len(right) else -1
        return replace(choices, gold=gold)

    def table(self, layout: Layout) -> Table:
        """Return the features that need no training."""
        return Table.build(layout.choices, layout.facts, self.background.lexicon, self.schema)

    def pack(self, layout: Layout, features: Floats, without: Collection[str] = ()) -> Problems:
        """Return the problems, some feature groups left out."""
        place = np.zeros(len(layout.facts), np.int32)
        place[layout.choices.entity] = 1
        (rows,) = place.nonzero()  # a search does not look at all that were laid out
        place[rows] = np.arange(len(rows))
        searched = replace(layout.choices, entity=place[layout.choices.entity])
        pairs = pair_table(layout.facts, self.schema, rows)
        return pack(searched, features, pairs, without, self.schema)

    def nil_rows(
        self, layout: Layout, features: Floats, without: Collection[str], recall: Recall
    ) -> Floats:
        """Return the features of the mentions' NIL candidates."""
        choices = layout.choices
        best = best_candidates(choices, features, self.schema, without)
        numbers = layout.facts.number[choices.entity[best]].tolist()
        ids = [self.kb.id_of(number) for number in numbers]
        return nil_rows(choices, features, self.schema, without, recall(choices, ids))
