"""Repeats: a name that comes again in a document brings the same candidates along.

A third of all mentions do. What depends on the name, the document and the candidates is told once
and said again; what depends on the sentence is told each time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sgtb.learn.dtypes import Longs
from sgtb.linking.choices import Choices
from sgtb.linking.contexts import Contexts
from sgtb.linking.sparse import Sparse
from sgtb.ragged import Ragged, gathered


@dataclass(frozen=True)
class Repeats:
    """Mentions of a document that have the name, the full name, the words and the candidates alike.

    once               the choices of the first of each
    names, full_names  theirs
    mentions           of each, itself and its repeats, by place among all mentions
    place              i8[C]  of each candidate of any mention, its place among those told once
    """

    once: Choices
    names: tuple[str, ...]
    full_names: tuple[str, ...]
    mentions: Ragged
    place: Longs

    @classmethod
    def of(cls, choices: Choices, contexts: Contexts) -> "Repeats":
        """Find who repeats whom."""
        begins = choices.candidate_offsets.astype(np.int64)
        slices = _Slices(begins.tolist(), choices, contexts.name_bag)
        told, counts = list[list[int]](), [0]
        for first, last in pairwise(choices.mention_offsets.tolist()):
            met: dict[tuple[str, str], list[list[int]]] = {}
            for m in range(first, last):
                alike = met.setdefault((contexts.names[m], contexts.full_names[m]), [])
                repeated = slices.same(m, alike)
                if repeated is None:
                    alike.append([m])
                    told.append(alike[-1])
                else:
                    repeated.append(m)
            counts.append(len(told))
        mentions = Ragged.of(told, np.int64)
        own = mentions.items[mentions.offsets[:-1]]
        entity = gathered(choices.entity, begins[own], begins[own + 1])
        start = np.empty(len(choices.mentions), np.int64)
        start[mentions.items] = np.repeat(entity.offsets[:-1], np.diff(mentions.offsets))
        place = np.repeat(start - begins[:-1], np.diff(begins)) + np.arange(begins[-1])
        firsts = [alike[0] for alike in told]
        once = Choices(
            choices.documents, tuple(choices.mentions[m] for m in firsts),
            np.array(counts, np.int32), entity.offsets.astype(np.int32), entity.items,
            choices.gold[own], gathered(choices.prior, begins[own], begins[own + 1]).items,
        )  # fmt: skip
        return cls(
            once, tuple(contexts.names[m] for m in firsts),
            tuple(contexts.full_names[m] for m in firsts), mentions, place,
        )  # fmt: skip


class _Slices:
    """The candidates and the words of mentions, to be compared."""

    def __init__(self, begins: list[int], choices: Choices, words: Sparse) -> None:
        self._begins, self._entity, self._prior = begins, choices.entity, choices.prior
        self._ends, self._words, self._values = words.offsets.tolist(), words.columns, words.values

    def same(self, m: int, groups: Sequence[list[int]]) -> list[int] | None:
        """Return the first group whose mentions are like m; None: there is no such group."""
        if not groups:  # as most names are new
            return None
        own = self._bytes(m)
        return next((group for group in groups if self._bytes(group[0]) == own), None)

    def _bytes(self, m: int) -> tuple[bytes, ...]:
        candidates = slice(self._begins[m], self._begins[m + 1])
        words = slice(self._ends[m], self._ends[m + 1])
        return (
            self._entity[candidates].tobytes(), self._prior[candidates].tobytes(),
            self._words[words].tobytes(), self._values[words].tobytes(),
        )  # fmt: skip
