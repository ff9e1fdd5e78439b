"""Candidate blocks: bins of local features, against those of a binner."""

import numpy as np
import pytest

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.search.beam import BLOCK_SIZE, bin_local, block_offsets
from sgtb.core.thread_pool import ThreadPool
from tests.helpers.problem_builders import random_problems


@pytest.mark.parametrize("max_candidates", [4, 40])
@pytest.mark.parametrize("n_thresholds", [0, 1, 6, 64, 65, 200, 254])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_hold_the_bins_of_a_binner(max_candidates, n_thresholds, threads):
    rng = np.random.default_rng(n_thresholds)
    problems = random_problems(
        rng, n_documents=8, max_mentions=6, max_candidates=max_candidates, source="none"
    )
    problems.local[:] = rng.normal(size=problems.local.shape)
    cuts = np.sort(rng.normal(size=n_thresholds).astype(np.float32))
    binner = Binner.of([cuts[: n_thresholds >> f] for f in range(problems.n_local)])
    with ThreadPool(threads) as pool:
        blocks = bin_local(problems, binner, pool)
        expected = binner.transform(problems.local, pool)
    offsets = block_offsets(problems)
    for m in range(problems.n_mentions):
        a, b = problems.candidate_offsets[m : m + 2]
        n = int(offsets[m + 1] - offsets[m])
        own = blocks[offsets[m] * problems.n_local :][: n * problems.n_local]
        found = own.reshape(problems.n_local, n * BLOCK_SIZE)[:, : b - a]
        np.testing.assert_array_equal(found.T, expected[a:b])
