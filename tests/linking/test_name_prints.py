"""Prints of names: equal where the strings are, and in the order that kernels rely on."""

import itertools

import numpy as np
import pytest

from sgtb.linking.name_prints import BEGINNING, NamePrint, name_print, name_prints, string_number

NAMES = [
    "", "a", "ab", "abc", "abcd", "a b", "b a", "ab c", "a bc", "anna lee meck", "anna meck anna",
    "aaaa", "北京", "北 京", "straße", "😀 x", "\ud800",
]  # fmt: skip


def test_different_strings_have_different_numbers():
    texts = ["".join(letters) for n in range(4) for letters in itertools.product("ab c", repeat=n)]
    numbers = [string_number(text) for text in texts]
    assert len(set(numbers)) == len(texts)
    assert all(0 <= number < 2**64 for number in numbers)


def test_numbers_last():
    """Models do not hold them, but bytes on disk would tell if they ever changed."""
    assert string_number("") == 0xE4A6A0577479B2B4
    assert string_number("orlan") == string_number("".join("orlan"))


@pytest.mark.parametrize("name", NAMES)
def test_a_print_is_made_of_numbers_of_strings(name):
    found = name_print(name)
    words = name.split()
    assert found.whole == string_number(name)
    assert found.squeezed == string_number("".join(words))
    assert found.initials == string_number("".join(word[0] for word in words))
    assert found.beginning == tuple(string_number(name[:n]) for n in (1, 2, 3))
    assert found.words.tolist() == [string_number(word) for word in words]
    assert found.words.dtype == found.trigrams.dtype == np.uint64


@pytest.mark.parametrize("pair", list(itertools.combinations_with_replacement(NAMES, 2)))
def test_as_many_runs_of_letters_are_common_as_the_strings_have(pair):
    def runs(name):
        padded = f" {name} "
        return {padded[i : i + 3] for i in range(len(padded) - 2)}

    a, b = (name_print(name).trigrams for name in pair)
    assert len(np.intersect1d(a, b)) == len(runs(pair[0]) & runs(pair[1]))
    for print_, name in ((a, pair[0]), (b, pair[1])):
        assert len(print_) == len(runs(name))
        assert (np.diff(print_.astype(object)) > 0).all(), "sorted, each once"


@pytest.mark.parametrize("names", [NAMES, [], [""], ["a", "a"]])
def test_prints_of_several_names_are_those_of_each(names):
    many = name_prints(names)
    assert many.beginning.shape == (len(names), BEGINNING)
    for i, name in enumerate(names):
        one = name_print(name)
        for field in NamePrint._fields:
            column = getattr(many, field)
            found = column.row(i) if hasattr(column, "row") else column[i]
            assert np.array_equal(found, np.array(getattr(one, field), np.uint64)), field
    flat = (many.whole, many.squeezed, many.initials, many.words.items, many.trigrams.items)
    assert {array.dtype for array in flat} == {np.dtype(np.uint64)}
