"""The NIL candidate: "not in the knowledge base", the last candidate of every mention.

It is an entity of its own, with pair features of 0. Its local features are those of the mention's
best candidate by the ranker, and some columns that are 0 for all other candidates.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from sgtb.boosting.data.pairs import PairTable, TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Bools, Floats, Longs
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.records import NIL, Document
from sgtb.core.sparse_matrix import group_of, log1p
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.features.schema import LABELS, Schema
from sgtb.text.normalization import normal_name

GROUP = "nil"  # feature group of the columns that only the NIL candidate has
REASON_LABELS = {**LABELS, GROUP: "fit of the candidates"}
"""Labels of all feature groups in reasons, by key."""
NIL_FEATURES = ("nil", "nil_lead", "nil_name_outside", "nil_name_inside")
"""A constant 1; the ranker's lead of the best candidate over the next; counts in training documents
of the name as NIL, and of the name with an entity. A count of the best candidate was of use for
texts like those of training only."""


def score_column(schema: Schema, without: Collection[str]) -> int | None:
    """Return the column of the ranker's score in packed problems; None: no ranker."""
    packed, own = schema.columns_without(without), _score(schema, without)
    return packed.index(own) if own in packed else None


def nil_rows(
    candidates: CandidateTable,
    features: Floats,
    schema: Schema,
    without: Collection[str],
    known: Longs,
) -> Floats:
    """Return the features of every mention's NIL candidate: f4[M, L + len(NIL_FEATURES)].

    features  f4[C, F]  all of the schema's
    known     i8[M, 2]  from `TrainingCounts.lookup`
    """
    offsets = candidates.candidate_offsets.astype(np.int64)
    if (np.diff(offsets) < 1).any():
        raise ProblemsError("a mention without candidates cannot have a NIL candidate")
    scores = features[:, _score(schema, without)]
    order = np.lexsort((-scores, group_of(offsets)))  # best first, stable
    best, several = order[offsets[:-1]], np.diff(offsets) > 1
    lead = scores[best].copy()  # over 0 for a single candidate
    lead[several] -= scores[order[offsets[:-1][several] + 1]]
    own = np.stack([np.ones(len(best)), lead, *log1p(known).T], axis=1)
    same = features[best][:, schema.columns_without(without)]
    return np.concatenate([same, own.astype(np.float32)], axis=1)


def add_nil(problems: Problems, rows: Floats, outside: Bools) -> Problems:
    """Return problems whose mentions have NIL as their last candidate.

    rows     from `nil_rows`
    outside  b1[M]  whether NIL is the gold candidate
    """
    n = problems.n_mentions
    fits = rows.shape == (n, problems.n_local + len(NIL_FEATURES)) and outside.shape == (n,)
    if not isinstance(problems.pairs, TablePairs) or not fits:
        raise ProblemsError(f"NIL rows of the shape {rows.shape} do not fit {n} mentions")
    offsets = problems.candidate_offsets.astype(np.int64)
    grown = offsets + np.arange(n + 1)
    nil, others = grown[1:] - 1, np.arange(problems.n_candidates) + group_of(offsets)
    local = np.zeros((int(grown[-1]), rows.shape[1]), np.float32)
    local[others, : problems.n_local] = problems.local
    local[nil] = rows
    n_entities = np.diff(problems.entity_offsets)
    entity = np.empty(len(local), np.int32)
    entity[others] = problems.entity
    # The highest number of its document, so ties go to the others.
    entity[nil] = np.repeat(n_entities, np.diff(problems.mention_offsets))
    return replace(
        problems,
        candidate_offsets=grown.astype(np.int32),
        gold=np.where(outside, np.diff(offsets), problems.gold).astype(np.int32),
        entity=entity,
        entity_offsets=problems.entity_offsets + np.arange(len(n_entities) + 1),
        local=local,
        pairs=_with_nil_entity(problems.pairs, problems.entity_offsets),
    )


def _score(schema: Schema, without: Collection[str]) -> int:
    """Return the column of the joint ranker, or of the local one."""
    joint = "joint ranker" not in without
    return schema.names.index("joint_score" if joint else "rank_score")


def _with_nil_entity(pairs: TablePairs, entity_offsets: Longs) -> TablePairs:
    """Add an entity per document whose pair features are all 0."""
    table = pairs.table
    zeros = np.zeros((1, table.vectors.shape[1]), np.float32)
    grown = PairTable(
        np.concatenate([table.vectors, zeros]),
        table.space_offsets,
        np.concatenate([table.link_offsets, table.link_offsets[:, -1:]], axis=1),
        table.link_targets,
        table.link_counts,
    )
    row = np.insert(pairs.row, entity_offsets[1:], np.int32(table.n_rows))
    return TablePairs(row.astype(np.int32), grown, np.insert(pairs.name, entity_offsets[1:], 0))


# Counts of annotations in training documents, by name and by entity.


_MOST = 1 << 53


@dataclass(frozen=True)
class TrainingCounts:
    """Counts of annotated mentions."""

    entities: Mapping[str, int] = field(default_factory=dict)  # by entity id
    outside: Mapping[str, int] = field(default_factory=dict)  # by name, annotated as NIL
    inside: Mapping[str, int] = field(default_factory=dict)  # by name, annotated with an entity

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
        counted = entities, names[False], names[True]
        return cls(*(dict(sorted(counts.items())) for counts in counted))

    def lookup(self, candidates: CandidateTable) -> Longs:
        """Return the counts of the mentions' names, outside and inside: i8[M, 2]."""
        return self._of_names([mention.text for mention in candidates.mentions])

    def _of_names(self, texts: Sequence[str]) -> Longs:
        rows = {
            text: (self.outside.get(name, 0), self.inside.get(name, 0))
            for text, name in {text: normal_name(text) for text in texts}.items()
        }
        return np.array([rows[text] for text in texts], np.int64).reshape(-1, 2)

    def lookup_leave_one_out(
        self, annotated: Sequence[Document], candidates: CandidateTable
    ) -> Longs:
        """Return the same without the counts of each mention's own document.

        annotated  the counted document of each segment of the candidates
        """
        texts = [mention.text for mention in candidates.mentions]
        borders = pairwise(candidates.mention_offsets.tolist())
        own = np.zeros((len(texts), 2), np.int64)
        for document, (first, last) in zip(annotated, borders, strict=True):
            own[first:last] = TrainingCounts.of([document])._of_names(texts[first:last])
        return self._of_names(texts) - own
