"""Surface: names compared, the form of the title, the position of the mention, name matches."""

from collections.abc import Sequence

import numpy as np

from sgtb.core.dtypes import Floats
from sgtb.linking.candidates.candidate_table import MATCHES, CandidateTable
from sgtb.linking.entities.background import BEGINNING, name_fingerprints
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.entity_source import KNOWN_TYPES, NAME_PRIORS
from sgtb.linking.features.contexts import PLACES
from sgtb.linking.features.feature_group import FeatureGroup, FeatureInputs, columns
from sgtb.native import compare_names

NAMES = (
    "name_equal", "title_equal", "full_name_equal", "full_title_equal", "words_alike",
    "full_words_alike", "letters_alike", "full_letters_alike", "words_within", "starts_alike",
    "ends_alike", "acronym", "name_within", "same_beginning",
)  # fmt: skip
SHAPES = ("title_brackets", "title_comma", "title_digit", "title_words")
ENTITY_TYPES = ("entity_person", "entity_organisation", "entity_place")


def name_features(
    candidates: CandidateTable, names: Sequence[str], full_names: Sequence[str], facts: EntityFacts
) -> Floats:
    """Compare every mention's names with the titles of its candidates: f4[C, len(NAMES)]."""
    out = np.empty((candidates.n_candidates, len(NAMES)), np.float32)
    # Names recur in other documents, and most are their own full name.
    distinct = [*dict.fromkeys((*names, *full_names))]
    number = dict(zip(distinct, range(len(distinct)), strict=True))
    own, full = (
        np.fromiter(map(number.__getitem__, some), np.int64, len(some))
        for some in (names, full_names)
    )
    length = np.fromiter(map(len, distinct), np.int32, len(distinct))
    compare_names(
        candidates.candidate_offsets, candidates.entity, own, full, name_fingerprints(distinct),
        np.minimum(length, BEGINNING), facts.fingerprints, facts.whole_title, out,
    )  # fmt: skip
    return out


def compared_names(inputs: FeatureInputs) -> Floats:
    """Return f4[R, len(NAMES)] for the candidates of `repeats.once`."""
    repeats = inputs.repeats
    return name_features(repeats.once, repeats.names, repeats.full_names, inputs.facts)


GROUPS = (
    FeatureGroup(
        "name", "name similarity",
        "Words, letters, beginnings and acronyms that mention and title have in common.",
        40, columns(NAMES), lambda inputs: inputs.by_repeat(inputs.once(compared_names)),
    ),
    FeatureGroup(
        "title", "form of the title", "Brackets, commas and digits; the entity's type.",
        50, (*columns(SHAPES), *columns(ENTITY_TYPES, [KNOWN_TYPES])),
        lambda inputs: inputs.by_entity(
            np.concatenate([inputs.facts.shape, inputs.facts.type], axis=1)
        ),
    ),
    FeatureGroup(
        "place", "position in the text",
        "Headline, dateline, brackets, numbers and prepositions around the mention.",
        60, columns(PLACES), lambda inputs: inputs.by_mention(inputs.contexts.place),
    ),
    FeatureGroup(
        "match", "match of the name",
        "Whether the name is listed, a variant, annotated in training, or how similar it is.",
        110, columns(MATCHES, [NAME_PRIORS], ("match_trained", "ngram_similarity", "word_overlap")),
        lambda inputs: inputs.by_candidate(inputs.candidates.match),
    ),
)  # fmt: skip
