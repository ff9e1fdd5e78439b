"""The documentation: its code runs, its output is true, and no command is left out."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from sgtb.boosting import SearchPlan, TrainingSettings, TreeSettings
from sgtb.cli.main import app
from sgtb.cli.views.link_view import GROUPS as GROUPS_IN_WORDS
from sgtb.linking.features.schema import GROUPS
from tests.helpers.pages import (
    PAGES,
    ROOT,
    blocks,
    commands_in,
    name_of,
    run_code,
    session_of,
    untrailed,
    write_files,
)

SOURCES = ROOT / "src" / "sgtb"


def pages_with(kind: str) -> list[Any]:
    return [pytest.param(page, id=name_of(page)) for page in PAGES if any(blocks(page, kind))]


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_code_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for i, (code, output) in enumerate(blocks(page, "python")):
        title = f"{page.name}, python block {i}"
        printed = run_code(code, names, title)
        if output is not None:
            assert untrailed(printed) == untrailed(output), title


@pytest.mark.parametrize("page", pages_with("console"))
def test_commands_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    for session, _ in blocks(page, "console"):
        if commands := commands_in(session):
            assert session_of(commands) == untrailed(session)


def commands_of(command: Any, path: str) -> Iterator[str]:
    """Walk the tree of commands; leaves only."""
    if not hasattr(command, "list_commands"):
        yield path
        return
    for name in command.list_commands(None):
        yield from commands_of(command.get_command(None, name), f"{path} {name}")


def test_every_command_is_documented() -> None:
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    commands = list(commands_of(typer.main.get_command(app), "sgtb"))
    assert "sgtb learner train" in commands
    missing = [command for command in commands if command not in text]
    assert not missing, f"mention these commands in README.md or docs/: {missing}"


def test_the_readme_shows_what_make_demo_runs() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    text = re.search(r"^DEMO := (.*)$", makefile, re.MULTILINE)
    recipe = re.search(r"^demo: .*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert text
    assert recipe
    run = [line.strip().replace("$(BIN)/", "") for line in recipe[1].splitlines()]
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = readme.partition("<!-- demo output -->")[2].partition("<!-- /demo output -->")[0]
    commands = [line[2:] for line in shown.splitlines() if line.startswith("$ ")]
    assert commands == [line.replace("$(DEMO)", text[1]) for line in run]


def test_every_group_of_features_is_explained() -> None:
    text = (ROOT / "docs" / "how-it-decides.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z ]+)` \| (.*?) \|", text, re.MULTILINE)
    assert rows == [(group, GROUPS_IN_WORDS[group]) for group in GROUPS]


@pytest.mark.parametrize("settings", [SearchPlan, TreeSettings, TrainingSettings])
def test_every_setting_is_documented_with_its_default(settings: Any) -> None:
    text = (ROOT / "docs" / "learner.md").read_text("utf-8")
    for field in dataclasses.fields(settings):
        row = re.search(rf"^\| `{field.name}` \| (.*?) \|", text, re.MULTILINE)
        assert row, f"docs/learner.md has no row for {settings.__name__}.{field.name}"
        default = f'"{field.default}"' if isinstance(field.default, str) else str(field.default)
        assert row[1].strip("`") == default


def test_every_module_is_described() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    modules = {path.name for path in SOURCES.rglob("*.py")} - {"__init__.py"}
    missing = sorted(name for name in modules if f"`{name}`" not in text)
    assert not missing, f"describe these in docs/architecture.md: {missing}"
    stale = set(re.findall(r"^\| `(\w+\.py)` \|", text, re.MULTILINE)) - modules
    assert not stale, f"docs/architecture.md describes modules that are gone: {sorted(stale)}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
