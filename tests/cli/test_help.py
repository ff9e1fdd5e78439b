"""The help of all commands: by stage, in plain words, within 80 columns."""

import re
import subprocess
import sys
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from sgtb.cli.main import COMMANDS, STAGES, app

JARGON = ("beam", "η", "dev", "NIL", "gold", "plan", "checksum", "offset", "prior", "problems file")


def tree(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return all commands and groups."""
    if not hasattr(command, "list_commands"):
        return [path]
    below = [tree(command.get_command(None, n), (*path, n)) for n in command.list_commands(None)]
    return [path, *(leaf for leaves in below for leaf in leaves)]


ALL = tree(typer.main.get_command(app))


def helped(*path: str) -> str:
    result = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return str(result.stdout)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_fits_eighty_columns(path):
    text = helped(*path)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in re.sub(r"\w?…\]?", "", text) or "..." not in text
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)
    assert "--help" in options, "names of options are complete"


@pytest.mark.parametrize("path", ALL[1:], ids=" ".join)
def test_the_first_line_says_in_plain_words_what_it_is_for(path):
    lines = helped(*path).split("\n\n")
    first = " ".join(lines[1].split())
    assert first.endswith(".")
    assert len(first) <= 110
    assert [word for word in JARGON if re.search(rf"\b{word}\b", first)] == []


def test_the_program_lists_every_command_by_stage():
    text = helped()
    stages = [line[:-1] for line in text.splitlines() if line[:1].isupper() and line[-1:] == ":"]
    assert stages == ["Options", *STAGES]
    assert [name.partition(" ")[0].lower() for name in STAGES] == [
        "link", "build", "train", "judge", "serve",
    ]  # fmt: skip
    flat = " ".join(text.split())
    for name in COMMANDS:
        assert re.search(rf"^  {name}  ", text, re.MULTILINE), name
    for path in ALL[1:]:
        if path not in ((name,) for name in COMMANDS) and path != ("kb", "build"):
            assert " ".join(path[1:]) in flat, path


def test_python_m_is_the_command():
    run = [sys.executable, "-m", "sgtb", "link", "--help"]
    assert subprocess.check_output(run, text=True).startswith("Usage: sgtb link ")
