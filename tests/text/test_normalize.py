"""The normal form of names and words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.text.normalize import STOP_WORDS, normal_name, normal_words


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
    assert normal_name(text) == " ".join(words)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.text(max_size=20))
def test_the_normal_form_is_its_own(text):
    name = normal_name(text)
    assert normal_name(name) == name
    assert normal_words(name) == normal_words(text)
    assert name == name.strip()
    assert not any(c in name for c in ".'’_-()")


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.text("abzABZ", max_size=8))
def test_case_makes_no_difference(text):
    assert normal_name(text.upper()) == normal_name(text.lower()) == normal_name(text)


def test_stop_words_are_in_normal_form():
    assert {normal_name(word) for word in STOP_WORDS} == STOP_WORDS
