"""Priors by hand: two mentions, one of them with a tie."""

from dataclasses import replace

import numpy as np

from experiments.entity_tables import listed_candidates, table_facts
from sgtb.linking.features.groups.priors import (
    NAME_PRIOR_FEATURES,
    POPULARITIES,
    PRIORS,
    name_prior_features,
    popularity_features,
    prior_features,
)
from tests.helpers.linking_builders import document, entity_table, lexicon_of

ENTITIES = entity_table(
    ["A", "B", "C", "D"], [(0, 1)], in_links=[3, 9, 3, 0], out_links=[0, 1, 3, 0],
    popularity=[1.0, 2.0, np.nan, 1.0],
)  # fmt: skip


def features(*lines):
    candidates = listed_candidates([document("1", *lines)], ENTITIES)
    facts = table_facts(ENTITIES, lexicon_of([], ENTITIES))
    known, prior = popularity_features(facts)[candidates.entity], prior_features(candidates, facts)
    assert known.dtype == prior.dtype == np.float32
    return (
        dict(zip(POPULARITIES, known.T, strict=True)),
        dict(zip(PRIORS, prior.T, strict=True)),
    )


def test_priors_by_hand():
    known, prior = features("[x|e100||e100,e101,e102] [y|e103||e103] [z|e100||]")  # B, A, C; D
    expected = {
        "candidates": [3, 3, 3, 1],
        "in_link_prior": [10 / 18, 4 / 18, 4 / 18, 1],
        "in_links_below_best": [0, *np.log([4 / 10, 4 / 10]), 0],
        "out_links_below_best": [*np.log([2 / 4, 1 / 4]), 0, 0],
        "in_link_rank": [0, 1, 1, 0],
        "popularity_below_best": [0, -1, -1, 0],
        "popularity_rank": [0, 1, 1, 0],
        "popularity_prior": [*(np.exp([2, 1, 1]) / np.exp([2, 1, 1]).sum()), 1],
    }
    for name in PRIORS:
        np.testing.assert_allclose(prior[name], expected[name], rtol=1e-6, err_msg=name)
    by_entity = {
        "log_in_links": np.log([10, 4, 4, 1]),
        "log_out_links": np.log([2, 1, 4, 1]),
        "popularity": [2, 1, 1, 1],
        "log_degree": np.log([2, 2, 1, 1]),
    }
    for name in POPULARITIES:
        np.testing.assert_allclose(known[name], by_entity[name], rtol=1e-6, err_msg=name)


def test_no_candidates_no_rows():
    known, prior = features("[z|e100||]")
    assert {len(column) for column in (*known.values(), *prior.values())} == {0}


def test_priors_of_names_by_hand():
    candidates = listed_candidates(
        [document("1", "[x|e100||e100,e101,e102] [y|e103||e103] [z|e100||]")], ENTITIES
    )
    assert np.isnan(candidates.prior).all(), "lists of candidates say nothing of names"
    unknown = name_prior_features(candidates)
    assert (unknown.dtype, unknown.any()) == (np.float32, False)
    known = replace(candidates, prior=np.array([0.25, 0.5, 0.25, np.nan], np.float32))
    found = dict(zip(NAME_PRIOR_FEATURES, name_prior_features(known).T.tolist(), strict=True))
    assert found["name_prior"] == [0.25, 0.5, 0.25, 0]
    assert found["name_prior_below_best"] == [-0.25, 0, -0.25, 0]
    assert found["name_prior_rank"] == [1, 0, 1, 0]
