"""Surface: the form of the title, the entity's type, and the position of the mention."""

import numpy as np

from sgtb.linking.entities.entity_source import KNOWN_TYPES
from sgtb.linking.features.contexts import PLACES
from sgtb.linking.features.feature_group import Block, FeatureGroup, FeatureInputs, columns

SHAPES = ("title_brackets", "title_comma", "title_digit", "title_words")
ENTITY_TYPES = ("entity_person", "entity_organisation", "entity_place")


def _title(inputs: FeatureInputs) -> Block:
    return inputs.by_entity(np.concatenate([inputs.facts.shape, inputs.facts.type], axis=1))


def _place(inputs: FeatureInputs) -> Block:
    return inputs.by_mention(inputs.contexts.place)


GROUPS = (
    FeatureGroup(
        "title", "form of the title", "Brackets, commas and digits; the entity's type.",
        50, (*columns(SHAPES), *columns(ENTITY_TYPES, [KNOWN_TYPES])), _title,
    ),
    FeatureGroup(
        "place", "position in the text",
        "Headline, dateline, brackets, numbers and prepositions around the mention.",
        60, columns(PLACES), _place,
    ),
)  # fmt: skip
