"""Surnames after full names, linked by the starter."""

import pytest

from experiments.starter_surnames import Person, count_known, count_unknown, persons
from sgtb.linking.linker import Linker


@pytest.fixture(scope="module")
def linker():
    with Linker.starter() as linker:
        yield linker


@pytest.fixture(scope="module")
def people(linker):
    return list(persons(linker.kb))


def test_persons_have_full_names(people):
    assert len(people) > 900
    assert Person("Serena Williams", "Serena Williams", "Williams") in people
    assert all(" " in one.full and one.full.endswith(one.surname) for one in people)


def test_a_surname_means_the_person_of_the_full_name(linker, people):
    found = count_known(linker, people[::5])
    assert found.right > 150
    assert found.right > 20 * found.wrong
    assert found.confident <= 1


def test_a_surname_of_an_unknown_person_is_seldom_linked(linker, people):
    found = count_unknown(linker, people[::5])
    assert found.right > 2 * found.wrong
    assert found.confident <= 2
