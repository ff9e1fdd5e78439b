"""Ragged lists: packed, taken and gathered, against plain lists."""

import numpy as np
import pytest

from sgtb.core.ragged import Ragged, gathered

LISTS = [[3, 1], [], [7], [2, 2, 2], []]


def listed(ragged: Ragged) -> list[list[int]]:
    return [ragged.row(i).tolist() for i in range(len(ragged.offsets) - 1)]


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.uint64])
@pytest.mark.parametrize("lists", [LISTS, [], [[]], [[5]]])
def test_lists_come_out_as_they_went_in(lists, dtype):
    for packed in (
        Ragged.of(lists, dtype),
        Ragged.of(iter(lists), dtype),
        Ragged.joined([np.array(one, dtype) for one in lists], dtype),
    ):
        assert listed(packed) == lists
        assert (packed.offsets.dtype, packed.items.dtype) == (np.int64, dtype)


def test_large_numbers_stay_whole():
    numbers = [2**64 - 1, 2**63, 0]
    assert Ragged.of([numbers], np.uint64).row(0).tolist() == numbers
    packed = Ragged.joined([np.array(numbers, np.uint64)] * 2, np.uint64)
    assert packed.row(1).tolist() == numbers


@pytest.mark.parametrize("rows", [[], [1], [4, 0, 3], [2, 2], [0, 1, 2, 3, 4]])
def test_some_lists_in_the_order_asked_for(rows):
    taken = Ragged.of(LISTS, np.int32).take(np.array(rows, np.int64))
    assert listed(taken) == [LISTS[row] for row in rows]
    assert taken.items.dtype == np.int32


def test_slices_of_an_array_may_overlap():
    items = np.arange(10, dtype=np.float32)
    starts, ends = np.array([2, 0, 2, 9]), np.array([5, 0, 4, 10])
    found = gathered(items, starts, ends)
    assert listed(found) == [[2, 3, 4], [], [2, 3], [9]]
    assert found.items.dtype == np.float32
    found.items[:] = -1
    assert items.tolist() == list(range(10)), "a copy"
