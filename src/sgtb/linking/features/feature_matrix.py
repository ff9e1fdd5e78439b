"""The feature matrix: one row per candidate, the columns of the schema.

Some columns come from the tagger and the rankers, which are overconfident on their own training
documents. So the features of each training fold come from models trained on the other folds
(cross-fitting); those of all other documents come from models trained on all folds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

import numpy as np

from sgtb.core.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.core.errors import ProblemsError
from sgtb.core.sparse_matrix import exp, group_of, relative, share, spread
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.entities.background import Lexicon
from sgtb.linking.entities.entity_facts import EntityFacts, type_clue
from sgtb.linking.features.contexts import Contexts, Repeats
from sgtb.linking.features.feature_group import FeatureInputs
from sgtb.linking.features.groups.similarity import OVERLAPS, compared_texts
from sgtb.linking.features.groups.surface import NAMES, compared_names
from sgtb.linking.features.ranker import BITS, TAGS, Crosses, Cuts, Ranker, Rankers, Tagger, crosses
from sgtb.linking.features.schema import COLLECTIVE, COMPUTED, SCHEMA, Schema
from sgtb.native import fill_columns


@dataclass(frozen=True)
class Table:
    """Candidates and their features."""

    candidates: CandidateTable
    contexts: Contexts
    facts: EntityFacts
    schema: Schema
    columns: Floats  # f4[C, F], all columns of the schema; learned ones are not filled
    crosses: Crosses  # input of the ranker

    @classmethod
    def build(
        cls,
        candidates: CandidateTable,
        facts: EntityFacts,
        lexicon: Lexicon,
        schema: Schema = SCHEMA,
    ) -> "Table":
        """Compute all features of the schema that need no training."""
        contexts = Contexts.build(candidates, lexicon)
        repeats = Repeats.of(candidates, contexts)
        inputs = FeatureInputs(candidates, contexts, repeats, facts, lexicon)
        columns = _columns(inputs, schema)
        title_equal = inputs.once(compared_names)[repeats.place, NAMES.index("title_equal")]
        rest_words = inputs.once(compared_texts).overlaps[:, OVERLAPS.index("rest_words")]
        sides = crosses(candidates, contexts, facts, title_equal, rest_words)
        return cls(candidates, contexts, facts, schema, columns, sides)

    @property
    def fixed(self) -> Floats:
        """The columns that need no training."""
        return self.columns[:, : len(self.schema.fixed)]

    @property
    def local(self) -> Floats:
        """The columns of a local model."""
        return self.fixed[:, self.local_columns]

    @cached_property
    def local_columns(self) -> Longs:
        """Indices of these columns."""
        own = self.schema.features[: len(self.schema.fixed)]
        return np.flatnonzero([feature.group not in COLLECTIVE for feature in own])

    @property
    def tags(self) -> Ints:
        """Index in TAGS of each mention's annotated type, or of its gold's type; -1: none."""
        tags = np.array([_TAG.get(m.type or "", -1) for m in self.candidates.mentions], np.int32)
        untyped = np.flatnonzero((tags < 0) & (self.candidates.gold >= 0))
        if len(untyped):
            right = self.candidates.candidate_offsets[untyped] + self.candidates.gold[untyped]
            clues = self.facts.type_clue[self.candidates.entity[right]]
            tags[untyped] = [_TAG_OF_CLUE.get(clue, -1) for clue in clues.tolist()]
        return tags


_TAG = {tag: i for i, tag in enumerate(TAGS)}
_TAG_OF_CLUE = {type_clue(tag): i for i, tag in enumerate(TAGS)}


def _columns(inputs: FeatureInputs, schema: Schema) -> Floats:
    """Return a table of all columns with the computed groups filled."""
    own = np.array(schema.fixed, np.int64)
    parts = []
    start = 0
    for group in COMPUTED:
        n, relative = len(group.columns), group.relative
        plain, below = _within(own, start, n), _within(own, start + n, len(relative))
        start += n + len(relative)
        if group.compute is not None and len(plain) + len(below):
            values, rows = group.compute(inputs)
            for columns, below_best in ((plain, False), (relative[below], True)):
                part = SimpleNamespace(
                    values=values, rows=rows, columns=columns, below_best=below_best
                )
                parts += [part] if len(columns) else []
    offsets = inputs.candidates.candidate_offsets
    table = np.empty((int(offsets[-1]), len(schema.features)), np.float32)
    fill_columns(offsets, parts, table)
    return table


def _within(columns: Longs, start: int, n: int) -> Longs:
    """Return the ascending columns in [start, start + n), counted from `start`."""
    first, last = np.searchsorted(columns, [start, start + n])
    return columns[first:last] - start


_Scores = tuple[Doubles, Doubles, Doubles]
"""Predictions: tags f8[M, len(TAGS)], scores of the local and the joint ranker f8[C]."""
_Bins = tuple[Bytes, Bytes]  # binned columns of the local and the joint ranker


@dataclass(frozen=True)
class Featurizer:
    """The models behind the learned features: a tagger, and the rankers with their bins."""

    tagger: Tagger
    rankers: Rankers
    local_cuts: Cuts
    joint_cuts: Cuts

    @classmethod
    def fit(
        cls,
        table: Table,
        folds: Ints,
        seed: int,
        bits: int = BITS,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> tuple["Featurizer", Floats]:
        """Train on a table; return the models and the table's cross-fitted features.

        folds     i4[D]  fold of each document
        bits      of hashed clues
        progress  called with (trainings done, trainings)
        """
        n = len(table.candidates.documents)
        if folds.shape != (n,) or len(np.unique(folds)) < 2:
            raise ProblemsError(f"cross-fitting {n} documents needs {n} fold numbers, two distinct")
        fold_of = np.repeat(folds, np.diff(table.candidates.mention_offsets))
        everything = np.arange(len(fold_of))
        cuts = Cuts.of(table.local), Cuts.of(table.fixed)
        bins = cuts[0].apply(table.local), cuts[1].apply(table.fixed)

        def trained(mentions: Longs, number: int) -> Featurizer:
            clues, rng = table.contexts.tag_clues, np.random.default_rng((seed, number))
            tagger = Tagger.train(clues, table.tags, mentions, rng, bits)
            local, joint = (
                Ranker.train(table.candidates, table.crosses, own, mentions, rng, bits)
                for own in bins
            )
            return cls(tagger, Rankers(local, joint), *cuts)

        parts: list[_Scores] = []
        numbers = np.unique(folds)
        for fold in numbers:
            progress(len(parts), len(numbers) + 1)
            own, others = everything[fold_of == fold], everything[fold_of != fold]
            parts.append(trained(others, int(fold) + 1)._scores(table, bins, own))
        progress(len(parts), len(numbers) + 1)
        # The scores of a fold are zero elsewhere.
        tags, local, joint = (np.sum(scores, axis=0) for scores in zip(*parts, strict=True))
        return trained(everything, 0), _joined(table, (tags, local, joint))

    def features(self, table: Table, reuse: bool = False) -> Floats:
        """Return the features of documents that were not in `fit`: f4[C, F].

        reuse  fill and return the table's own array instead of a copy
        """
        joint, own = self.joint_cuts.apply(table.columns), table.local_columns
        if np.array_equal(self.joint_cuts.values[own], self.local_cuts.values):
            local = _some_columns(joint, own)  # the same columns and cuts
        else:
            local = self.local_cuts.apply(table.local)
        everything = np.arange(len(table.candidates.mentions))
        return _joined(table, self._scores(table, (local, joint), everything), reuse)

    def _scores(self, table: Table, bins: _Bins, mentions: Longs) -> _Scores:
        """Return predictions for some mentions, 0 elsewhere."""
        tags = np.zeros((len(table.candidates.mentions), len(TAGS)))
        tags[mentions] = self.tagger.probabilities(table.contexts.tag_clues)[mentions]
        local, joint = self.rankers.scores(table.candidates, table.crosses, bins, mentions)
        return tags, local, joint


def _some_columns(table: Bytes, columns: Longs) -> Bytes:
    n = len(columns)
    if n and columns[-1] - columns[0] == n - 1:  # a slice is four times as fast
        return np.ascontiguousarray(table[:, columns[0] : columns[0] + n])
    return np.take(table, columns, axis=1)


def _joined(table: Table, scores: _Scores, reuse: bool = False) -> Floats:
    """Return all columns of the schema."""
    candidates, schema = table.candidates, table.schema
    offsets = candidates.candidate_offsets
    tags, *ranked = scores
    name = group_of(candidates.mention_offsets) * len(tags) + table.contexts.name_numbers
    _, name = np.unique(name, return_inverse=True)
    tagged = spread(np.concatenate([tags, _means(tags, name)], axis=1), offsets).T
    types = table.facts.type[candidates.entity].T
    agreed = tagged[0] * types[0] + tagged[1] * types[1] + tagged[2] * types[2]
    columns = [*tagged, agreed]
    for score in ranked:
        below = relative(score, offsets)
        columns += [score, below, share(exp(below), offsets)]
    joined = table.columns if reuse else table.columns.copy()
    for place, i in enumerate(schema.learned, len(schema.fixed)):
        joined[:, place] = columns[i]
    return joined


def _means(values: Doubles, group: Longs) -> Doubles:
    """Return for each row the mean of the rows of its group."""
    sums = np.stack([np.bincount(group, column) for column in values.T], axis=1)
    return (sums / np.bincount(group)[:, None])[group]
