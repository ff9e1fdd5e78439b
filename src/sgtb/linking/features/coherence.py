"""Coherence: what the other names of a document say about a candidate, before anything is decided.

Every other name votes with its own candidates: are they linked with this one, are their vectors
close? A name with a single candidate is sure of itself, and its votes are counted apart. A
random walk over the document's candidates adds what is linked in more than one step.

No label takes part. Search then decides with the entities actually chosen; these features are
what it can know of the names it has not come to yet.
"""

import numpy as np

from sgtb.core.dtypes import Doubles, Floats
from sgtb.core.segments import share
from sgtb.linking.candidates.entity_nodes import Nodes
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.features.repeated_mentions import Repeats
from sgtb.linking.features.votes import CLOSE_VOTES, VOTES, votes
from sgtb.native import compare_votes, random_walk

SPACES = ("topic", "description")
"""The vector spaces in which names vote by closeness."""

COMPARED = (*VOTES, *(f"{space}_{vote}" for space in SPACES for vote in CLOSE_VOTES), "walk_log")
COHERENCES = (*COMPARED, "walk_share", *(f"{name}_below_best" for name in COMPARED))

WALK_ROUNDS, RESTART = 15, 0.2


def coherence_features(repeats: Repeats, facts: EntityFacts) -> Floats:
    """Return f4[C, len(COHERENCES)] for the candidates told once; repeats have the same."""
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

    Walks start from every mention: entities mentioned often are restarted from more often.
    """
    nodes = Nodes.of(repeats.once, len(facts))
    mass = np.empty(len(nodes.place))
    random_walk(nodes, repeats.place, prior, facts.links, WALK_ROUNDS, RESTART, mass)
    return mass
