"""Local answers: how many documents are asked at a time changes nothing."""

import numpy as np
import pytest

from sgtb.learn import SearchPlan, local_answers
from tests.learn.builders import estimator, random_problems


@pytest.mark.nojit
@pytest.mark.parametrize("lanes", [1, 20])
def test_documents_asked_one_by_one_or_together(monkeypatch, lanes):
    problems = random_problems(
        np.random.default_rng(7), n_documents=12, max_mentions=5, max_candidates=5, source="table"
    )
    fitted = estimator(SearchPlan("bibsg"), n_trees=11, learning_rate=0.4).fit(problems[:4])

    def results() -> list[list[float]]:
        decoding = fitted.decode(problems)
        other = fitted.alternatives(problems, decoding, margin=np.inf)
        (asked,) = np.nonzero(np.diff(problems.candidate_offsets) > 1)
        told = fitted.contributions(problems, decoding, asked[::3], np.zeros(len(asked[::3]), int))
        return [one.tolist() for one in (decoding.factor, decoding.scores, other.score, told.total)]

    assert problems.n_candidates > 2 * lanes
    together = results()
    monkeypatch.setattr(local_answers, "_AT_ONCE", lanes)
    assert results() == together
