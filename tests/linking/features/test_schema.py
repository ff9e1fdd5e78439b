"""The schema: names, groups, what needs which evidence, and what can be left out."""

from collections import Counter

import pytest

from sgtb.core.errors import SettingsError
from sgtb.linking.entities.entity_source import (
    DESCRIPTIONS,
    ENTITY_VECTORS,
    KNOWN_TYPES,
    LINKS,
    NAME_PRIORS,
    POPULARITY,
    WORD_VECTORS,
)
from sgtb.linking.features.groups.coherence import COHERENCES
from sgtb.linking.features.schema import (
    COLLECTIVE,
    COMPUTED,
    GROUPS,
    LABELS,
    LEARNED,
    PAIRS,
    RANKERS_ONLY,
    SCHEMA,
    VERSION,
    Schema,
)

EVERYTHING = frozenset(
    [LINKS, DESCRIPTIONS, KNOWN_TYPES, POPULARITY, ENTITY_VECTORS, NAME_PRIORS, WORD_VECTORS]
)
FULL = Schema.of(EVERYTHING)

AIDA = {
    "popularity": "log_in_links log_out_links popularity log_degree",
    "prior": """candidates in_link_prior popularity_prior in_links_below_best out_links_below_best
        popularity_below_best in_link_rank popularity_rank""",
    "name": """name_equal title_equal full_name_equal full_title_equal words_alike full_words_alike
        letters_alike full_letters_alike words_within starts_alike ends_alike acronym name_within
        same_beginning""",
    "title": """title_brackets title_comma title_digit title_words entity_person
        entity_organisation entity_place""",
    "place": """dateline in_brackets before_number after_number after_preposition beside_versus
        in_topic_document in_headline sentence_digits sentence_capitals document_digits
        sentence_length sentence_place upper_case same_name document_mentions""",
    "overlap": """rest_words rest_in_document rest_weight_in_document rest_weight_missing
        rest_weight_in_sentence rest_weight_in_headline rest_in_document_below_best
        rest_weight_in_document_below_best rest_weight_in_headline_below_best""",
    "similarity": """title_mention title_window title_sentence title_headline title_document
        kind_sentence kind_headline kind_document bracket_headline bracket_document
        rest_sentence rest_headline rest_document title_sentence_below_best
        title_document_below_best kind_sentence_below_best kind_headline_below_best
        kind_document_below_best rest_sentence_below_best rest_headline_below_best
        rest_document_below_best""",
    "description": """linked_document linked_headline linked_sentence description_window
        description_sentence description_headline description_document
        linked_document_below_best linked_headline_below_best description_document_below_best""",
    "coherence": """linked_votes linked_names linked_with_sure topic_close_votes topic_close_names
        topic_close_to_sure description_close_votes description_close_names
        description_close_to_sure walk_log walk_share linked_votes_below_best
        linked_names_below_best linked_with_sure_below_best topic_close_votes_below_best
        topic_close_names_below_best topic_close_to_sure_below_best
        description_close_votes_below_best description_close_names_below_best
        description_close_to_sure_below_best walk_log_below_best""",
    "type": """mention_per mention_org mention_loc mention_misc name_per name_org name_loc name_misc
        types_agree""",
    "ranker": "rank_score rank_score_below_best rank_probability",
    "joint ranker": "joint_score joint_score_below_best joint_probability",
}
"""The features of the published AIDA models, in their order: a change here needs a new version."""


def test_the_features_of_aida_are_those_of_version_2():
    assert VERSION == 2
    assert [(f.group, f.name) for f in SCHEMA.features] == [
        (group, name) for group, names in AIDA.items() for name in names.split()
    ]
    assert SCHEMA.pairs == ("topic_vector", "description_vector", "linked", "same")


def test_names_are_unique():
    assert [name for name, n in Counter(FULL.names).items() if n > 1] == []
    assert len(set(FULL.pairs)) == len(FULL.pairs)


def test_it_has_a_version_and_all_groups():
    assert isinstance(VERSION, int)
    assert FULL.version == SCHEMA.version == VERSION >= 1
    assert (*COMPUTED, *LEARNED) == GROUPS
    assert FULL.groups == tuple(LABELS) == tuple(group.key for group in GROUPS)
    assert FULL.pairs == tuple(pair.name for pair in PAIRS)
    assert len(FULL.names) == sum(len(group.all_columns) for group in GROUPS)
    assert SCHEMA.groups == tuple(group for group in LABELS if group not in ("name prior", "match"))


def also_below_best(*names: str) -> set[str]:
    return {*names, *(f"{name}_below_best" for name in names)}


def lost(evidence: frozenset[str], without: str) -> set[str]:
    """The features that one kind of evidence less takes away, those of pairs in brackets."""
    more, less = Schema.of(evidence), Schema.of(evidence - {without})
    assert set(less.names) <= set(more.names)
    assert set(less.pairs) <= set(more.pairs)
    gone = set(more.names) - set(less.names)
    return gone | {f"({name})" for name in set(more.pairs) - set(less.pairs)}


BY_LINKS = {
    "log_in_links", "log_out_links", "log_degree", "in_link_prior", "in_links_below_best",
    "out_links_below_best", "in_link_rank", "walk_share", "(linked)",
    *also_below_best("linked_votes", "linked_names", "linked_with_sure", "walk_log"),
}  # fmt: skip
BY_DESCRIPTION = {
    "linked_sentence", *also_below_best("linked_document", "linked_headline"),
    *also_below_best("topic_close_votes", "topic_close_names", "topic_close_to_sure"),
    "(topic_vector)",
}  # fmt: skip
BY_DESCRIPTION_AND_WORDS = {
    "description_window", "description_sentence", "description_headline",
    *also_below_best("description_document"),
    *also_below_best(*(f"description_close_{n}" for n in ("votes", "names", "to_sure"))),
    "(description_vector)",
}  # fmt: skip
BY_MATCH = {
    "match_exact", "match_variant", "match_shared", "edit_similarity", "same_digits",
    *also_below_best("match_trained", "ngram_similarity", "word_overlap"),
}  # fmt: skip
LOST = {
    LINKS: BY_LINKS,
    DESCRIPTIONS: set(),  # links describe, too
    KNOWN_TYPES: {*(n for n in AIDA["title"].split() if n[:7] == "entity_"), *AIDA["type"].split()},
    POPULARITY: {"popularity", "popularity_prior", "popularity_below_best", "popularity_rank"},
    ENTITY_VECTORS: {"(entity_vector)", *(n for n in COHERENCES if n.startswith("entity_"))},
    NAME_PRIORS: {"name_prior", "name_prior_below_best", "name_prior_rank", *BY_MATCH},
    WORD_VECTORS: {*AIDA["similarity"].split(), *BY_DESCRIPTION_AND_WORDS},
}


@pytest.mark.parametrize("kind", sorted(EVERYTHING))
def test_without_some_evidence_exactly_its_features_are_gone(kind):
    assert lost(EVERYTHING, kind) == LOST[kind]


def test_links_and_descriptions_stand_in_for_each_other():
    assert lost(EVERYTHING - {LINKS}, DESCRIPTIONS) == BY_DESCRIPTION | BY_DESCRIPTION_AND_WORDS
    gone = BY_LINKS | BY_DESCRIPTION | BY_DESCRIPTION_AND_WORDS
    assert lost(EVERYTHING - {DESCRIPTIONS}, LINKS) == gone
    assert lost(frozenset([LINKS]), LINKS) == BY_LINKS | BY_DESCRIPTION


def test_without_any_evidence_names_and_places_are_left():
    least = Schema.of(frozenset())
    left = {*("name", "place", "overlap", "ranker", "joint ranker"), "prior", "title"}
    assert set(least.groups) == left
    own = {f.name for f in least.features if f.group in ("prior", "title")}
    assert own == {"candidates", "title_brackets", "title_comma", "title_digit", "title_words"}
    assert least.pairs == ("same",)


@pytest.mark.parametrize("kind", [*sorted(EVERYTHING), None])
def test_columns_keep_their_order_and_know_their_places(kind):
    schema = Schema.of(EVERYTHING - {kind})
    assert schema.evidence == EVERYTHING - {kind}
    assert [n for n in FULL.names if n in schema.names] == list(schema.names)
    assert [n for n in FULL.pairs if n in schema.pairs] == list(schema.pairs)
    for groups, places in ((COMPUTED, schema.fixed), (LEARNED, schema.learned)):
        every = [(group.key, column.name) for group in groups for column in group.all_columns]
        keys = {group.key for group in groups}
        own = [(f.group, f.name) for f in schema.features if f.group in keys]
        assert [every[place] for place in places] == own
    assert len(schema.fixed) + len(schema.learned) == len(schema.features)


def test_a_group_is_one_block_of_columns():
    for schema in (SCHEMA, FULL):
        for group in schema.groups:
            own = [i for i, feature in enumerate(schema.features) if feature.group == group]
            assert own == list(range(own[0], own[-1] + 1))


def test_columns_without_groups():
    everything = [i for i, f in enumerate(SCHEMA.features) if f.group not in RANKERS_ONLY]
    assert SCHEMA.columns_without(()) == everything
    assert SCHEMA.columns_without(SCHEMA.groups) == []
    left = SCHEMA.columns_without(["name", "place"])
    others = set(SCHEMA.groups) - {"name", "place", *RANKERS_ONLY}
    assert {SCHEMA.features[i].group for i in left} == others
    assert left == sorted(left)
    # A group without any evidence can be left out all the same.
    assert SCHEMA.columns_without(["name prior"]) == everything


def test_an_unknown_group_is_refused_with_those_there_are():
    with pytest.raises(SettingsError, match="there is no feature group 'nmae'") as caught:
        SCHEMA.columns_without(["name", "nmae"])
    assert all(group in str(caught.value) for group in LABELS)


def test_trees_do_not_see_absolute_counts():
    assert RANKERS_ONLY == ("popularity",)
    seen = {SCHEMA.names[i] for i in SCHEMA.columns_without(())}
    assert not seen & {"log_in_links", "log_out_links", "popularity", "log_degree"}
    assert {"in_link_prior", "popularity_prior", "in_links_below_best"} <= seen


def test_a_local_model_does_without_other_mentions():
    assert set(COLLECTIVE) < set(SCHEMA.groups)
    assert "coherence" in COLLECTIVE
