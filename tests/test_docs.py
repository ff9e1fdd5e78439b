"""The documentation: its code runs, its output is true, and no command is left out."""

import contextlib
import dataclasses
import io
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from sgtb.boosting import SearchPlan, TrainingSettings, TreeSettings
from sgtb.cli.main import app
from sgtb.cli.views.link_view import GROUPS as GROUPS_IN_WORDS
from sgtb.linking.features.schema import GROUPS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = ROOT / "src" / "sgtb"

_FLAGS = re.MULTILINE | re.DOTALL
# A block, and the ```text block after it if nothing but white space stands between them.
_BLOCK = re.compile(
    r"^```(?P<kind>python|console)\n(?P<body>.*?)^```$(?:\s*^```text\n(?P<output>.*?)^```$)?",
    _FLAGS,
)


def blocks(page: Path, kind: str) -> Iterator[tuple[str, str | None]]:
    for found in _BLOCK.finditer(page.read_text("utf-8")):
        if found["kind"] == kind:
            yield found["body"], found["output"]


def write_files(page: Path, folder: Path) -> None:
    """Write a page's files: those it shows, in blocks such as ```csv companies.csv, and those of
    the folder that bears its name."""
    for file in page.with_suffix("").glob("*.*"):
        shutil.copy(file, folder)
    shown = re.finditer(r"^```(?:csv|json|text) (\S+)\n(.*?)^```$", page.read_text("utf-8"), _FLAGS)
    for block in shown:
        (folder / block[1]).write_text(block[2], "utf-8")


def pages_with(kind: str) -> list[Any]:
    return [pytest.param(page, id=page.name) for page in PAGES if any(blocks(page, kind))]


def untrailed(text: str) -> str:
    """Return text without spaces at the ends of its lines."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_code_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for i, (code, output) in enumerate(blocks(page, "python")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"{page.name}, python block {i}", "exec"), names)
        if output is not None:
            assert untrailed(printed.getvalue()) == untrailed(output), f"{page.name}, block {i}"


@pytest.mark.parametrize("page", pages_with("console"))
def test_commands_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    for session, _ in blocks(page, "console"):
        if not all(line.startswith("$ sgtb ") for line in session.splitlines() if line[:2] == "$ "):
            continue
        commands = [line[2:] for line in session.splitlines() if line.startswith("$ ")]
        shown = "".join(f"$ {command}\n{output_of(command)}" for command in commands)
        assert untrailed(shown) == untrailed(session)


def output_of(command: str) -> str:
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    return str(result.stdout)


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
    assert "sgtb learner demo" in commands
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
