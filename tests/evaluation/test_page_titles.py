"""Titles: normal form, chains and circles of redirects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgtb.evaluation.metrics import normal_title, resolve


@pytest.mark.parametrize(
    ("title", "normal"),
    [
        ("Paris", "Paris"),
        ("paris", "Paris"),
        ("New_York_City", "New York City"),
        ("__new \t york__", "New york"),
        ("iPod", "IPod"),
        ("élan", "Élan"),
        ("ßeta", "ßeta"),  # its capital is two letters
        ("100 (number)", "100 (number)"),
        ("", ""),
        ("_", ""),
    ],
)
def test_normal_form(title, normal):
    assert normal_title(title) == normal


@given(st.text())
def test_the_normal_form_is_its_own(title):
    assert normal_title(normal_title(title)) == normal_title(title)


def test_chains_are_followed_to_their_end():
    redirects = {"A": "b_c", "B c": "D", "E_f": "A"}
    assert [resolve(title, redirects) for title in ("a", "B_c", "D", "E f", "G")] == [
        "D", "D", "D", "D", "G",
    ]  # fmt: skip


def test_every_title_of_a_circle_leads_to_the_same():
    redirects = {"Z": "C", "C": "B", "B": "D", "D": "C", "Self": "Self"}
    assert {resolve(title, redirects) for title in "ZCBD"} == {"B"}
    assert resolve("self", redirects) == "Self"


@given(st.dictionaries(st.sampled_from("ABCDEFG"), st.sampled_from("abcdefgh")))
def test_a_title_and_its_target_lead_to_the_same(redirects):
    for title in "ABCDEFGH":
        end = resolve(title, redirects)
        assert resolve(end, redirects) == end
        assert resolve(redirects.get(title, title), redirects) == end
