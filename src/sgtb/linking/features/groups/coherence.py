"""Coherence: support for a candidate by the candidates of all other mentions.

Votes by links and vectors, and a random walk for links of more than one step. The search only knows
the entities chosen so far; these features cover the mentions not visited yet.
"""

from collections.abc import Sequence

import numpy as np

from sgtb.core.dtypes import Doubles, Floats
from sgtb.core.sparse_matrix import SparseMatrix, log, share
from sgtb.linking.candidates.candidate_table import CandidateTable, Nodes
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.entity_source import DESCRIBED, LINKS, WORD_VECTORS
from sgtb.linking.features.contexts import Repeats, numbered
from sgtb.linking.features.feature_group import Column, FeatureGroup
from sgtb.native import count_votes, random_walk

# Votes: support for a candidate by the other names of a document.


VOTES = ("linked_votes", "linked_names", "linked_with_sure")
CLOSE_VOTES = ("close_votes", "close_names", "close_to_sure")

REACH = 64  # names before and after a name that vote on it; makes long documents linear


def votes(
    candidates: CandidateTable,
    names: Sequence[str],
    prior: Doubles,
    links: SparseMatrix,
    spaces: Sequence[Floats],
) -> Doubles:
    """Return f8[3 + 3 S, C]: VOTES, then CLOSE_VOTES of each of S spaces.

    names   of the mentions
    prior   of the candidates, their weights
    links   of entities, in both directions
    spaces  vectors by entity number
    """
    out = np.empty((1 + len(spaces), len(VOTES), candidates.n_candidates))
    vectors = [*map(np.ascontiguousarray, spaces)]
    count_votes(candidates, numbered(names), prior, links, vectors, REACH, out)
    return out.reshape(len(VOTES) * (1 + len(spaces)), candidates.n_candidates)


SPACES = ("topic", "description")  # the vector spaces in which names vote by closeness

COMPARED = (*VOTES, *(f"{space}_{vote}" for space in SPACES for vote in CLOSE_VOTES), "walk_log")
COHERENCES = (*COMPARED, "walk_share", *(f"{name}_below_best" for name in COMPARED))

WALK_ROUNDS, RESTART = 15, 0.2


def coherence_features(repeats: Repeats, facts: EntityFacts) -> Floats:
    """Return f4[C, len(COHERENCES)] for the candidates of `repeats.once`."""
    once = repeats.once
    offsets = once.candidate_offsets
    prior = share(facts.in_links[once.entity] + 1.0, offsets)
    spaces = [getattr(facts, f"{space}_vector") for space in SPACES]
    # Random walk with restart from every mention: entities mentioned often get more mass.
    nodes = Nodes.of(once, len(facts))
    walk = np.empty(len(nodes.place))
    random_walk(nodes, repeats.place, prior, facts.links, WALK_ROUNDS, RESTART, walk)
    voted = votes(once, repeats.names, prior, facts.links, spaces)
    compared = np.vstack([voted, log(walk + 1e-6)])
    sizes = np.diff(offsets)
    filled = sizes.nonzero()
    best = np.maximum.reduceat(compared, offsets[:-1][filled], axis=1)
    features = np.empty((len(walk), len(COHERENCES)), np.float32)
    features[:, : len(COMPARED)] = compared.T
    features[:, len(COMPARED)] = share(walk, offsets)
    features[:, len(COMPARED) + 1 :] = (compared - np.repeat(best, sizes[filled], axis=1)).T
    return features


_NEEDS = {
    "topic": frozenset([DESCRIBED]),
    "description": frozenset([DESCRIBED, WORD_VECTORS]),
}


def _column(name: str) -> Column:
    return Column(name, _NEEDS.get(name.partition("_")[0], frozenset([LINKS])))


GROUPS = (
    FeatureGroup(
        "coherence", "coherence", "Links and similarity to the candidates of other mentions.",
        100, tuple(map(_column, COHERENCES)),
        lambda inputs: inputs.by_repeat(coherence_features(inputs.repeats, inputs.facts)),
        collective=True,
    ),
)  # fmt: skip
