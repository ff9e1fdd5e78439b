"""Place: where in the document the mention is."""

from sgtb.linking.features.contexts import PLACES
from sgtb.linking.features.feature_group import Block, FeatureGroup, FeatureInputs, columns


def _place(inputs: FeatureInputs) -> Block:
    return inputs.by_mention(inputs.contexts.place)


GROUPS = (
    FeatureGroup(
        "place", "position in the text",
        "Headline, dateline, brackets, numbers and prepositions around the mention.",
        60, columns(PLACES), _place,
    ),
)  # fmt: skip
