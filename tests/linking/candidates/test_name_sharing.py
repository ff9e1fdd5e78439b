"""Name sharing: longer names of persons against a slow twin, and acronyms letter by letter."""

from random import Random

import pytest

from sgtb.linking.candidates.weak_names import is_acronym, longer_names, written_out
from sgtb.text.normalization import normal_name, spells
from tests.helpers.linking_builders import document


def longer_twin(names: list[str], is_person: list[bool]) -> list[int]:
    """Try every mention against every other, word by word."""
    taken = []
    for i, name in enumerate(names):
        words, best, size = name.split(), i, 0
        for j, other in enumerate(names):
            theirs = other.split()
            inside = any(
                theirs[k : k + len(words)] == words for k in range(len(theirs) - len(words) + 1)
            )
            longer = len(theirs) > max(len(words), size)
            if words and is_person[j] and inside and longer:
                best, size = j, len(theirs)
        taken.append(best)
    return taken


@pytest.mark.parametrize("seed", range(20))
def test_longer_names_are_those_of_the_twin(seed):
    random = Random(seed)
    for _ in range(20):
        names = [
            " ".join(random.choice(("ann", "bo", "cy", "an")) for _ in range(random.randint(0, 4)))
            for _ in range(random.randint(0, 8))
        ]
        person = {name: random.random() < 0.5 for name in names}
        is_person = [person[name] for name in names]
        assert longer_names(names, is_person) == longer_twin(names, is_person)


def test_words_count_and_not_letters():
    assert longer_names(["ann", "joann smith"], [False, True]) == [0, 1]
    assert longer_names(["ann", "extraordinarily ann", "ann b c"], [False, True, True])[0] == 2


@pytest.mark.parametrize("text", ["IMF", "I.M.F.", "I.M.F", "UN", "UNESCO", "IMF's", "ÉNA"])
def test_acronyms(text):
    assert is_acronym(text)


@pytest.mark.parametrize(
    "text", ["I", "Imf", "imf", "UNICEFS", "I M F", "I..M", ".IMF", "G7", "A-B", "", "東京", "'s"]
)
def test_no_acronyms(text):
    assert not is_acronym(text)


@pytest.mark.parametrize(
    ("letters", "name"),
    [
        ("IMF", "International Monetary Fund"),
        ("UCLA", "the University of California, Los Angeles"),
        ("BOA", "Bank of America"),
        ("BA", "Bank of America"),
        ("APEC", "Asia-Pacific Economic Cooperation"),
        ("ÉNA", "École Nationale Aérienne"),
        ("TO", "The Observer"),
        ("AAA", "American Automobile Association"),
    ],
)
def test_initials_spell(letters, name):
    assert spells(normal_name(letters), normal_name(name))


@pytest.mark.parametrize(
    ("letters", "name"),
    [
        ("imf", "international monetary"),
        ("im", "international monetary fund"),
        ("imf", "international fund monetary"),
        ("imff", "international monetary fund"),
        ("bfa", "bank of america"),
        ("of", ""),
    ],
)
def test_initials_do_not_spell(letters, name):
    assert not spells(letters, name)


def shared(text, unknown):
    names = [normal_name(mention.text) for mention in text.mentions]
    return written_out(text, names, [name not in unknown for name in names])


def test_an_acronym_goes_by_the_first_name_before_or_after_that_spells_it():
    text = document("1", "[IMF] and [Iron Mining Fund] , [International Monetary Fund] , [I.M.F.]")
    assert shared(text, {"imf"}) == [1, 1, 2, 1]


def test_a_name_right_before_the_bracket_comes_first_for_the_whole_document():
    text = document(
        "1", "[IMF] , [Iron Mining Fund] ; [International Monetary Fund] ( [IMF] ) and [I.M.F.]"
    )
    assert shared(text, {"imf"}) == [2, 1, 2, 2, 2]


def test_a_bracket_further_on_says_nothing():
    text = document("1", "[Iron Mining Fund] of [International Monetary Fund] fame ( [IMF] )")
    assert shared(text, {"imf"}) == [0, 1, 0]


def test_acronyms_with_candidates_and_names_without_any_stay_as_they_are():
    text = document("1", "[International Monetary Fund] ( [IMF] )")
    assert shared(text, set()) == [0, 1]
    assert shared(text, {"imf", "international monetary fund"}) == [0, 1]
    lower = document("1", "[International Monetary Fund] ( [imf] )")
    assert shared(lower, {"imf"}) == [0, 1]
