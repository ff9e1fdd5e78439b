"""Name match: how the candidate was found by the name of the mention."""

from sgtb.linking.candidates.candidate_table import MATCHES
from sgtb.linking.entities.entity_source import NAME_PRIORS
from sgtb.linking.features.feature_group import Block, FeatureGroup, FeatureInputs, columns


def _match(inputs: FeatureInputs) -> Block:
    return inputs.by_candidate(inputs.candidates.match)


GROUPS = (
    FeatureGroup(
        "match", "match of the name",
        "Whether the name is listed, a variant, annotated in training, or how similar it is.",
        110, columns(MATCHES, [NAME_PRIORS], ("match_trained", "ngram_similarity", "word_overlap")),
        _match,
    ),
)  # fmt: skip
