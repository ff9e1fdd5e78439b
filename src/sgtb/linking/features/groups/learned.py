"""Learned features: columns filled by the tagger and the rankers, see `Featurizer`."""

from sgtb.linking.entities.entity_source import KNOWN_TYPES
from sgtb.linking.features.feature_group import FeatureGroup, columns
from sgtb.linking.features.ranker import TAGS

_TAGGED = (*(f"mention_{tag.lower()}" for tag in TAGS), *(f"name_{tag.lower()}" for tag in TAGS))

GROUPS = (
    FeatureGroup(
        "type", "entity type", "The type that the tagger predicts, and whether the entity has it.",
        1010, columns((*_TAGGED, "types_agree"), [KNOWN_TYPES]),
    ),
    FeatureGroup(
        "ranker", "local ranker", "A linear model of the mention and its candidates.",
        1020, columns(("rank_score", "rank_score_below_best", "rank_probability")),
    ),
    FeatureGroup(
        "joint ranker", "joint ranker", "The same with descriptions and coherence.",
        1030, columns(("joint_score", "joint_score_below_best", "joint_probability")),
        collective=True,
    ),
)  # fmt: skip
