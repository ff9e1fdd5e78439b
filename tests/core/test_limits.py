"""Limits of files: read from the environment, and checked before parsing."""

import pytest

from sgtb.core.errors import SettingsError
from sgtb.core.limits import FileLimits, check_items


def test_unset_limits_are_the_defaults(monkeypatch):
    assert FileLimits.current() == FileLimits()
    monkeypatch.setenv("SGTB_MAX_LINE", "12")
    monkeypatch.setenv("SGTB_MAX_RATIO", "")
    assert FileLimits.current() == FileLimits(line=12)


@pytest.mark.parametrize("value", ["-1", "0", "many", "1e6", "٣"])
def test_a_limit_that_is_none_is_refused(monkeypatch, value):
    monkeypatch.setenv("SGTB_MAX_ITEMS", value)
    with pytest.raises(SettingsError, match=r"SGTB_MAX_ITEMS=.*: not a whole number above 0"):
        FileLimits.current()


@pytest.mark.parametrize("kind", [str, bytes])
def test_values_are_counted_before_they_are_parsed(monkeypatch, kind):
    line = "[" + "0," * 5000 + "0]"
    line = line if kind is str else line.encode()
    check_items(line)
    monkeypatch.setenv("SGTB_MAX_ITEMS", "5001")
    check_items(line)
    monkeypatch.setenv("SGTB_MAX_ITEMS", "5000")
    with pytest.raises(ValueError, match="about 5,001 values; the limit is 5,000; SGTB_MAX_ITEMS"):
        check_items(line)
