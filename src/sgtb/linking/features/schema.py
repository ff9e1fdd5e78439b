"""The schema: the names, groups and order of the features of a candidate, with a version.

Features need evidence: links, word vectors, types. A schema holds the features for which there is
evidence, and says which that is. A model remembers the schema it was trained with. Change what a
feature means, and the version changes with it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sgtb.core.errors import SettingsError
from sgtb.linking.entities.entity_source import (
    DESCRIPTIONS as OWN_DESCRIPTIONS,
)
from sgtb.linking.entities.entity_source import (
    ENTITY_VECTORS,
    KNOWN_TYPES,
    LINKS,
    NAME_PRIORS,
    POPULARITY,
    WORD_VECTORS,
    Evidence,
)
from sgtb.linking.features.coherence import COHERENCES
from sgtb.linking.features.contexts import PLACES
from sgtb.linking.features.name_similarity import NAMES
from sgtb.linking.features.priors import NAME_PRIOR_FEATURES, POPULARITIES, PRIORS
from sgtb.linking.features.similarity import COSINES, DESCRIPTIONS, OVERLAPS
from sgtb.linking.features.tagger import TAGS

VERSION = 1

SHAPES = ("title_brackets", "title_comma", "title_digit", "title_words")
ENTITY_TYPES = ("entity_person", "entity_organisation", "entity_place")
RELATIVES = (
    "rest_in_document", "rest_weight_in_document", "rest_weight_in_headline",
    "linked_document", "linked_headline",
    "title_sentence", "title_document", "description_document",
    "kind_sentence", "kind_headline", "kind_document",
    "rest_sentence", "rest_headline", "rest_document",
)  # fmt: skip
"""Features that are also given as the distance to the mention's best candidate."""


def _with_relatives(names: tuple[str, ...]) -> tuple[str, ...]:
    return (*names, *(f"{name}_below_best" for name in names if name in RELATIVES))


FIXED = {
    "popularity": POPULARITIES,
    "prior": PRIORS,
    "name prior": NAME_PRIOR_FEATURES,
    "name": NAMES,
    "title": (*SHAPES, *ENTITY_TYPES),
    "place": PLACES,
    "overlap": _with_relatives(OVERLAPS),
    "similarity": _with_relatives(COSINES),
    "description": _with_relatives(DESCRIPTIONS),
    "coherence": COHERENCES,
}  # fmt: skip
"""Features that need no training, by group."""

LEARNED = {
    "type": (
        *(f"mention_{tag.lower()}" for tag in TAGS), *(f"name_{tag.lower()}" for tag in TAGS),
        "types_agree",
    ),
    "ranker": ("rank_score", "rank_score_below_best", "rank_probability"),
    "joint ranker": ("joint_score", "joint_score_below_best", "joint_probability"),
}  # fmt: skip
"""Features made by models that were trained on other documents, by group."""

GROUPS = (*FIXED, *LEARNED)

BEYOND_THE_MENTION = ("description", "coherence", "joint ranker")
"""Groups made of links between entities or of other mentions' candidates: evidence of the
collective kind, which a local model must do without."""

PAIRS = ("topic_vector", "description_vector", "entity_vector", "linked", "same")
"""Features of two candidates: cosines, and whether they are linked, or the same entity."""

_DESCRIBED = "links or descriptions"
"""Evidence of two kinds that makes the same features."""
_WORDED = frozenset([WORD_VECTORS, _DESCRIBED])
# The first word of a feature that begins so, within its group; "" is all others.
_NEEDS: dict[str, dict[str, frozenset[str]]] = {
    "popularity": {"popularity": frozenset([POPULARITY]), "": frozenset([LINKS])},
    "prior": {
        "popularity": frozenset([POPULARITY]), "candidates": frozenset(), "": frozenset([LINKS])
    },
    "name prior": {"": frozenset([NAME_PRIORS])},
    "title": {"entity": frozenset([KNOWN_TYPES])},
    "similarity": {"": frozenset([WORD_VECTORS])},
    "description": {"description": _WORDED, "": frozenset([_DESCRIBED])},
    "coherence": {
        "topic": frozenset([_DESCRIBED]), "description": _WORDED,
        "entity": frozenset([ENTITY_VECTORS]), "": frozenset([LINKS]),
    },
    "type": {"": frozenset([KNOWN_TYPES])},
    "pairs": {
        "topic": frozenset([_DESCRIBED]), "description": _WORDED,
        "entity": frozenset([ENTITY_VECTORS]), "linked": frozenset([LINKS]),
    },
}  # fmt: skip


def _possible(name: str, group: str, evidence: Evidence) -> bool:
    """Whether there is the evidence that a feature needs."""
    by_word = _NEEDS.get(group, {})
    needs = by_word.get(name.partition("_")[0], by_word.get("", frozenset()))
    described = {_DESCRIBED} if evidence & {LINKS, OWN_DESCRIPTIONS} else set()
    return needs <= evidence | described


@dataclass(frozen=True)
class Feature:
    """A column of the table of candidates."""

    name: str
    group: str


@dataclass(frozen=True)
class Schema:
    """The columns of a table of candidates, and the features of pairs.

    evidence  what they are made of
    """

    version: int
    evidence: Evidence
    features: tuple[Feature, ...]
    pairs: tuple[str, ...]

    @classmethod
    def of(cls, evidence: Evidence) -> "Schema":
        """Return the features for which there is evidence."""
        return cls(
            VERSION,
            evidence,
            tuple(f for f in _FEATURES if _possible(f.name, f.group, evidence)),
            tuple(name for name in PAIRS if _possible(name, "pairs", evidence)),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(feature.name for feature in self.features)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, each once, in order."""
        return tuple(dict.fromkeys(feature.group for feature in self.features))

    @cached_property
    def fixed(self) -> tuple[int, ...]:
        """The places of its own columns among all those of FIXED."""
        return self._places(FIXED)

    @cached_property
    def learned(self) -> tuple[int, ...]:
        """The places of its own columns among all those of LEARNED."""
        return self._places(LEARNED)

    def _places(self, groups: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
        own = {(feature.group, feature.name) for feature in self.features}
        names = [(group, name) for group in groups for name in groups[group]]
        return tuple(i for i, name in enumerate(names) if name in own)

    def columns_without(self, groups: Collection[str]) -> list[int]:
        """Return the columns that belong to none of the groups."""
        unknown = set(groups) - set(GROUPS)
        if unknown:
            raise SettingsError(
                f"there is no feature group {sorted(unknown)[0]!r}; there are {GROUPS}"
            )
        return [i for i, feature in enumerate(self.features) if feature.group not in groups]


_FEATURES = tuple(
    Feature(name, group)
    for groups in (FIXED, LEARNED)
    for group, names in groups.items()
    for name in names
)

SCHEMA = Schema.of(frozenset([LINKS, KNOWN_TYPES, POPULARITY, WORD_VECTORS]))
"""That of the AIDA experiments: PPRforNED's pages with candidates that documents bring along."""
