"""The number of documents searched at a time does not change results."""

from itertools import chain

import numpy as np

from sgtb.boosting import SearchPlan
from tests.helpers.problem_builders import estimator, random_problems


def test_documents_searched_one_by_one_or_together():
    problems = random_problems(
        np.random.default_rng(7), n_documents=90, max_mentions=5, max_candidates=5, source="table"
    )
    fitted = estimator(SearchPlan("bibsg"), n_trees=11, learning_rate=0.4).fit(problems[:4])

    def results(some) -> list[list[float]]:
        decoding = fitted.decode(some)
        other = fitted.counterfactuals(some, decoding, margin=np.inf)
        (mentions,) = np.nonzero(np.diff(some.candidate_offsets) > 1)
        runner_ups = np.zeros(len(mentions), int)
        totals = fitted.contributions(some, decoding, mentions, runner_ups)
        found = (decoding.factor, decoding.scores, other.score, totals.total)
        return [one.ravel().tolist() for one in found]

    alone = [results(problems[d : d + 1]) for d in range(len(problems))]
    together = results(problems)
    assert [list(chain(*parts)) for parts in zip(*alone, strict=True)] == together
