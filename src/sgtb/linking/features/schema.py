"""The schema: the columns of the feature matrix and the pair features, with a version.

A schema has the features for which there is evidence (links, word vectors, types). A model file
names its features. A change of a feature's meaning needs a new version.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sgtb.core.errors import SettingsError
from sgtb.linking.entities.entity_source import (
    DESCRIBED,
    DESCRIPTIONS,
    KNOWN_TYPES,
    LINKS,
    POPULARITY,
    WORD_VECTORS,
    Evidence,
)
from sgtb.linking.features.feature_group import FeatureGroup
from sgtb.linking.features.feature_registry import COMPUTED, GROUPS, LEARNED
from sgtb.linking.features.pair_features import PAIRS

VERSION = 1


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
        """Return the columns that belong to none of the groups."""
        keys = tuple(group.key for group in GROUPS)
        unknown = set(groups) - set(keys)
        if unknown:
            raise SettingsError(
                f"there is no feature group {sorted(unknown)[0]!r}; there are {keys}"
            )
        return [i for i, feature in enumerate(self.features) if feature.group not in groups]


SCHEMA = Schema.of(frozenset([LINKS, KNOWN_TYPES, POPULARITY, WORD_VECTORS]))
"""The schema of the AIDA experiments: PPRforNED's pages, candidates listed in the documents."""
