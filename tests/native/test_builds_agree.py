"""All builds of the compiled core give the same bits."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from sgtb.boosting import PLANS, SearchPlan
from sgtb.native import _baseline
from tests.conftest import REPOSITORY
from tests.helpers.problem_builders import estimator, random_problems

pytestmark = pytest.mark.skipif(not _baseline.supports_v3(), reason="there is one build only")


def arrays_of(value):
    """Every array in records, tuples and lists of them."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays_of(item)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from arrays_of(getattr(value, name))


def digest(*values) -> str:
    found = hashlib.sha256()
    for array in arrays_of(values):
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def rough_problems(seed: int, source):
    """Documents whose features no grid holds: every rounding shows."""
    rng = np.random.default_rng(seed)
    problems = random_problems(
        rng, 16, max_mentions=9, max_candidates=21, n_local=11, n_pair=5, source=source
    )
    problems.local[:] = rng.normal(size=problems.local.shape)
    return problems


def results():
    """Yield digests of what training, decoding and explaining make of random documents."""
    for seed, name in enumerate(PLANS):
        for source in ("block", "table"):
            problems = rough_problems(seed, source)
            fitted = estimator(SearchPlan(name, 4), n_trees=6, depth=3 + seed % 4).fit(problems)
            decoding = fitted.decode(problems, n_best=3)
            yield name, source, digest(fitted.model.forest, decoding)


@pytest.fixture(scope="module")
def printed():
    """What each build prints, each in a process of its own, both at once."""
    running = {
        build: subprocess.Popen(
            [sys.executable, "-m", "tests.native.test_builds_agree"], cwd=REPOSITORY,
            env={**os.environ, "SGTB_NATIVE": build}, stdout=subprocess.PIPE, text=True,
        )
        for build in ("baseline", "v3")
    }  # fmt: skip
    found = {build: process.communicate()[0] for build, process in running.items()}
    assert all(process.returncode == 0 for process in running.values())
    return found


def test_training_and_decoding_agree(printed):
    lines = printed["v3"].splitlines()
    assert lines.pop(0) == "v3"
    assert lines == printed["baseline"].splitlines()[1:]
    assert len(lines) == len(set(lines)) == 2 * len(PLANS)


def test_kernels_of_trees_agree():
    from sgtb.native import _v3

    rng = np.random.default_rng(5)
    for n_rows, n_features in ((1, 1), (7, 8), (1000, 13), (4097, 40)):
        values = rng.normal(size=(n_rows, n_features)).astype(np.float32)
        values[rng.random(values.shape) < 0.05] = 0.0
        thresholds = np.sort(rng.normal(size=(n_features, 255)).astype(np.float32))
        n_bins = rng.integers(2, 256, size=n_features).astype(np.int32)
        for feature, n in enumerate(n_bins):
            thresholds[feature, n - 1 :] = np.inf
        residuals, rows = rng.normal(size=n_rows), rng.permutation(n_rows).astype(np.int32)
        found = []
        for build in (_baseline, _v3):
            x = np.zeros((n_rows, -(-n_features // 8) * 8), np.uint8)
            bins = np.zeros(values.shape, np.uint8)
            build.bin_rows(values, thresholds, bins)
            x[:, :n_features] = bins
            packed, histogram = np.zeros(n_rows, np.int64), np.zeros(n_features * 256, np.int64)
            build.pack_rows(residuals, rows, 2.0**30, 13, packed)
            build.add_rows(x, n_features, packed, rows, histogram)
            split = build.best_split(histogram.reshape(-1, 256), n_bins, 13, 1, 0.5, 0.0)
            order = rows.copy()
            build.partition(x, order, 0, n_rows, max(split[1], 0), split[2])
            found.append((digest(bins, packed, histogram, order), repr(split)))
        assert found[0] == found[1]


if __name__ == "__main__":
    from sgtb.native import BUILD

    print(BUILD)
    for line in results():
        print(*line)
