"""Priors: how well known candidates are, as such and next to the mention's other candidates."""

import numpy as np

from sgtb.learn.dtypes import Floats
from sgtb.linking.choices import Choices
from sgtb.linking.facts import EntityFacts
from sgtb.linking.segments import rank, relative, share, softmax, spread

POPULARITIES = ("log_in_links", "log_out_links", "popularity", "log_degree")
PRIORS = (
    "candidates", "in_link_prior", "popularity_prior", "in_links_below_best",
    "out_links_below_best", "popularity_below_best", "in_link_rank", "popularity_rank",
)  # fmt: skip


def popularity_features(choices: Choices, facts: EntityFacts) -> Floats:
    """Return f4[C, len(POPULARITIES)]."""
    return np.stack([getattr(facts, name)[choices.entity] for name in POPULARITIES], axis=1)


def prior_features(choices: Choices, facts: EntityFacts) -> Floats:
    """Return f4[C, len(PRIORS)]; a prior is a candidate's share of its mention's total."""
    offsets, entity = choices.candidate_offsets, choices.entity
    in_links, out_links = facts.log_in_links[entity], facts.log_out_links[entity]
    popularity = facts.popularity[entity].astype(np.float64)
    columns = [
        spread(np.diff(offsets), offsets),
        share(facts.entities.in_links[entity] + 1.0, offsets),
        softmax(popularity, offsets),
        relative(in_links, offsets), relative(out_links, offsets), relative(popularity, offsets),
        rank(in_links, offsets), rank(popularity, offsets),
    ]  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float32)
