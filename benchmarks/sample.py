"""A sample: a few documents that represent a corpus."""

import math
from dataclasses import dataclass

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Longs


@dataclass(frozen=True)
class Sample:
    """Sampled documents, and the factors from the sample to the whole corpus.

    scale          candidates of the corpus / candidates of the sample
    history_scale  the same of (candidate, earlier mention) pairs, the work of pooling
    """

    documents: Longs
    scale: float
    history_scale: float


def choose_sample(problems: Problems, n: int) -> Sample:
    """Sort the documents by candidates and take every k-th, from the most typical start on.

    Most typical: its scaled numbers of candidates and history pairs are nearest to the corpus.
    """
    sizes = np.diff(problems.candidate_offsets).astype(np.int64)
    firsts = problems.mention_offsets[:-1]
    place = np.arange(problems.n_mentions) - np.repeat(firsts, np.diff(problems.mention_offsets))
    candidates = np.diff(problems.candidate_offsets[problems.mention_offsets]).astype(np.int64)
    pairs = np.diff(np.concatenate([[0], np.cumsum(sizes * place)])[problems.mention_offsets])
    order = np.argsort(candidates, kind="stable")
    step = len(order) / n

    def scales(chosen: Longs) -> tuple[float, float]:
        return (
            float(candidates.sum() / candidates[chosen].sum()),
            float(pairs.sum() / max(pairs[chosen].sum(), 1)),
        )

    def strangeness(chosen: Longs) -> float:
        expected = len(order) / len(chosen)
        return max(abs(math.log(scale / expected)) for scale in scales(chosen))

    starts = np.arange(0, step, step / max(int(step), 1))
    choices = [np.sort(order[(start + step * np.arange(n)).astype(np.int64)]) for start in starts]
    best = min(choices, key=strangeness)
    return Sample(best, *scales(best))
