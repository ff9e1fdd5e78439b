"""Slices of arrays: the same as `gathered`."""

import numpy as np
import pytest

from sgtb.core.array_slices import sliced
from sgtb.core.ragged import gathered


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float32, np.int64, np.uint64, float])
def test_slices_are_copied(dtype):
    rng = np.random.default_rng(1)
    items = rng.integers(0, 99, 40).astype(dtype)
    bounds = np.sort(rng.integers(0, 41, (12, 2)), axis=1)
    found, expected = (take(items, *bounds.T.copy()) for take in (sliced, gathered))
    assert found.items.dtype == expected.items.dtype == dtype
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert found.items.tolist() == expected.items.tolist()
    assert not np.shares_memory(found.items, items)


def test_no_slices():
    nothing = np.zeros(0, np.int64)
    found = sliced(np.zeros(3, np.int32), nothing, nothing)
    assert found.offsets.tolist() == [0]
    assert len(found.items) == 0


@pytest.mark.parametrize("bounds", [(-1, 1), (2, 4), (4, 5), (2, 1)])
def test_slices_beyond_the_array_are_refused(bounds):
    start, end = (np.array([0, bound, 0]) for bound in bounds)
    with pytest.raises(ValueError, match=r"^(starts|offsets): |negative"):
        sliced(np.zeros(3, np.int32), start, end)
