"""Which texts can be names."""

import pytest

from sgtb.kb.build.usable_names import (
    EMPTY,
    LONG,
    URL,
    USABLE,
    anchor_use,
    bare_title,
    clean,
    is_name,
    title_names,
    title_problem,
)


@pytest.mark.parametrize(
    ("anchor", "use", "name"),
    [
        ("New York", USABLE, "new york"),
        ("!!!", USABLE, "!!!"),
        ("", EMPTY, ""),
        ("\u200b", EMPTY, ""),
        ("x" * 500, USABLE, "x" * 500),
        ("x" * 501, LONG, ""),
        ("x " * 1001, LONG, ""),
        ("https://alva.example", URL, ""),
        ("//alva.example", URL, ""),
        ("WWW.alva.example", URL, ""),
        ("http is a protocol", USABLE, "http is a protocol"),
    ],
)
def test_anchor_use(anchor, use, name):
    assert anchor_use(anchor) == (use, name)
    assert is_name(anchor) == (use == USABLE) or use == URL


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("Alva (river)", "Alva"),
        ("Alva", ""),
        ("(What's so) Alva", ""),
        ("(river)", ""),
        ("Alva (a) (b)", "Alva (a)"),
        ("Alva (a (b))", ""),
    ],
)
def test_bare_titles(title, bare):
    assert bare_title(title) == bare
    assert title_names(title) == (True, bare)


def test_titles():
    assert title_problem("Alva") == ""
    assert "bytes" in title_problem("é" * 251)
    assert "bytes" in title_problem("")
    assert "shown" in title_problem("a\x00b")


def test_clean_fields():
    assert clean("a\tb\nc\x00\x7f") == "a b c"
    assert clean("é\r\n\ud800") == "é ?"
    assert clean("plain") == "plain"
