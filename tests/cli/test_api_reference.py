"""The reference of Python names: docs/api.md is as made, and nothing is left without words."""

import inspect
from pathlib import Path

import pytest

import sgtb
from sgtb.cli import api_reference
from sgtb.cli.api_reference import Named, docstring, members, names

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
ALL = list(names())


def test_page_is_up_to_date():
    assert PAGE.read_text("utf-8") == api_reference.api_reference(), (
        "python -m sgtb.cli.api_reference > docs/api.md writes it anew"
    )


def test_every_public_name_is_there():
    there = {named.value for named in ALL if inspect.isclass(named.value)}
    public = [getattr(sgtb, name) for name in sgtb.__all__ if name != "__version__"]
    assert [value for value in public if value not in there] == []


@pytest.mark.parametrize("named", ALL, ids=lambda named: named.path)
def test_everything_has_words(named: Named):
    assert docstring(named.value), f"{named.path} has no docstring"
    for member in members(named.value):
        assert docstring(member.value), f"{named.path}.{member.path} has no docstring"


def test_no_object_is_shown_by_its_address():
    assert " object at 0x" not in PAGE.read_text("utf-8")
