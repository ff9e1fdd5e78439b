"""Votes: support for a candidate by the other names of a document.

Every name votes with its candidates, weighted by prior: by their links with the candidate, or by
the similarity of their vectors. Votes are summed over all candidates, over the best of each name,
and over the names with a single candidate.
"""

from collections.abc import Sequence

import numpy as np

from sgtb.core.dtypes import Doubles, Floats
from sgtb.core.sparse_matrix import SparseMatrix
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.features.repeated_mentions import numbered
from sgtb.native import closeness_votes, link_votes

VOTES = ("linked_votes", "linked_names", "linked_with_sure")
CLOSE_VOTES = ("close_votes", "close_names", "close_to_sure")

REACH = 64
"""Names before and after a name that vote on it; makes long documents linear."""


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
    name = numbered(names)
    out = np.empty((1 + len(spaces), len(VOTES), candidates.n_candidates))
    link_votes(candidates, name, prior, links, REACH, out[0])
    for space, lines in zip(spaces, out[1:], strict=True):
        closeness_votes(candidates, name, prior, np.ascontiguousarray(space), REACH, lines)
    return out.reshape(len(VOTES) * (1 + len(spaces)), candidates.n_candidates)
