"""Decisions on ambiguous names: the entity that fits the clear links of a page best.

The score of an entity e for a name on page P adds

    for each clear link c of P that e links, or that links e   1000 / ln(e + in-links of c)
    for P itself, if e links P or P links e                     twice that of P
    if the name is e's title                                    TITLE_SCORE

Links of first-pass names are evidence of coherence, as in the linker, and rare ones count most. An
entity named by its plain title is usually meant. A tie, or no evidence at all, leaves a name
undecided. Scores are whole numbers, so that sums do not depend on their order.
"""

import math

import numpy as np
import numpy.typing as npt

from sgtb.core.sparse_matrix import log
from sgtb.pages.cased_text import run_starts
from sgtb.wikipedia.build.duckdb_store import Arrays

TITLE_SCORE = 400
_OWN_WEIGHT = 2


class NameDecisions:
    """Decides ambiguous names by a graph of clear links.

    source, target  i4[N], distinct links
    entities        number of entities
    """

    def __init__(
        self, source: npt.NDArray[np.int32], target: npt.NDArray[np.int32], entities: int
    ) -> None:
        pairs = np.concatenate([_keys(source, target), _keys(target, source)])
        self._pairs = np.unique(pairs)
        in_links = np.bincount(target, minlength=entities)
        self._weight = np.round(1000 / log(math.e + in_links)).astype(np.int64)

    def decide(self, meanings: Arrays, links: Arrays, own: Arrays) -> Arrays:
        """Return page, hash and number of decided names.

        meanings  page, hash, number, is_title; rows of a name on a page are consecutive
        links     page and number, sorted: clear links and the page's own entity
        own       page and number, sorted: the page's own entity
        """
        score = self._coherence(meanings, links, own)
        score += np.where(meanings["is_title"], TITLE_SCORE, 0)
        begins = run_starts(meanings["page"], meanings["hash"])
        group = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(score)))
        order = np.lexsort((-score, group))
        best = order[begins]
        second = order[np.minimum(begins + 1, len(order) - 1)]
        clear = (score[best] > 0) & (score[best] > score[second])
        return {name: meanings[name][best[clear]] for name in ("page", "hash", "number")}

    def _coherence(self, meanings: Arrays, links: Arrays, own: Arrays) -> npt.NDArray[np.int64]:
        """Return the score of each meaning by the links of its page."""
        begin = np.searchsorted(links["page"], meanings["page"])
        size = np.searchsorted(links["page"], meanings["page"], "right") - begin
        row = np.repeat(np.arange(len(begin)), size)
        at = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size) + begin[row]
        other = links["number"][at]
        entity = meanings["number"][row]
        found = self._linked(entity, other)
        weight = self._weight[other]
        of_page = own["number"][np.searchsorted(own["page"], meanings["page"])]
        weight = np.where(other == of_page[row], _OWN_WEIGHT * weight, weight)
        sums = np.bincount(row, np.where(found, weight, 0), len(begin))  # exact: whole numbers
        return sums.astype(np.int64)

    def _linked(self, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        if not len(self._pairs):
            return np.zeros(len(a), np.bool_)
        keys = _keys(a, b)
        at = np.minimum(np.searchsorted(self._pairs, keys), len(self._pairs) - 1)
        found: npt.NDArray[np.bool_] = self._pairs[at] == keys
        return found


def _keys(a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    return (a.astype(np.int64) << 32) | b
