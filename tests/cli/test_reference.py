"""The reference of commands: docs/cli.md is as it is made, and nothing is left without words."""

from pathlib import Path

import pytest

from sgtb.cli import reference
from sgtb.cli.reference import Command, commands, help_of, parameters

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
ALL = list(commands())


def test_page_is_up_to_date(monkeypatch):
    for width in ("40", "200"):
        monkeypatch.setenv("COLUMNS", width)
        assert PAGE.read_text("utf-8") == reference.reference(), (
            "python -m sgtb.cli.reference > docs/cli.md writes it anew"
        )


def test_commands_are_all_there():
    paths = [command.path for command in ALL]
    assert {"sgtb link", "sgtb explain", "sgtb kb build wiki", "sgtb learner demo"} <= set(paths)


@pytest.mark.parametrize("command", ALL, ids=lambda command: command.path)
def test_everything_has_words(command: Command):
    text, examples = help_of(command)
    assert text, f"{command.path} has no help"
    for parameter in parameters(command):
        assert parameter.help, f"{command.path}: {parameter.name} has no help"
    if not command.is_group:
        assert examples, f"{command.path} has no example"
        assert any(command.path in line for line in examples)


@pytest.mark.parametrize("command", ALL, ids=lambda command: command.path)
def test_page_names_every_option(command: Command):
    page = reference.reference()
    section = page.split(f"# {command.path}\n", 1)[1].split("\n#", 1)[0]
    for parameter in parameters(command):
        if parameter.param_type_name == "option":
            for name in (*parameter.opts, *parameter.secondary_opts):
                assert f"`{name}`" in section
    assert "[bold]" not in section
    assert "\b" not in section
