"""Texts in one array: what went in comes out."""

import numpy as np
import pytest

from sgtb.text.text_arrays import Texts


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
