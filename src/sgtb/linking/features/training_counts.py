"""TrainingCounts: counts of annotations in training documents, by name and by entity."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sgtb.core.dtypes import Longs
from sgtb.core.errors import SettingsError
from sgtb.core.records import NIL, Document
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.text.normalization import normal_name

_MOST = 1 << 53


@dataclass(frozen=True)
class TrainingCounts:
    """Counts of annotated mentions.

    entities  by entity id
    outside   by name, annotated as NIL
    inside    by name, annotated with an entity
    """

    entities: Mapping[str, int] = field(default_factory=dict)
    outside: Mapping[str, int] = field(default_factory=dict)
    inside: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for counts in (self.entities, self.outside, self.inside):
            for key, n in counts.items():
                whole = isinstance(n, int) and not isinstance(n, bool)
                if not isinstance(key, str) or not whole or not 1 <= n < _MOST:
                    raise SettingsError(f"the count of {key!r:.80} is {n!r:.80}, not positive")

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "TrainingCounts":
        """Count the annotated mentions of documents."""
        entities: Counter[str] = Counter()
        names: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        for document in documents:
            for mention in document.mentions:
                if mention.gold is not None:
                    names[mention.in_kb][normal_name(mention.text)] += 1
                    if mention.gold != NIL:
                        entities[mention.gold] += 1
        return cls(*map(_sorted, (entities, names[False], names[True])))

    @property
    def entities_only(self) -> "TrainingCounts":
        """The counts of entities without those of names."""
        return TrainingCounts(self.entities)

    def lookup(self, candidates: CandidateTable, ids: Sequence[str]) -> Longs:
        """Return the counts of mentions and one candidate of each: i8[M, 3].

        Columns: name outside, name inside, entity.
        """
        normal = {text: normal_name(text) for text in {m.text for m in candidates.mentions}}
        rows = [
            (self.outside.get(normal[m.text], 0), self.inside.get(normal[m.text], 0),
             self.entities.get(id_, 0))
            for m, id_ in zip(candidates.mentions, ids, strict=True)
        ]  # fmt: skip
        return np.array(rows, np.int64).reshape(len(rows), 3)

    def lookup_leave_one_out(self, candidates: CandidateTable, ids: Sequence[str]) -> Longs:
        """Return the same without the counts of each mention's own document."""
        own = np.zeros((len(ids), 3), np.int64)
        borders = pairwise(candidates.mention_offsets.tolist())
        for document, (first, last) in zip(candidates.documents, borders, strict=True):
            counts = TrainingCounts.of([document])
            for m in range(first, last):
                name = normal_name(candidates.mentions[m].text)
                own[m] = (
                    counts.outside.get(name, 0), counts.inside.get(name, 0),
                    counts.entities.get(ids[m], 0),
                )  # fmt: skip
        return self.lookup(candidates, ids) - own


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return {key: counts[key] for key in sorted(counts)}
