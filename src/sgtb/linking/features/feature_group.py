"""FeatureGroup: the declaration of a group of features, and the inputs it is computed from."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sgtb.core.dtypes import Floats, Longs
from sgtb.core.sparse_matrix import group_of
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.entities.background import Lexicon
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.features.contexts import Contexts, Repeats

Result = TypeVar("Result")

BELOW_BEST = "_below_best"
"""Suffix of a column that holds the difference to the mention's best candidate."""


@dataclass(frozen=True)
class Column:
    """A feature of a candidate.

    needs     kinds of evidence, see `entity_source`; without one of them the column is left out
    relative  whether a second column holds the difference to the mention's best candidate
    """

    name: str
    needs: frozenset[str] = frozenset()
    relative: bool = False

    @property
    def below_best(self) -> "Column":
        """The second column."""
        return Column(self.name + BELOW_BEST, self.needs)


def columns(
    names: Iterable[str], needs: Iterable[str] = (), relative: Iterable[str] = ()
) -> tuple[Column, ...]:
    """Return columns that need the same evidence."""
    needed, twice = frozenset(needs), frozenset(relative)
    return tuple(Column(name, needed, name in twice) for name in names)


class Block(NamedTuple):
    """The values of a group."""

    values: Floats  # f4[R, len(columns)]
    rows: Longs  # i8[C], the row of each candidate


@dataclass(frozen=True)
class FeatureInputs:
    """Input of feature groups."""

    candidates: CandidateTable
    contexts: Contexts
    repeats: Repeats
    facts: EntityFacts
    lexicon: Lexicon
    _computed: dict[Any, Any] = field(default_factory=dict, repr=False)

    def once(self, compute: "Callable[[FeatureInputs], Result]") -> Result:
        """Return compute(self), cached: several groups may use a table."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        result: Result = self._computed[compute]
        return result

    def by_candidate(self, values: Floats) -> Block:
        """Return a block with a row for each candidate."""
        return Block(values, np.arange(self.candidates.n_candidates))

    def by_mention(self, values: Floats) -> Block:
        """Return a block with a row for each mention."""
        return Block(values, group_of(self.candidates.candidate_offsets))

    def by_entity(self, values: Floats) -> Block:
        """Return a block with a row for each entity."""
        return Block(values, self.candidates.entity.astype(np.int64))

    def by_repeat(self, values: Floats) -> Block:
        """Return a block with a row for each candidate of `repeats.once`."""
        return Block(values, self.repeats.place)


@dataclass(frozen=True)
class FeatureGroup:
    """A group of features: all that schema, matrix, explanations and pages know about it.

    key         its name in settings, model files and the API
    label       its displayed name
    about       one sentence for the documentation
    position    groups are ordered by it; a new group comes last
    columns     in the order of the computed values
    compute     the values; None: they come from a trained model, see `Featurizer`
    collective  whether it reads links between entities or the candidates of other mentions,
                which a local model must not
    rankers_only  whether trees do not see it
    """

    key: str
    label: str
    about: str
    position: int
    columns: tuple[Column, ...]
    compute: Callable[[FeatureInputs], Block] | None = None
    collective: bool = False
    rankers_only: bool = False

    @cached_property
    def all_columns(self) -> tuple[Column, ...]:
        """The columns and, behind them, the differences to the best candidate."""
        return (*self.columns, *(c.below_best for c in self.columns if c.relative))

    @cached_property
    def relative(self) -> Longs:
        """Indices of the columns with a relative column."""
        return np.flatnonzero([column.relative for column in self.columns])
