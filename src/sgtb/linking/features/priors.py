"""Priors: how well known candidates are, as such and next to the mention's other candidates."""

import numpy as np

from sgtb.core.dtypes import Floats
from sgtb.core.segments import rank, relative
from sgtb.linking.candidates.candidate_table import Choices
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.native import compare_priors

POPULARITIES = ("log_in_links", "log_out_links", "popularity", "log_degree")
PRIORS = (
    "candidates", "in_link_prior", "popularity_prior", "in_links_below_best",
    "out_links_below_best", "popularity_below_best", "in_link_rank", "popularity_rank",
)  # fmt: skip
NAME_PRIOR_FEATURES = ("name_prior", "name_prior_below_best", "name_prior_rank")


def popularity_features(facts: EntityFacts) -> Floats:
    """Return f4[N, len(POPULARITIES)], one row per entity."""
    return np.stack([getattr(facts, name) for name in POPULARITIES], axis=1)


def prior_features(choices: Choices, facts: EntityFacts) -> Floats:
    """Return f4[C, len(PRIORS)]; a prior is a candidate's share of its mention's total."""
    offsets, entity = choices.candidate_offsets, choices.entity
    odds = np.exp(relative(facts.popularity[entity].astype(np.float64), offsets))
    out = np.empty((len(entity), len(PRIORS)), np.float32)
    compare_priors(offsets, entity, facts, odds, out)
    return out


def name_prior_features(choices: Choices) -> Floats:
    """Return f4[C, len(NAME_PRIOR_FEATURES)]; 0 where nothing is known of a name."""
    offsets, prior = choices.candidate_offsets, np.nan_to_num(choices.prior).astype(np.float64)
    columns = [prior, relative(prior, offsets), rank(prior, offsets)]
    return np.stack(columns, axis=1).astype(np.float32)
