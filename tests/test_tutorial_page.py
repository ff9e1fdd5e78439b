"""The tutorial's page: what it shows of its files and of standard error is true."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sgtb.cli.main import app
from tests.helpers.pages import DOCS, write_files

PAGE = DOCS / "guide" / "tutorial.md"


def shown(kind: str) -> str:
    """Return the first block of a kind."""
    found = re.search(rf"^```{kind}\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    assert found, f"the page has no block of {kind}"
    return found[1]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("csv", "companies.csv"), ("json", "train.jsonl"), ("csv new.csv", "new.csv")],
)
def test_lines_of_files_are_those_of_the_files(kind: str, name: str) -> None:
    lines = (PAGE.with_suffix("") / name).read_text("utf-8").splitlines()
    assert set(shown(kind).splitlines()) <= set(lines)


def test_training_says_what_the_page_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(PAGE, tmp_path)
    commands = re.findall(r"^\$ sgtb (kb build .*|train .*)$", PAGE.read_text("utf-8"), re.M)
    results = [CliRunner().invoke(app, shlex.split(command)) for command in commands]
    assert [result.exit_code for result in results] == [0, 0]
    assert shown("text") in results[-1].stderr
