"""Prints of names: equal where the strings are, and in the order that kernels rely on."""

import itertools

import numpy as np
import pytest

from sgtb.core.ragged import Texts
from sgtb.linking.entities.background import BEGINNING, name_fingerprints, string_numbers
from tests.helpers.linking_builders import string_number

NAMES = [
    "", "a", "ab", "abc", "abcd", "a b", "b a", "ab c", "a bc", "anna lee meck", "anna meck anna",
    "aaaa", "北京", "北 京", "straße", "😀 x", "\ud800",
]  # fmt: skip


def test_different_strings_have_different_numbers():
    texts = ["".join(letters) for n in range(6) for letters in itertools.product("ab c", repeat=n)]
    assert len({*string_numbers(Texts.of(texts)).tolist()}) == len(texts)


def test_numbers_last():
    """Models do not hold them, but bytes on disk would tell if they ever changed."""
    assert string_number("orlan") == string_number("".join("orlan")) == 0xD8B7BDBB28E0B663


@pytest.mark.parametrize("names", [NAMES, [], [""], ["a", "a"]])
def test_prints_are_made_of_numbers_of_strings(names):
    found = name_fingerprints(names)
    words = [name.split() for name in names]
    assert found.whole.tolist() == [*map(string_number, names)]
    assert found.squeezed.tolist() == [string_number("".join(own)) for own in words]
    initials = ["".join(word[0] for word in own) for own in words]
    assert found.initials.tolist() == [*map(string_number, initials)]
    assert found.beginning.shape == (len(names), BEGINNING)
    beginnings = [[string_number(name[:n]) for n in (1, 2, 3)] for name in names]
    assert found.beginning.tolist() == beginnings
    for i, own in enumerate(words):
        assert found.words.row(i).tolist() == [*map(string_number, own)]
    flat = (found.whole, found.squeezed, found.initials, found.words.data, found.trigrams.data)
    assert {array.dtype for array in flat} == {np.dtype(np.uint64)}


@pytest.mark.parametrize("pair", list(itertools.combinations_with_replacement(NAMES, 2)))
def test_as_many_runs_of_letters_are_common_as_the_strings_have(pair):
    def runs(name):
        padded = f" {name} "
        return {padded[i : i + 3] for i in range(len(padded) - 2)}

    trigrams = name_fingerprints(pair).trigrams
    a, b = trigrams.row(0), trigrams.row(1)
    assert len(np.intersect1d(a, b)) == len(runs(pair[0]) & runs(pair[1]))
    for own, name in ((a, pair[0]), (b, pair[1])):
        assert len(own) == len(runs(name))
        assert (np.diff(own.astype(object)) > 0).all(), "sorted, each once"
