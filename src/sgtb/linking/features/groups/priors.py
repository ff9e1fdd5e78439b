"""Popularity of candidates, alone and relative to the others, and priors of names."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Floats
from sgtb.core.sparse_matrix import exp, rank, relative, share, spread
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.entity_source import LINKS, NAME_PRIORS, POPULARITY
from sgtb.linking.features.feature_group import Column, FeatureGroup, columns

_LINKS, _POPULARITY = frozenset([LINKS]), frozenset([POPULARITY])
_POPULARITY_COLUMNS = (
    Column("log_in_links", _LINKS),
    Column("log_out_links", _LINKS),
    Column("popularity", _POPULARITY),
    Column("log_degree", _LINKS),
)
_PRIOR_COLUMNS = (
    Column("candidates"),
    Column("in_link_prior", _LINKS),
    Column("popularity_prior", _POPULARITY),
    Column("in_links_below_best", _LINKS),
    Column("out_links_below_best", _LINKS),
    Column("popularity_below_best", _POPULARITY),
    Column("in_link_rank", _LINKS),
    Column("popularity_rank", _POPULARITY),
)
POPULARITIES = tuple(column.name for column in _POPULARITY_COLUMNS)
PRIORS = tuple(column.name for column in _PRIOR_COLUMNS)
NAME_PRIOR_FEATURES = ("name_prior", "name_prior_below_best", "name_prior_rank")


def popularity_features(facts: EntityFacts) -> Floats:
    """Return f4[N, len(POPULARITIES)], one row per entity."""
    return np.stack([getattr(facts, name) for name in POPULARITIES], axis=1)


def prior_features(candidates: CandidateTable, facts: EntityFacts) -> Floats:
    """Return f4[C, len(PRIORS)]; a prior is a candidate's share of its mention's total."""
    offsets, entity = candidates.candidate_offsets, candidates.entity
    measures = facts.log_in_links, facts.log_out_links, facts.popularity
    in_links, out_links, popularity = (measure[entity] for measure in measures)
    below = [relative(measure, offsets) for measure in (in_links, out_links, popularity)]
    priors = share(facts.in_links[entity] + 1.0, offsets), share(exp(below[-1]), offsets)
    ranks = rank(in_links, offsets), rank(popularity, offsets)
    return _columns(spread(np.diff(offsets), offsets), *priors, *below, *ranks)


def name_prior_features(candidates: CandidateTable) -> Floats:
    """Return f4[C, len(NAME_PRIOR_FEATURES)]; 0 for unknown names."""
    offsets = candidates.candidate_offsets
    prior = np.nan_to_num(candidates.prior).astype(np.float64)
    return _columns(prior, relative(prior, offsets), rank(prior, offsets))


def _columns(*values: npt.NDArray[Any]) -> Floats:
    return np.stack(values, axis=1).astype(np.float32)


GROUPS = (
    FeatureGroup(
        "popularity", "popularity", "Links and page views of the entity.",
        10, _POPULARITY_COLUMNS,
        lambda inputs: inputs.by_entity(popularity_features(inputs.facts)),
        # Trees would split these counts at values of the training corpus; "prior" has shares.
        rankers_only=True,
    ),
    FeatureGroup(
        "prior", "popularity among the candidates",
        "The entity's share of the in-links and the popularity of all candidates of the mention.",
        20, _PRIOR_COLUMNS,
        lambda inputs: inputs.by_repeat(prior_features(inputs.repeats.once, inputs.facts)),
    ),
    FeatureGroup(
        "name prior", "prior of the name", "How often the name means the entity.",
        30, columns(NAME_PRIOR_FEATURES, [NAME_PRIORS]),
        lambda inputs: inputs.by_repeat(name_prior_features(inputs.repeats.once)),
    ),
)  # fmt: skip
