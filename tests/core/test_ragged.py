"""Ragged lists and texts: packed, taken and sliced, against plain lists."""

import numpy as np
import pytest

from sgtb.core.ragged import Ragged, Texts, sliced

LISTS = [[3, 1], [], [7], [2, 2, 2], []]


def listed(ragged: Ragged) -> list[list[int]]:
    return [ragged.row(i).tolist() for i in range(len(ragged.indptr) - 1)]


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.uint64])
@pytest.mark.parametrize("lists", [LISTS, [], [[]], [[5]]])
def test_lists_come_out_as_they_went_in(lists, dtype):
    for packed in (
        Ragged.of(lists, dtype),
        Ragged.of(iter(lists), dtype),
        Ragged.joined([np.array(one, dtype) for one in lists], dtype),
    ):
        assert listed(packed) == lists
        assert (packed.indptr.dtype, packed.data.dtype) == (np.int64, dtype)


def test_large_numbers_stay_whole():
    numbers = [2**64 - 1, 2**63, 0]
    assert Ragged.of([numbers], np.uint64).row(0).tolist() == numbers
    packed = Ragged.joined([np.array(numbers, np.uint64)] * 2, np.uint64)
    assert packed.row(1).tolist() == numbers


@pytest.mark.parametrize("rows", [[], [1], [4, 0, 3], [2, 2], [0, 1, 2, 3, 4]])
def test_some_lists_in_the_order_asked_for(rows):
    taken = Ragged.of(LISTS, np.int32).take(np.array(rows, np.int64))
    assert listed(taken) == [LISTS[row] for row in rows]
    assert taken.data.dtype == np.int32


def test_slices_of_an_array_may_overlap():
    items = np.arange(10, dtype=np.float32)
    starts, ends = np.array([2, 0, 2, 9]), np.array([5, 0, 4, 10])
    found = sliced(items, starts, ends)
    assert listed(found) == [[2, 3, 4], [], [2, 3], [9]]
    assert found.data.dtype == np.float32
    found.data[:] = -1
    assert items.tolist() == list(range(10)), "a copy"


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float32, np.int64, np.uint64, float])
def test_slices_are_copied(dtype):
    rng = np.random.default_rng(1)
    items = rng.integers(0, 99, 40).astype(dtype)
    bounds = np.sort(rng.integers(0, 41, (12, 2)), axis=1)
    found = sliced(items, *bounds.T.copy())
    assert found.data.dtype == dtype
    assert listed(found) == [items[start:end].tolist() for start, end in bounds]
    assert not np.shares_memory(found.data, items)


def test_no_slices():
    nothing = np.zeros(0, np.int64)
    found = sliced(np.zeros(3, np.int32), nothing, nothing)
    assert found.indptr.tolist() == [0]
    assert len(found.data) == 0


@pytest.mark.parametrize("bounds", [(-1, 1), (2, 4), (4, 5), (2, 1)])
def test_slices_beyond_the_array_are_refused(bounds):
    start, end = (np.array([0, bound, 0]) for bound in bounds)
    with pytest.raises(ValueError, match=r"^(starts|offsets): |negative"):
        sliced(np.zeros(3, np.int32), start, end)


@pytest.mark.parametrize("strings", [[], [""], ["", "", "a"], ["Orlan", "", "北京 😀", "a\nb"]])
def test_strings_come_back(strings):
    texts = Texts.of(strings)
    assert texts.strings() == strings
    assert [array.dtype for array in texts] == [np.uint8, np.int64, np.int64]


def test_slices_may_overlap_and_come_in_any_order():
    data = np.frombuffer(b"anna meck", np.uint8)
    assert Texts(data, np.array([5, 0, 3]), np.array([9, 4, 6])).strings() == [
        "meck",
        "anna",
        "a m",
    ]


def test_lone_surrogates_can_be_encoded():
    assert Texts.of(["\ud800", "x"]).ends.tolist() == [3, 4]
