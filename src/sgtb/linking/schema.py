"""The schema: the names, groups and order of the features of a candidate, with a version.

A model remembers the schema it was trained with. Change what a feature means, and the version
changes with it.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sgtb.errors import SettingsError
from sgtb.linking.coherence import COHERENCES
from sgtb.linking.contexts import PLACES
from sgtb.linking.names import NAMES
from sgtb.linking.priors import POPULARITIES, PRIORS
from sgtb.linking.similarity import COSINES, DESCRIPTIONS, OVERLAPS
from sgtb.linking.tagger import TAGS

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

BEYOND_THE_MENTION = ("description", "coherence", "joint ranker")
"""Groups made of links between entities or of other mentions' candidates: evidence of the
collective kind, which a local model must do without."""

PAIRS = ("topic_vector", "description_vector", "linked", "same")
"""Features of two candidates: two cosines, and whether they are linked, or the same entity."""


@dataclass(frozen=True)
class Feature:
    """A column of the table of candidates."""

    name: str
    group: str


@dataclass(frozen=True)
class Schema:
    """The columns of a table of candidates, and the features of pairs."""

    version: int
    features: tuple[Feature, ...]
    pairs: tuple[str, ...] = PAIRS

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(feature.name for feature in self.features)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, each once, in order."""
        return tuple(dict.fromkeys(feature.group for feature in self.features))

    def columns_without(self, groups: Collection[str]) -> list[int]:
        """Return the columns that belong to none of the groups."""
        unknown = set(groups) - set(self.groups)
        if unknown:
            raise SettingsError(
                f"there is no feature group {sorted(unknown)[0]!r}; there are {self.groups}"
            )
        return [i for i, feature in enumerate(self.features) if feature.group not in groups]


SCHEMA = Schema(
    VERSION,
    tuple(
        Feature(name, group)
        for groups in (FIXED, LEARNED)
        for group, names in groups.items()
        for name in names
    ),
)
