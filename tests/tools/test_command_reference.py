"""The command reference is up to date, and every command and option has help."""

from pathlib import Path

import pytest
import typer

from sgtb.cli.main import app
from tools.command_reference import command_reference

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
pytestmark = pytest.mark.skipif(
    tuple(map(int, typer.__version__.split(".")[:2])) < (0, 20), reason="older typers write less"
)


def walk(path, command):
    yield path, command
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from walk(f"{path} {name}", command.get_command(None, name))


ALL = dict(walk("sgtb", typer.main.get_command(app)))


def test_page_is_up_to_date(monkeypatch):
    for width in ("40", "200"):
        monkeypatch.setenv("COLUMNS", width)
        assert PAGE.read_text("utf-8") == command_reference(), "`make docs` writes it anew"


def test_commands_are_all_there():
    assert {"sgtb link", "sgtb explain", "sgtb kb build wiki", "sgtb learner train"} <= set(ALL)


@pytest.mark.parametrize("path", ALL)
def test_everything_has_help(path):
    command = ALL[path]
    assert command.help, f"{path} has no help"
    for parameter in command.params:
        assert parameter.help, f"{path}: {parameter.name} has no help"
    assert "[bold]" not in command.help
    if not hasattr(command, "list_commands"):
        _, _, examples = command.help.partition("Example")
        assert path in examples, f"{path} has no example"
