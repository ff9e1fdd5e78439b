"""Title: the form of the entity's title, and its type."""

import numpy as np

from sgtb.linking.entities.entity_source import KNOWN_TYPES
from sgtb.linking.features.feature_group import Block, FeatureGroup, FeatureInputs, columns

SHAPES = ("title_brackets", "title_comma", "title_digit", "title_words")
ENTITY_TYPES = ("entity_person", "entity_organisation", "entity_place")


def _title(inputs: FeatureInputs) -> Block:
    return inputs.by_entity(np.concatenate([inputs.facts.shape, inputs.facts.type], axis=1))


GROUPS = (
    FeatureGroup(
        "title", "form of the title", "Brackets, commas and digits; the entity's type.",
        50, (*columns(SHAPES), *columns(ENTITY_TYPES, [KNOWN_TYPES])), _title,
    ),
)  # fmt: skip
