"""The schema: all feature groups, the columns of the feature matrix, and the pair features.

Feature groups are declared in the modules of `features.groups` and found there.

A schema has the features for which there is evidence (links, word vectors, types). A model file
names its features. A change of a feature's meaning needs a new version.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from operator import attrgetter
from pkgutil import iter_modules
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Floats, Longs
from sgtb.core.errors import SettingsError
from sgtb.core.ragged import Ragged
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.entity_source import (
    DESCRIBED,
    DESCRIPTIONS,
    ENTITY_VECTORS,
    KNOWN_TYPES,
    LINKS,
    POPULARITY,
    WORD_VECTORS,
    Evidence,
)
from sgtb.linking.features import groups
from sgtb.linking.features.feature_group import FeatureGroup


def _declared() -> tuple[FeatureGroup, ...]:
    modules = [import_module(f"{groups.__name__}.{m.name}") for m in iter_modules(groups.__path__)]
    found = (group for module in modules for group in module.GROUPS)
    return tuple(sorted(found, key=attrgetter("position")))


GROUPS = _declared()
COMPUTED = tuple(group for group in GROUPS if group.compute is not None)
LEARNED = tuple(group for group in GROUPS if group.compute is None)
"""Groups whose columns are filled by trained models; they come after the computed ones."""
COLLECTIVE = tuple(group.key for group in GROUPS if group.collective)
"""Keys of the groups that a local model must not use."""
RANKERS_ONLY = tuple(group.key for group in GROUPS if group.rankers_only)
"""Keys of the groups that trees do not see."""
LABELS = {group.key: group.label for group in GROUPS}  # labels by key


# Pair features φ_E: what is computed of two candidates chosen together, declared in one place.


class PairFeature(NamedTuple):
    """A symmetric feature of two entities: the dot product of their vectors, or 1 if linked.

    needs    the evidence without which it is left out
    vectors  returns f4[N, W] of all entities; None for a relation
    links    returns, for some ascending rows, the numbers among them that each is linked with and
             that are not below its own; None for vectors
    """

    name: str
    needs: Evidence = frozenset()
    vectors: Callable[[EntityFacts], Floats] | None = None
    links: Callable[[EntityFacts, Longs], Ragged] | None = None


def _linked(facts: EntityFacts, rows: Longs) -> Ragged:
    place = np.full(len(facts), -1, np.int32)
    place[rows] = np.arange(len(rows))
    indptr, columns = Ragged(facts.links.indptr, facts.links.indices).take(rows)
    linked = place[columns]
    (kept,) = np.nonzero(linked > np.repeat(np.arange(len(rows)), np.diff(indptr)))
    return Ragged(np.searchsorted(kept, indptr), linked[kept])


def _same(_: EntityFacts, rows: Longs) -> Ragged:
    return Ragged(np.arange(len(rows) + 1), np.arange(len(rows), dtype=np.int32))


def _cosine(field: str, *needs: str) -> PairFeature:
    return PairFeature(field, frozenset(needs), vectors=attrgetter(field))


PAIRS = (
    _cosine("topic_vector", DESCRIBED),
    _cosine("description_vector", DESCRIBED, WORD_VECTORS),
    _cosine("entity_vector", ENTITY_VECTORS),
    PairFeature("linked", frozenset([LINKS]), links=_linked),
    PairFeature("same", links=_same),
)
"""All pair features: vectors first, then relations."""


VERSION = 2


@dataclass(frozen=True)
class Feature:
    """A column of the feature matrix."""

    name: str
    group: str


def _places(groups: Sequence[FeatureGroup]) -> tuple[Feature, ...]:
    return tuple(Feature(c.name, group.key) for group in groups for c in group.all_columns)


@dataclass(frozen=True)
class Schema:
    """The columns of the feature matrix, and the features of pairs.

    evidence  kinds of evidence they need
    """

    version: int
    evidence: Evidence
    features: tuple[Feature, ...]
    pairs: tuple[str, ...]

    @classmethod
    def of(cls, evidence: Evidence) -> "Schema":
        """Return the features for which there is evidence."""
        there = evidence | ({DESCRIBED} if evidence & {LINKS, DESCRIPTIONS} else set())
        names = [c.name for group in GROUPS for c in group.all_columns if c.needs <= there]
        return cls.named(VERSION, evidence, names, [c.name for c in PAIRS if c.needs <= there])

    @classmethod
    def named(
        cls, version: int, evidence: Evidence, names: Iterable[str], pairs: Iterable[str]
    ) -> "Schema":
        """Return the features of these names, in the order of the registry."""
        wanted, paired = set(names), set(pairs)
        features = tuple(f for f in _places(GROUPS) if f.name in wanted)
        return cls(version, evidence, features, tuple(c.name for c in PAIRS if c.name in paired))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(feature.name for feature in self.features)

    @property
    def groups(self) -> tuple[str, ...]:
        """The keys of the groups, in order."""
        return tuple(dict.fromkeys(feature.group for feature in self.features))

    @cached_property
    def fixed(self) -> tuple[int, ...]:
        """Indices of its columns among those of all computed groups."""
        return self._places_among(COMPUTED)

    @cached_property
    def learned(self) -> tuple[int, ...]:
        """Indices of its columns among those of all learned groups."""
        return self._places_among(LEARNED)

    def _places_among(self, groups: Sequence[FeatureGroup]) -> tuple[int, ...]:
        own = set(self.features)
        return tuple(i for i, feature in enumerate(_places(groups)) if feature in own)

    def columns_without(self, groups: Collection[str]) -> list[int]:
        """Return the columns of trees that belong to none of the groups."""
        keys = tuple(group.key for group in GROUPS)
        unknown = set(groups) - set(keys)
        if unknown:
            raise SettingsError(
                f"there is no feature group {sorted(unknown)[0]!r}; there are {keys}"
            )
        left_out = {*groups, *RANKERS_ONLY}
        return [i for i, feature in enumerate(self.features) if feature.group not in left_out]


SCHEMA = Schema.of(frozenset([LINKS, KNOWN_TYPES, POPULARITY, WORD_VECTORS]))
"""The schema of the AIDA experiments: PPRforNED's pages, candidates listed in the documents."""
