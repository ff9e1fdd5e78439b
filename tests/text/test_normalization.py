"""The normal form of names and words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.text.normalization import (
    STOP_WORDS,
    has_digit,
    normal_lines,
    normal_name,
    normal_phrase,
    normal_words,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("...", ()),
        ("Orlan", ("orlan",)),
        ("ORLAN Rovers", ("orlan", "rovers")),
        ("Orlán", ("orlan",)),
        ("Orla\u0301n", ("orlan",)),
        ("Ærøskøbing Ünal", ("ærøskøbing", "unal")),
        ("U.S.", ("us",)),
        ("U.S. Open", ("us", "open")),
        ("O'Brien", ("obrien",)),
        ("O’Brien", ("obrien",)),
        ("Anna's", ("anna",)),
        ("Anna’s song", ("anna", "song")),
        ("the players' day", ("the", "players", "day")),
        ("well-known", ("well", "known")),
        ("snake_case", ("snake", "case")),
        ("AT&T (1996)", ("at", "t", "1996")),
        ("Orlan, Norvia", ("orlan", "norvia")),
        ("ﬁne №5", ("fine", "no5")),
        ("東京 Москва", ("東京", "москва")),
        ("  two \n lines ", ("two", "lines")),
    ],
)
def test_words(text, words):
    assert normal_words(text) == words
    assert normal_phrase(text) == " ".join(words)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("U.S.", "us"),
        ("O'Neill", "oneill"),
        ("Anna’s", "anna"),
        ("ANNA'S", "anna"),
        ("Anna 's song", "anna song"),
        ("'s-Hertogenbosch", "s hertogenbosch"),
        ("the players' day", "the players day"),
        ("snake_case-name", "snake case name"),
        ("Straße", "strasse"),
        ("Ærø", "aero"),
        ("Łódź", "lodz"),
        ("İzmir", "izmir"),
        ("ﬁne №5", "fine no5"),
        ("Ёлка", "елка"),
        ("バス", "バス"),  # not ハス: the sound mark is no diacritic
        ("スーパー", "スーパー"),
        ("हिन्दी", "हिन्दी"),
        ("한국", "한국"),
        ("مُحَمَّد", "محمد"),
        ("zero\u200bwidth\u00ad", "zerowidth"),
        ("!!!", "!!!"),
        (" . ", "."),
        ("\0", ""),
        ("", ""),
    ],
)
def test_names(text, name):
    assert normal_name(text) == name


@settings(deadline=None, derandomize=True, max_examples=500)
@given(st.text(max_size=20))
def test_the_normal_form_is_its_own(text):
    name = normal_name(text)
    assert normal_name(name) == name
    assert name == " ".join(name.split())
    assert name.isprintable()


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.text("abzABZ .'-s", max_size=12))
def test_ascii_is_folded_as_all_else(text):
    """The fast way for ASCII against the way by characters, which a Cyrillic letter brings."""
    assert normal_name(f"{text} ж") == f"{normal_name(f'{text} z')[:-1]}ж"


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.text("abzABZ", max_size=8))
def test_case_makes_no_difference(text):
    assert normal_name(text.upper()) == normal_name(text.lower()) == normal_name(text)


def test_stop_words_are_in_normal_form():
    assert {normal_name(word) for word in STOP_WORDS} == STOP_WORDS


@given(st.text(max_size=12))
@settings(max_examples=300)
def test_digits_of_any_script_are_found(text):
    for given_text in (text, f"{text}7", f"{text}²", f"{text}٣"):
        assert has_digit(given_text) == any(map(str.isdigit, given_text))


def test_no_letter_is_a_digit():
    """A word of letters only is no number, in small letters either."""
    letters = [chr(i) for i in range(0x110000) if chr(i).isalpha()]
    assert not any(has_digit(letter.lower()) for letter in letters)


@given(st.text(st.characters() | st.sampled_from("ab' .\n’sSÄ!東\u0345\ud800"), max_size=40))
def test_lines_have_the_forms_of_names(text):
    wanted = "".join(f"{normal_name(line)}\n" for line in text.split("\n"))
    assert normal_lines(text) == wanted
