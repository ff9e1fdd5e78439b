"""Coherence: support for a candidate by the candidates of all other mentions.

Votes by links and vectors, and a random walk for links of more than one step. The search only knows
the entities chosen so far; these features cover the mentions not visited yet.
"""

import numpy as np

from sgtb.core.dtypes import Doubles, Floats
from sgtb.core.segments import share
from sgtb.linking.candidates.entity_nodes import Nodes
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.entity_source import DESCRIBED, LINKS, WORD_VECTORS
from sgtb.linking.features.feature_group import Block, Column, FeatureGroup, FeatureInputs
from sgtb.linking.features.repeated_mentions import Repeats
from sgtb.linking.features.votes import CLOSE_VOTES, VOTES, votes
from sgtb.native import compare_votes, random_walk

SPACES = ("topic", "description")
"""The vector spaces in which names vote by closeness."""

COMPARED = (*VOTES, *(f"{space}_{vote}" for space in SPACES for vote in CLOSE_VOTES), "walk_log")
COHERENCES = (*COMPARED, "walk_share", *(f"{name}_below_best" for name in COMPARED))

WALK_ROUNDS, RESTART = 15, 0.2


def coherence_features(repeats: Repeats, facts: EntityFacts) -> Floats:
    """Return f4[C, len(COHERENCES)] for the candidates of `repeats.once`."""
    once = repeats.once
    offsets = once.candidate_offsets
    prior = share(facts.in_links[once.entity] + 1.0, offsets)
    spaces = [getattr(facts, f"{space}_vector") for space in SPACES]
    walk = _walks(repeats, facts, prior)
    voted = votes(once, repeats.names, prior, facts.links, spaces)
    features = np.empty((len(walk), len(COHERENCES)), np.float32)
    compare_votes(voted, np.log(walk + 1e-6), share(walk, offsets), offsets, features)
    return features


def _walks(repeats: Repeats, facts: EntityFacts, prior: Doubles) -> Doubles:
    """Return the mass of each candidate after a random walk over its document's candidates.

    Random walk with restart from every mention: entities mentioned often get more mass.
    """
    nodes = Nodes.of(repeats.once, len(facts))
    mass = np.empty(len(nodes.place))
    random_walk(nodes, repeats.place, prior, facts.links, WALK_ROUNDS, RESTART, mass)
    return mass


_NEEDS = {
    "topic": frozenset([DESCRIBED]),
    "description": frozenset([DESCRIBED, WORD_VECTORS]),
}


def _column(name: str) -> Column:
    return Column(name, _NEEDS.get(name.partition("_")[0], frozenset([LINKS])))


def _coherence(inputs: FeatureInputs) -> Block:
    return inputs.by_repeat(coherence_features(inputs.repeats, inputs.facts))


GROUPS = (
    FeatureGroup(
        "coherence", "coherence", "Links and similarity to the candidates of other mentions.",
        100, tuple(map(_column, COHERENCES)), _coherence, collective=True,
    ),
)  # fmt: skip
